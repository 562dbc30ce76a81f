package verifier

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"git-ward/internal/git"
	"git-ward/internal/tier"
)

// TestKept: what a command came to without the work is not run for a second verdict, on another
// claim either. Nothing else is kept: no run of anything of a claim, of what is held out, of a
// residual, or that did not end of itself; nor where anything is otherwise that it hangs on.
func TestKept(t *testing.T) {
	tier.Full(t, "it runs many commands")
	r := newRepository(t)
	first := r.claimed(files{"Makefile": "", "calc.c": "two() { echo 3; }\n", "tests/a.sh": strings.ReplaceAll(calcTest, ".sh", ".c"), "left": "3\n"},
		files{"calc.c": "two() { echo 2; }\n", "left": "0\n"}, []string{"calc.c", "left"},
		"sh tests/a.sh", "test -e tests/a.sh", "grep -qx 0 left || kill $$")
	second := first
	second.Commit = r.commit(files{"calc.c": "# otherwise\ntwo() { echo 2; }\n"})
	file, of := filepath.Join(t.TempDir(), "before"), "image 1"
	judge := func(claim Claim, broken error) (before []string) {
		t.Helper()
		claim.Commands = append(claim.Commands, Command{Name: "held", Line: "grep -q 2 $(ls | grep calc)", Held: true}, Command{Name: "residual", Line: "cat left", Residual: true})
		claim.Controls = []string{Broken}
		claim.Ends = &Ends{File: file, Of: func(context.Context) (string, error) { return of, broken }}
		base := r.git("rev-parse", first.Main+"^{tree}")
		p := Processes{Limits: Limits{Time: 5 * time.Minute, Output: 1 << 20}, Places: newPlaces(t)}
		f, err := Verify(t.Context(), git.Open(r.bare), runs(func(job Job) (Outcome, error) {
			if job.Tree == base {
				before = append(before, job.Line)
			}
			return p.Run(t.Context(), job)
		}), claim)
		if err != nil {
			t.Fatal(err)
		}
		if !f.OK() || len(f.Controls) != 5 {
			t.Fatalf("%+v", f)
		}
		for _, c := range f.Controls {
			if c.Before != (c.Name == "criterion 2") {
				t.Errorf("%+v", c)
			}
		}
		return before
	}
	runsAgain := func(why string, claim Claim, broken error, all bool) {
		t.Helper()
		want := "grep -qx 0 left || kill $$; cat left; grep -q 2 $(ls | grep calc)"
		if all { // one that fails has to fail twice
			want = "sh tests/a.sh; sh tests/a.sh; test -e tests/a.sh; " + want
		}
		if got := strings.Join(judge(claim, broken), "; "); got != want {
			t.Errorf("%s: without the work ran %s, want %s", why, got, want)
		}
	}
	count := func(want int) {
		t.Helper()
		data, err := os.ReadFile(file)
		if n := len(parseEnds(string(data))); n != want {
			t.Errorf("%d ends are kept, want %d: %v\n%s", n, want, err, data)
		}
	}
	runsAgain("the first", first, nil, true)
	count(2)
	runsAgain("the second", second, nil, false)
	runsAgain("nobody knows the image", first, errors.New("no podman"), true)
	count(2)
	of = "image 2"
	runsAgain("another image", first, nil, true)
	count(4)
	runsAgain("the same one", second, nil, false)
}

// TestKeptOfChance: a command that fails once on the base, and then holds, holds there, and nothing
// of it is kept.
func TestKeptOfChance(t *testing.T) {
	for name, c := range map[string]struct {
		exits []int
		want  int
		kept  int
	}{
		"it fails":              {[]int{1, 1}, 1, 1},
		"it fails once":         {[]int{1, 0}, 0, 0},
		"it fails in two ways":  {[]int{1, 2}, 2, 0},
		"it holds":              {[]int{0}, 0, 1},
		"it is killed":          {[]int{137}, 137, 0},
		"it fails, then killed": {[]int{1, 137}, 137, 0},
	} {
		file, n := filepath.Join(t.TempDir(), "before"), 0
		o := &once{base: "tree", lines: map[string]bool{"line": true}, ends: &Ends{File: file, Of: func(context.Context) (string, error) { return "", nil }},
			Runner: runs(func(Job) (Outcome, error) { n++; return Outcome{End: Exited, Exit: c.exits[n-1]}, nil })}
		got, err := o.Run(t.Context(), Job{Tree: "tree", Line: "line"})
		data, _ := os.ReadFile(file)
		if kept := len(parseEnds(string(data))); err != nil || got.Exit != c.want || kept != c.kept || n != len(c.exits) {
			t.Errorf("%s: %d after %d runs, %d kept, %v", name, got.Exit, n, kept, err)
		}
	}
}

