package checks

import (
	"errors"
	"fmt"
	"slices"

	"git-ward/hooks/push"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/comms"
	"git-ward/protocols/loop"
	"git-ward/protocols/uow"
)

var unitCheck = Check{
	Name: "unit",
	Doc: "Holds the journal of a unit of work to its machine, its budget and main's policy (UOW-1 to UOW-4): each record is " +
		"the one legal step after the one before it, made by whom it says. A record whose hashes are wrong is a breach.",
	Ref: func(r *Run, u push.Update) {
		if !push.IsJournal(u.Ref) {
			return
		}
		if _, err := uow.ParseRef(u.Ref); err != nil {
			r.Report(diag.Diagnostic{Ref: u.Ref, Rule: "uow/name", Message: err.Error(), Hint: "units are refs/ward/uow/D-<n>.<k>"})
		}
		if u.New == git.Zero {
			r.Report(diag.Diagnostic{Ref: u.Ref, Rule: "uow/rewrite", Message: "a journal is never deleted", Hint: "archive the unit: git ward uow archive"})
		}
	},
	Unit: func(r *Run, t *Tip) error {
		id, err := uow.ParseRef(t.Ref)
		if err != nil {
			return nil // reported above
		}
		j := &journalRun{Run: r, tip: t, id: id}
		return j.judge()
	},
}

// Breach is a unit whose journal somebody tried to change: the host moves it to
// FAILED_SECURITY_BREACH.
type Breach struct {
	Ref    string
	Reason uow.Reason
	Note   string
}

// maxSteps bounds the records of one push to one journal, and maxJournal those
// that are ever read of one.
const (
	maxSteps   = 64
	maxJournal = 100_000
)

// journalRun judges one moved journal.
type journalRun struct {
	*Run
	tip *Tip
	id  uow.ID
	own []*uow.Record // records of this push that are judged

	before  [][]*uow.Record // those of the journal before it, and of earlier units
	counted bool            // before is read
}

func (j *journalRun) report(commit, rule, hint, format string, args ...any) {
	j.Report(diag.Diagnostic{Pos: diag.Pos{Commit: commit, Path: uow.File}, Ref: j.tip.Ref, Rule: "uow/" + rule, Message: fmt.Sprintf(format, args...), Hint: hint})
}

func (j *journalRun) judge() error {
	err := j.judgeSteps()
	var stored *storedError
	if errors.As(err, &stored) { // it is about this journal, and holds up no other push
		j.report(stored.commit, "stored", "git ward fsck names it; the PM writes the directive anew, under a new id", "%v", stored)
		return nil
	}
	return err
}

func (j *journalRun) judgeSteps() error {
	var prev *uow.Record
	var err error
	if j.tip.Old != git.Zero {
		if prev, err = j.stored(j.tip.Old); err != nil {
			return err
		}
	}
	for _, commit := range j.tip.Steps {
		next, err := j.step(prev, commit.ID)
		if err != nil || next == nil {
			return err // what follows a bad record is not worth judging
		}
		prev = next
	}
	return nil
}

// storedError is a record of a journal in the repository that cannot be read.
type storedError struct {
	commit string
	err    error
}

func (e *storedError) Error() string {
	return fmt.Sprintf("the stored record %s is broken: %v", diag.Short(e.commit), e.err)
}

// journalSteps finds the new records of a journal, oldest first, and leaves them in
// t.Steps. Each has the one before it as its only parent, and the first follows the
// ref's old value; else a finding refuses, and the journal has no steps.
func (r *Run) journalSteps(t *Tip) error {
	j := &journalRun{Run: r, tip: t}
	if !slices.ContainsFunc(r.Updates, func(u push.Update) bool { return u.Ref == t.Ref && u.New == t.New }) {
		j.report(t.New, "form", "point the ref at the record's commit", "a journal holds commits, not tags")
		return nil
	}
	var steps []*Commit
	id, c := t.New, t.Commit
	for range maxSteps {
		steps = append(steps, &Commit{ID: id, Commit: c, Ref: t.Ref})
		if len(c.Parents) == 0 && t.Old == git.Zero || len(c.Parents) == 1 && c.Parents[0] == t.Old {
			t.Steps = reversed(steps)
			return nil
		}
		if len(c.Parents) != 1 {
			j.report(id, "rewrite", "fetch the journal and make the step on top of it", "the pushed records do not follow the journal's tip, %s", short(t.Old))
			return nil
		}
		var err error
		id = c.Parents[0]
		if c, err = r.commit(id); err != nil {
			return err
		}
	}
	j.report(t.New, "rewrite", "push the records a few at a time, on top of the journal's tip", "more than %d new records, or none that follows %s", maxSteps, short(t.Old))
	return nil
}

