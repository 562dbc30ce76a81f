package checks

import (
	"errors"
	"fmt"

	"git-ward/hooks/push"
	"git-ward/hooks/walk"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/state"
	"git-ward/protocols/uow"
)

var unitCheck = Check{
	Name: "unit",
	Doc: "Holds the journal of a unit of work to its machine, its budget and main's policy (UOW-1 to UOW-4): each record is " +
		"the one legal step after the one before it, made by whom it says. A record whose hashes are wrong is a breach.",
	Rules: []string{"uow/*", "uow/name", "uow/rewrite", "uow/form", "uow/stored", "uow/hash", "uow/actor", "uow/record", "uow/claim"},
	Ref: func(pass *Pass, u push.Update) {
		if !push.IsJournal(u.Ref) {
			return
		}
		if _, err := uow.ParseRef(u.Ref); err != nil {
			pass.Report(diag.Diagnostic{Ref: u.Ref, Rule: "uow/name", Message: err.Error(), Hint: "units are refs/ward/uow/D-<n>.<k>"})
		}
		if u.New == git.Zero {
			pass.Report(diag.Diagnostic{Ref: u.Ref, Rule: "uow/rewrite", Message: "a journal is never deleted", Hint: "archive the unit: git ward uow archive"})
		}
	},
	Unit: func(pass *Pass, t *walk.Tip) error {
		id, err := uow.ParseRef(t.Ref)
		if err != nil {
			return nil // Ref has said so
		}
		j := &journal{pass: pass, tip: t, id: id, stored: storedUnits{pass.Repo}}
		err = j.judge()
		if broken, ok := errors.AsType[*state.BrokenRecord](err); ok { // it is about this journal, and holds up no other push
			result := pass.result
			result.Breaches = append(result.Breaches, Breach{t.Ref, broken.Reason(), fmt.Sprintf("%v: it was altered on the host", broken)})
			j.report(broken.Commit, "uow/stored", "the unit is now FAILED_SECURITY_BREACH where it can be; git ward fsck names what is broken; then git ward uow cancel --failed "+id.String(), "%v", broken)
			return nil
		}
		return err
	},
}

// maxSteps bounds the records of one push to one journal.
const maxSteps = 64

// madeByWard is the hint for what no program of Ward's makes.
const madeByWard = "make records with git ward uow or Ward's agent"

// journal judges one moved journal.
type journal struct {
	pass   *Pass
	tip    *walk.Tip
	id     uow.ID
	stored storedUnits

	judged []*uow.Record   // records of this push
	before [][]*uow.Record // those of the journal before it, and of earlier units; nil before they are read
}

func (j *journal) report(commit, rule, hint, format string, args ...any) {
	j.pass.Report(diag.Diagnostic{Pos: diag.Pos{Commit: commit, Path: uow.File}, Ref: j.tip.Ref, Rule: rule, Message: fmt.Sprintf(format, args...), Hint: hint})
}

// journalSteps puts a journal's new records, oldest first, into t.Steps. Each must have the
// previous one as its only parent, and the first must follow the ref's old value; otherwise it
// reports a finding and there are no steps.
func journalSteps(pass *Pass, t *walk.Tip) (err error) {
	j := &journal{pass: pass, tip: t}
	if !pass.Push.brings(t.New) {
		j.report(t.New, "uow/form", "point the ref at the record's commit", "a journal holds commits, not tags")
		return nil
	}
	t.Steps, err = pass.Repo.Chain(t, maxSteps, 1)
	var broken *walk.ChainError
	if !errors.As(err, &broken) {
		return err
	}
	tip := "nothing"
	if t.Old != git.Zero {
		tip = diag.Short(t.Old)
	}
	if broken.Long {
		j.report(broken.Commit, "uow/rewrite", "push the records a few at a time, on top of the journal's tip", "more than %d new records, or none that follows %s", maxSteps, tip)
	} else {
		j.report(broken.Commit, "uow/rewrite", "fetch the journal and make the step on top of it", "the pushed records do not follow the journal's tip, %s", tip)
	}
	return nil
}

