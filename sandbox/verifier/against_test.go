package verifier

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"git-ward/internal/tier"
)

// TestAgainst: after plain runs that hold come one in another order, one that is cold, and
// a mutant of each changed line; those that no command notices are listed (LOOP-11).
func TestAgainst(t *testing.T) {
	tier.First(t, "it runs many commands, or waits for their limits")
	t.Parallel()
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("SKIPPED: there is no go here")
	}
	r := newRepository(t)
	c := Claim{Replays: 1, Bounds: usualBounds(), Commands: []Command{{Name: "criterion 1", Line: "grep -q 'a < b' p.go"}}}
	c.Main = r.commit(files{"go.mod": "module example.org/p\n\ngo 1.21\n", "p.go": "package p\n\nvar old = 1\n\nfunc Old() {}\n"})
	c.Work = []string{"p.go"} // which the command names
	c.Commit = r.commit(files{"p.go": "package p\n\nvar old = 1\n\nfunc Less(a, b int) bool { return a < b && a != 0 }\n\nvar s = t + t\nvar t = \"x\"\n", "p_test.go": "package p\n\nvar inTest = 3\n"})
	c.Against = &Against{Time: 5 * time.Minute}
	var notes []string
	c.Progress = func(s Step) {
		if s.Ended == nil && s.Elapsed == 0 {
			notes = append(notes, s.Note)
		}
	}
	f, err := r.verify(c)
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, a := range f.Against {
		kinds = append(kinds, fmt.Sprintf("%s %v", a.Kind, a.Runs[0].OK()))
	}
	if got := strings.Join(kinds, ", "); got != "shuffled true, cold true" {
		t.Error(got)
	}
	want := []string{"p.go:5: && became ||", "p.go:5: != became ==", "p.go:5: 0 became 1"}
	if m := f.Mutants; m == nil || m.Made != 4 || m.Killed != 1 || !slices.Equal(m.Survived, want) {
		t.Errorf("%+v", m)
	}
	if s := f.Surface; s == nil || s.Before == s.After || !slices.Equal(s.Gone, []string{".: func Old()"}) || !slices.Equal(s.New, []string{".: func Less(a, b int) bool"}) {
		t.Errorf("%+v", s)
	}
	if len(f.NotDone) > 0 || !f.OK() || !slices.Contains(notes, Shuffled) {
		t.Error(f.NotDone, notes)
	}
}

// second is an image that lacks a program.
type second struct{ Runner }

func (s second) Run(_ context.Context, job Job) (Outcome, error) {
	if strings.HasPrefix(job.Line, "command -v") {
		return Outcome{End: Exited, Tail: "grep\n"}, nil
	}
	return Outcome{End: Exited, Exit: 127, Tail: "sh: 1: grep: not found\n"}, nil
}

// TestNotDone: what cannot be done is said, and nothing that did not hold is run further.
func TestNotDone(t *testing.T) {
	tier.First(t, "it runs many commands, or waits for their limits")
	t.Parallel()
	r := newRepository(t)
	c := Claim{Replays: 1, Bounds: usualBounds(), Commands: []Command{{Name: "criterion 1", Line: "grep -q x a.txt"}}, Work: []string{"a.txt"}, Against: &Against{Second: second{}}}
	c.Main = r.commit(files{"a.txt": "y\n"})
	c.Commit = r.commit(files{"a.txt": "z\n"})
	if f, err := r.verify(c); err != nil || f.OK() || len(f.Against)+len(f.NotDone) > 0 {
		t.Errorf("%+v, %v", f, err)
	}
	c.Commit = r.commit(files{"a.txt": "x\n"})
	f, err := r.verify(c)
	if err != nil || len(f.Against) > 0 || f.Mutants != nil || !f.OK() {
		t.Fatalf("%+v, %v", f, err)
	}
	if got := strings.Join(f.NotDone, "\n"); !strings.Contains(got, "another order") || !strings.Contains(got, "the second image: grep is not in it") || !strings.Contains(got, "mutants: no line of Go") {
		t.Error(got)
	}
}