func short(id string) string {
	if id == git.Zero {
		return "nothing"
	}
	return diag.Short(id)
}

// recordOf reads uow.json of a journal's commit; nil when the tree is not one
// regular file of that name.
func (j *journalRun) recordOf(commit string) ([]byte, error) {
	c, err := j.commit(commit)
	if err != nil {
		return nil, err
	}
	entries, err := j.trees.load(c.Tree)
	if err != nil || len(entries) != 1 || entries[0].Name != uow.File || entries[0].Mode != git.ModeFile {
		return nil, err
	}
	_, data, err := j.batch.Read(entries[0].ID, uow.MaxRecord)
	var large *git.TooLarge
	if errors.As(err, &large) {
		return nil, nil
	}
	return data, err
}

// stored is a record that the repository already holds.
func (j *journalRun) stored(commit string) (*uow.Record, error) {
	data, err := j.recordOf(commit)
	if isBad(err) || errors.Is(err, git.ErrMissing) || errors.Is(err, git.ErrDamaged) {
		return nil, &storedError{commit, err}
	}
	if err != nil {
		return nil, err
	}
	r, err := uow.ParseRecord(data)
	if err != nil {
		return nil, &storedError{commit, err}
	}
	return r, nil
}

// Unwrap makes it a finding for those who only happen to read the record.
func (e *storedError) Unwrap() error { return &limitError{uow.File, e.Error()} }

// step judges one record; nil when it has findings.
func (j *journalRun) step(prev *uow.Record, commit string) (*uow.Record, error) {
	data, err := j.recordOf(commit)
	if err != nil {
		return nil, err
	}
	if data == nil {
		j.report(commit, "form", "make records with git ward uow or Ward's agent", "the commit's tree is not one file %s of at most %d bytes", uow.File, uow.MaxRecord)
		return nil, nil
	}
	next, reason, err := uow.Tampered(prev, data)
	if err != nil {
		j.tampered(commit, reason, err)
		return nil, nil
	}
	if next.Actor != uow.Actor(j.Principal) {
		j.report(commit, "actor", "steps of the PM are git ward uow; the agent makes its own", "the record is by %q, the push is by %q", next.Actor, j.Principal)
		return nil, nil
	}
	world, err := j.world(prev, next)
	if err != nil {
		return nil, err
	}
	found := uow.Step(prev, next, *world)
	if len(found) == 0 && next.ID != j.id.String() {
		j.report(commit, "record", "push it to its own ref", "the record is of %s, the journal of %s", next.ID, j.id)
		return nil, nil
	}
	for _, d := range found {
		d.Pos, d.Ref = diag.Pos{Commit: commit, Path: uow.File}, j.tip.Ref
		j.Report(d)
	}
	if len(found) > 0 {
		return nil, nil
	}
	if next.Event == uow.MakeClaim {
		if err := j.claimed(commit, next.Claim.Commit); err != nil {
			return nil, err
		}
	}
	j.own = append(j.own, next)
	return next, nil
}

func (j *journalRun) tampered(commit string, reason uow.Reason, err error) {
	if reason == "" {
		j.report(commit, "form", "make records with git ward uow or Ward's agent", "%v", err)
		return
	}
	hint := "the unit is now FAILED_SECURITY_BREACH; the PM decides what follows"
	if j.tip.Old == git.Zero {
		hint = "make records with git ward uow or Ward's agent"
	} else {
		j.result.Breaches = append(j.result.Breaches, Breach{j.tip.Ref, reason, fmt.Sprintf("%v, in %s", err, diag.Short(commit))})
	}
	j.report(commit, "hash", hint, "%v", err)
}

// world is what main and the host say, read only as far as the step needs it.
func (j *journalRun) world(prev, next *uow.Record) (*uow.World, error) {
	w := &uow.World{}
	var err error
	if next.State == uow.Active || prev == nil {
		if w.Main, err = j.main(); err != nil {
			return nil, err
		}
		if w.Main.DirectiveHash != "" && uow.NeedsSpent(prev, w.Main) {
			if w.Main.Spent, err = j.spent(w.Main.DirectiveHash); err != nil {
				return nil, err
			}
		}
	}
	if prev == nil && j.id.K > 1 {
		if w.Last, err = j.unit(uow.ID{Directive: j.id.Directive, K: j.id.K - 1}); err != nil {
			return nil, err
		}
	}
	if next.Event == uow.Complete && prev != nil && prev.Claim != nil {
		ok, err := j.proved(prev.Claim.Commit, j.id.String(), prev.DirectiveHash)
		if err != nil {
			return nil, err
		}
		w.Verdict = func(commit string) bool { return ok && commit == prev.Claim.Commit }
	}
	return w, nil
}