func (j *journal) judge() (err error) {
	var prev *uow.Record
	if j.tip.Old != git.Zero {
		if prev, err = j.newest(j.tip.Old); err != nil {
			return err
		}
	}
	for _, commit := range j.tip.Steps {
		next, err := j.step(prev, commit)
		if err != nil || next == nil {
			return err // records after a bad one are not judged
		}
		prev = next
	}
	return nil
}

// newest is the stored record of a journal's tip, which must follow the previous one: a tip
// that bypassed the hooks is broken, too.
func (j *journal) newest(tip string) (*uow.Record, error) {
	record, err := state.Record(j.stored, tip)
	if err != nil {
		return nil, err
	}
	parent, err := j.stored.Parent(tip)
	if err != nil {
		return nil, err
	}
	want := ""
	if parent != "" {
		before, err := state.Record(j.stored, parent)
		if err != nil {
			return nil, err
		}
		want = before.Hash
	}
	if record.PrevHash != want || record.ID != j.id.String() {
		return nil, &state.BrokenRecord{Commit: tip, Err: state.ErrFollows}
	}
	return record, nil
}

// step judges one record; nil when it has findings.
func (j *journal) step(prev *uow.Record, commit *walk.Commit) (*uow.Record, error) {
	data, err := recordOf(j.pass, commit)
	if err != nil {
		return nil, err
	}
	if data == nil {
		j.report(commit.ID, "uow/form", madeByWard, "the commit's tree is not one file %s of at most %d bytes", uow.File, uow.MaxRecord)
		return nil, nil
	}
	next, reason, err := uow.Tampered(prev, data)
	if err != nil {
		j.tampered(commit.ID, reason, err)
		return nil, nil
	}
	if next.Actor != uow.Actor(j.pass.Push.Principal) {
		j.report(commit.ID, "uow/actor", "steps of the PM are git ward uow; the agent makes its own", "the record is by %q, the push is by %q", next.Actor, j.pass.Push.Principal)
		return nil, nil
	}
	world, err := j.world(prev, next)
	if err != nil {
		return nil, err
	}
	found := uow.Step(prev, next, *world)
	if len(found) == 0 && next.ID != j.id.String() {
		j.report(commit.ID, "uow/record", "push it to its own ref", "the record is of %s, the journal of %s", next.ID, j.id)
		return nil, nil
	}
	for _, d := range found {
		d.Pos, d.Ref = diag.Pos{Commit: commit.ID, Path: uow.File}, j.tip.Ref
		j.pass.Report(d)
	}
	if len(found) > 0 {
		return nil, nil
	}
	if next.Event == uow.MakeClaim {
		if err := j.claimed(commit.ID, next); err != nil {
			return nil, err
		}
	}
	j.judged = append(j.judged, next)
	return next, nil
}

// recordOf reads uow.json of a journal's new commit; nil when the tree is not one
// regular file of that name.
func recordOf(pass *Pass, c *walk.Commit) ([]byte, error) {
	entries, err := pass.Repo.Tree(c.Tree)
	if err != nil || len(entries) != 1 || entries[0].Name != uow.File || entries[0].Mode != git.ModeFile {
		return nil, err
	}
	data, err := pass.Repo.Blob(entries[0].ID, uow.MaxRecord)
	if _, ok := errors.AsType[*git.TooLarge](err); ok {
		return nil, nil
	}
	return data, err
}

func (j *journal) tampered(commit string, reason uow.Reason, err error) {
	if reason == "" {
		j.report(commit, "uow/form", madeByWard, "%v", err)
		return
	}
	if j.tip.Old == git.Zero { // there is no unit that could be in breach
		j.report(commit, "uow/hash", madeByWard, "%v", err)
		return
	}
	result := j.pass.result
	result.Breaches = append(result.Breaches, Breach{j.tip.Ref, reason, fmt.Sprintf("%v, in %s", err, diag.Short(commit))})
	j.report(commit, "uow/hash", "the unit is now FAILED_SECURITY_BREACH; the PM decides what follows", "%v", err)
}
