package fsck

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"git-ward/internal/gittest"
	"git-ward/protocols/state"
)

// TestPushMeanwhile: a push that is recorded between two reads of the proof, here before
// refs are compared with the chain that was read, is no finding.
func TestPushMeanwhile(t *testing.T) {
	g := newGuarded(t)
	r := provedBeside(t, g, func() {
		g.push("refs/heads/main", g.commit(g.tip("refs/heads/main"), "COMMS.md", "# COMMS meanwhile\n"))
	})
	if r == nil || len(r.Findings) != 0 || r.Records != 5 {
		t.Errorf("%+v", r)
	}
}

// TestNotesMeanwhile: nor is one whose record was read and whose note was not: git moves one of the
// two refs after the other.
func TestNotesMeanwhile(t *testing.T) {
	g := newGuarded(t)
	whole := g.tip(state.AuditNotes)
	g.move(state.AuditNotes, g.git("rev-parse", whole+"^"))
	r := provedBeside(t, g, func() { g.move(state.AuditNotes, whole) })
	if r == nil || len(r.Findings) != 0 || r.Records != 4 {
		t.Errorf("%+v", r)
	}
}

// provedBeside is Run, with something that happens when chain and notes have been read and the refs
// have not.
func provedBeside(t *testing.T, g *guarded, meanwhile func()) *Result {
	t.Helper()
	git, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	began, pushed, chain := filepath.Join(dir, "began"), filepath.Join(dir, "pushed"), filepath.Join(dir, "chain")
	for _, fifo := range []string{began, pushed} {
		if err := syscall.Mkfifo(fifo, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	script := fmt.Sprintf(`#!/bin/sh
case " $* " in
*" rev-list --first-parent --reverse "*) touch %[3]s ;;
*" for-each-ref "*) if test -e %[3]s && mkdir %[3]s.once 2>/dev/null; then echo >%[1]s; read -r line <%[2]s; fi ;;
esac
exec %[4]s "$@"
`, began, pushed, chain, git)
	bin := filepath.Join(dir, "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	gittest.Program(t, filepath.Join(bin, "git"), script)
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	result := make(chan *Result, 1)
	go func() {
		r, err := Run(t.Context(), g.Repo, Options{})
		if err != nil {
			t.Error(err)
		}
		result <- r
	}()
	if _, err := os.ReadFile(began); err != nil {
		t.Fatal(err)
	}
	meanwhile()
	if err := os.WriteFile(pushed, []byte("\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return <-result
}
