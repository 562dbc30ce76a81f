package command

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"git-ward/internal/cli"
	"git-ward/internal/diag"
	"git-ward/internal/tier"
)

// TestNeed: the image has what the criteria run, what the person names, and what it had before.
func TestNeed(t *testing.T) {
	dir := t.TempDir()
	need := func(text, with string) string {
		t.Helper()
		w := &trial{dir: dir, options: options{text: text, with: with}}
		if err := w.need(); err != nil {
			t.Fatal(err)
		}
		return strings.Join(w.packages, " ")
	}
	for text, want := range map[string]string{
		"x\n\n- [ ] node is fast (`go test ./...`)\n":                    "nodejs",
		"x, by node\n\n- [ ] y (`go test ./... && sh node.sh`)\n":        "",
		"x\n\n- [ ] y (`python3 -m pytest`)\n- [ ] z (`true; npm test`)": "nodejs npm python3 python3-pytest",
		"x\n\n- [ ] y (`test \"$(cc -v)\"`)\n":                           "gcc libc6-dev",
	} {
		if got := need(text, ""); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, packagesFile), []byte("jq\nnodejs\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := need("", "bc,jq"); got != "bc jq nodejs" {
		t.Errorf("a second --with: %q", got)
	}
}

// TestUnknownProgram: where a criterion runs what the image lacks, the try ends before an agent
// works, and says what to type.
func TestUnknownProgram(t *testing.T) {
	tier.First(t, "it runs a program")
	bin := t.TempDir()
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	for says, ends := range map[string]bool{
		"D-1: warning: criteria/unknown-program: unknown program node: y": true,
		"D-1: warning: criteria/holds-already: it holds already: y":       false,
	} {
		if err := os.WriteFile(filepath.Join(bin, "git-ward"), []byte("#!/bin/sh\necho '"+says+"' >&2\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		env := &cli.Env{Stdout: &out, Stderr: &out}
		w := &trial{ctx: t.Context(), env: env, dir: bin, clone: filepath.Join(bin, "work"), options: options{text: "x\n\n- [ ] y (`node -v`)", script: "s.jsonl"}}
		if err := os.MkdirAll(w.work(), 0o755); err != nil {
			t.Fatal(err)
		}
		err := w.direct()
		if (err != nil) != ends || !strings.Contains(out.String(), says) {
			t.Errorf("%s: %v: %s", says, err, out.String())
		}
		if ends && !strings.Contains(strings.Join(diag.Hints(err), ""), "git ward try --script s.jsonl --again --with PACKAGE") {
			t.Errorf("no remedy: %q", diag.Hints(err))
		}
	}
}

// TestSteps: a launch's words without each step of the state machines.
func TestSteps(t *testing.T) {
	var out bytes.Buffer
	s := &steps{to: &out}
	for _, part := range []string{"fenced: x\n2026-11-30T10:37:26Z IN", "F loop from=INIT\n2026-11-30T10:37:27Z WRN a step failed\nverd", "ict on D-1.1\n"} {
		if n, err := s.Write([]byte(part)); n != len(part) || err != nil {
			t.Fatal(n, err)
		}
	}
	if want := "fenced: x\n2026-11-30T10:37:27Z WRN a step failed\nverdict on D-1.1\n"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}
