package judge

import (
	"bytes"
	"testing"

	"git-ward/protocols/loop"
	"git-ward/protocols/state"
	"git-ward/protocols/uow"
)

// TestFullNote: a commit that was claimed until its verdicts were more than a reader takes
// gets one that is read, and keeps the newest others. One that is merely added nobody
// reads, and its claim stays open for ever.
func TestFullNote(t *testing.T) {
	t.Parallel()
	c := newCourt(t, asked)
	commit := c.claim()
	v := c.verdicts(commit)[0]
	v.Claim = "an older one"
	older, err := v.Line()
	if err != nil {
		t.Fatal(err)
	}
	older = append(older, '\n')
	full := bytes.Repeat(older, state.MaxNote/len(older))
	if err := c.Repo.ReplaceNote(t.Context(), loop.VerdictsRef, commit, full); err != nil {
		t.Fatal(err)
	}
	c.step(uow.Input{Event: uow.Iterate, Reason: "ITERATION_STARTED"})
	c.step(uow.Input{Event: uow.MakeClaim, Reason: "WORK_CLAIMED", Commit: commit})
	v.Claim = c.last.Hash
	line, err := v.Line()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Repo.AppendNote(t.Context(), loop.VerdictsRef, commit, line); err != nil {
		t.Fatal(err)
	}
	if open, err := c.open(t.Context()); err != nil || len(open) != 1 {
		t.Fatalf("a verdict beyond the bound counts, and this test shows nothing: %v, %v", open, err)
	}
	list := c.verdicts(commit)
	if last := list[len(list)-1]; last.Claim != c.last.Hash || last.Verdict == "" || len(list) < maxNote/4/len(older) {
		t.Errorf("%d verdicts, the last on %s", len(list), last.Claim)
	}
	if note, err := c.Repo.Note(t.Context(), loop.VerdictsRef, commit); err != nil || len(note) > maxNote {
		t.Errorf("%d bytes, %v", len(note), err)
	}
}