// main reads the directive and the policy as main has them (CONF-1).
func (j *journalRun) main() (*uow.Main, error) {
	gone := &uow.Main{Policy: uow.DefaultPolicy()}
	if j.mainTip == "" {
		return gone, nil
	}
	c, err := j.commit(j.mainTip)
	if err != nil {
		return nil, err
	}
	d, err := j.directive(c.Tree, j.id.Directive)
	if err != nil || d == nil {
		return gone, err
	}
	e, ok, err := j.trees.lookup(c.Tree, uow.PolicyPath)
	if err != nil {
		return nil, err
	}
	var policy []byte
	if ok {
		if policy, err = j.regular(e, uow.MaxPolicy); err != nil {
			return nil, fmt.Errorf("%s: %w", uow.PolicyPath, err)
		}
	}
	m, found := loop.Main(d, loop.Base(j.Config.Loop), policy)
	if len(found) > 0 {
		return nil, fmt.Errorf("main's policy cannot be read: %s:%d: %s", uow.PolicyPath, found[0].Line, found[0].Message)
	}
	return m, nil
}

// directive is one directive in a tree's COMMS.md; nil when it is not there.
func (r *Run) directive(tree, name string) (*comms.Directive, error) {
	data, err := r.commsOf(tree)
	if err != nil {
		return nil, err
	}
	doc, _ := comms.Parse(data)
	return doc.Directive(name), nil
}

// unit is the last record of another unit; nil when there is none.
func (j *journalRun) unit(id uow.ID) (*uow.Record, error) {
	tip, err := j.batch.Info(id.Ref())
	if errors.Is(err, git.ErrMissing) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return j.stored(tip.ID)
}

// spent sums what all units spent on a directive's text: this one as far as it is
// judged, and those before it.
func (j *journalRun) spent(hash string) (uow.Counts, error) {
	if !j.counted {
		if err := j.readBefore(); err != nil {
			return uow.Counts{}, err
		}
		j.counted = true
	}
	return uow.Spent(hash, append([][]*uow.Record{j.own}, j.before...)...), nil
}

// readBefore reads what sums need of stored journals, once a push.
func (j *journalRun) readBefore() error {
	tips := []string{}
	if j.tip.Old != git.Zero {
		tips = append(tips, j.tip.Old)
	}
	for k := 1; k < j.id.K; k++ {
		tip, err := j.batch.Info(uow.ID{Directive: j.id.Directive, K: k}.Ref())
		if errors.Is(err, git.ErrMissing) {
			break // uow/order says so
		}
		if err != nil {
			return err
		}
		tips = append(tips, tip.ID)
	}
	for _, tip := range tips {
		records, err := j.records(tip)
		if err != nil {
			return err
		}
		j.before = append(j.before, records)
	}
	return nil
}

// records reads a stored journal from its tip down.
func (j *journalRun) records(tip string) (list []*uow.Record, err error) {
	for id := tip; len(list) < maxJournal; {
		record, err := j.stored(id)
		if err != nil {
			return nil, err
		}
		list = append(list, record)
		c, err := j.commit(id)
		if err != nil {
			return nil, err
		}
		if len(c.Parents) == 0 {
			return list, nil
		}
		id = c.Parents[0]
	}
	return nil, &limitError{"", fmt.Sprintf("a journal of more than %d records", maxJournal)}
}

// claimed holds a claim to a commit that a branch keeps: the verifier must still
// find it tomorrow.
func (j *journalRun) claimed(at, commit string) error {
	object, err := j.batch.Info(commit)
	if errors.Is(err, git.ErrMissing) || err == nil && object.Kind != "commit" {
		j.report(at, "claim", "push the commit first, or in the same push", "%s is not a commit of this repository", diag.Short(commit))
		return nil
	}
	if err != nil {
		return err
	}
	args := []string{"rev-list", "--max-count=1", commit, "--not", "--branches"}
	for _, u := range j.Updates {
		if push.IsBranch(u.Ref) && u.New != git.Zero {
			args = append(args, u.New)
		}
	}
	out, err := j.repo.Output(j.ctx, append(args, "--")...)
	if err == nil && len(out) > 0 {
		j.report(at, "claim", "push its branch first, or in the same push", "no branch holds the claimed commit %s", diag.Short(commit))
	}
	return err
}