// TestKeptOfNobodyElse: a file that nobody wrote so, or that somebody else could have written, is
// thrown away.
func TestKeptOfNobodyElse(t *testing.T) {
	file := filepath.Join(t.TempDir(), "before")
	e := &Ends{File: file, Of: func(context.Context) (string, error) { return "", nil }}
	keep := func() { e.keep(t.Context(), &Job{Tree: "tree", Line: "line"}, &Outcome{End: Exited, Exit: 1}) }
	keep()
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for why, spoil := range map[string]func() error{
		"cut":             func() error { return os.WriteFile(file, whole[:len(whole)-1], 0o600) },
		"of another form": func() error { return os.WriteFile(file, append([]byte("x"), whole...), 0o600) },
		"no exit code": func() error {
			return os.WriteFile(file, []byte(strings.ReplaceAll(string(whole), " 1 []\n", " 256 []\n")), 0o600)
		},
		"anybody's": func() error { return os.Chmod(file, 0o602) },
		"a link":    func() error { return errors.Join(os.Rename(file, file+".1"), os.Symlink(file+".1", file)) },
		"gone":      func() error { return os.Remove(file) },
	} {
		if err := spoil(); err != nil {
			t.Fatal(err)
		}
		if _, ok := e.find(t.Context(), &Job{Tree: "tree", Line: "line"}); ok {
			t.Errorf("%s, and it is taken", why)
		}
		if _, err := os.Lstat(file); err == nil {
			t.Errorf("%s, and it stays", why)
		}
		keep()
		if o, ok := e.find(t.Context(), &Job{Tree: "tree", Line: "line"}); !ok || o.Exit != 1 {
			t.Errorf("%s: it is not kept again", why)
		}
	}
}

// TestKeptIsBounded: the oldest ends go, and the file stays within what is read of it.
func TestKeptIsBounded(t *testing.T) {
	e := &Ends{File: filepath.Join(t.TempDir(), "before"), Of: func(context.Context) (string, error) { return "", nil }}
	text := endsHead
	for i := range maxEnds {
		text += fmt.Sprintf("%064x 127 []\n", i)
	}
	if err := os.WriteFile(e.File, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	e.keep(t.Context(), &Job{Tree: "tree", Line: "line"}, &Outcome{End: Exited, Exit: 3})
	ends, err := e.read()
	if err != nil || len(ends) != maxEnds || ends[0].key != fmt.Sprintf("%064x", 1) {
		t.Errorf("%d ends: %v", len(ends), err)
	}
	if o, ok := e.find(t.Context(), &Job{Tree: "tree", Line: "line"}); !ok || o.End != Exited || o.Exit != 3 {
		t.Errorf("%+v %v", o, ok)
	}
	names := []string{"a b\n", strings.Repeat("x", 4000)}
	const many = 2 * endsSize / 4000
	for i := range many { // what a command opened goes with its end
		e.keep(t.Context(), &Job{Tree: "tree", Line: fmt.Sprint(i), Checks: names}, &Outcome{End: Exited, Opened: &Watched{Checks: names}})
		if o, ok := e.find(t.Context(), &Job{Tree: "tree", Line: fmt.Sprint(i), Checks: names}); !ok || !slices.Equal(o.Opened.Checks, names) {
			t.Fatalf("%d: %+v %v", i, o, ok)
		}
	}
	if _, ok := e.find(t.Context(), &Job{Tree: "tree", Line: "0", Checks: names}); ok {
		t.Error("the oldest one stays")
	}
	last := Job{Tree: "tree", Line: fmt.Sprint(many - 1), Checks: names}
	if _, ok := e.find(t.Context(), &Job{Tree: last.Tree, Line: last.Line, Checks: names[:1]}); ok {
		t.Error("an end is found where other files were watched")
	}
	for _, other := range [][2]string{{"tree", "lin"}, {"treel", "ine"}, {"line", "tree"}} {
		if _, ok := e.find(t.Context(), &Job{Tree: other[0], Line: other[1]}); ok {
			t.Errorf("%q is found", other)
		}
	}
	for i, o := range []Outcome{{End: Exited, Opened: &Watched{ChecksNot: "lost"}}, {End: Exited, Opened: &Watched{Checks: []string{"\xff"}}},
		{End: Exited, Opened: &Watched{Checks: []string{strings.Repeat("x", endsSize)}}}, {End: TimedOut, Exit: 1}, {End: Exited, Exit: noCommand}, {End: Exited, Exit: 137}} {
		e.keep(t.Context(), &Job{Tree: "tree", Line: "other"}, &o)
		if _, ok := e.find(t.Context(), &Job{Tree: "tree", Line: "other"}); ok {
			t.Errorf("%d: %s %d is kept", i, o.End, o.Exit)
		}
	}
	if _, ok := e.find(t.Context(), &last); !ok {
		t.Error("what is not kept took another's place")
	}
}
