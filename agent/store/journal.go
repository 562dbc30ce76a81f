package store

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"git-ward/agent/stop"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/record"
	"git-ward/protocols/state"
	"git-ward/protocols/uow"
)

// Journal is the journal of one unit of work, as the remote has it and as the
// agent extends it (UOW-2).
type Journal struct {
	ID      uow.ID
	Records []*uow.Record // oldest first; empty before the unit is opened

	held  []uow.Input // steps of the last Records that are not pushed yet
	tip   string      // commit that the remote has, "" before the first
	in    *clone      // the clone that is sure to have the tip's commit
	store *Store
}

// Last is the newest record, nil before the unit is opened.
func (j *Journal) Last() *uow.Record {
	if len(j.Records) == 0 {
		return nil
	}
	return j.Records[len(j.Records)-1]
}

// Claimed is the record that last asked for a verdict on a claim (see uow.Record.Asks),
// nil when there is none. Others may follow it: the PM's heartbeat, a pause and its end.
func (j *Journal) Claimed() *uow.Record {
	for i, r := range slices.Backward(j.Records) {
		if r.Asks(j.before(i)) {
			return r
		}
	}
	return nil
}

// Cancelled is the record by which the PM ended the unit before its loop came to an end of its own;
// nil when there is none.
func (j *Journal) Cancelled() *uow.Record {
	for _, r := range j.Records {
		if r.Event == uow.Cancel {
			return r
		}
	}
	return nil
}

// before is a record's predecessor, nil for the first.
func (j *Journal) before(i int) *uow.Record {
	if i == 0 {
		return nil
	}
	return j.Records[i-1]
}

// Altered is a directive's journal that does not hold: somebody changed it past the hooks.
type Altered struct {
	Directive string
	Err       error
}

func (e *Altered) Error() string { return e.Err.Error() }

func (e *Altered) Unwrap() error { return e.Err }

// Journals fetches and reads the journals of a directive's units, oldest first.
// One that does not hold is *Altered: nobody builds on it.
func (s *Store) Journals(ctx context.Context, directive string) ([]*Journal, error) {
	pattern := uow.RefPrefix + directive + ".*"
	if err := s.main.take(ctx, "+"+pattern+":"+pattern); err != nil {
		return nil, err
	}
	reader := s.main.repo().Reader(ctx)
	defer reader.Close()
	units, _, err := state.Units(reader)
	if err != nil {
		return nil, err
	}
	var list []*Journal
	for _, u := range units {
		if u.ID.Directive != directive {
			continue
		}
		j, err := state.ReadJournal(reader, u)
		if err != nil {
			return nil, err
		}
		if err := j.Err(); err != nil {
			return nil, &Altered{directive, err}
		}
		list = append(list, &Journal{ID: u.ID, Records: j.Records, tip: u.Tip, in: s.main, store: s})
	}
	return list, nil
}

// Accuse tells the host of a directive's journals that do not hold, by a push that follows
// what was put there past the hooks: the host refuses it, and moves the unit to
// FAILED_SECURITY_BREACH (UOW-1). That it is refused is no error.
func (s *Store) Accuse(ctx context.Context, directive string) error {
	repo := s.main.repo()
	reader := repo.Reader(ctx)
	defer reader.Close()
	units, _, err := state.Units(reader)
	if err != nil {
		return err
	}
	for _, u := range units {
		if u.ID.Directive != directive {
			continue
		}
		if j, err := state.ReadJournal(reader, u); err == nil && len(j.Findings) == 0 {
			continue
		}
		parent, err := s.main.resolve(ctx, u.Tip) // "": the ref is at what is no commit, which nothing can follow
		if err != nil {
			return err
		}
		commit, err := repo.CommitFileAs(record.AgentIdent, parent, uow.File, []byte("{}"), time.Now(), "uow: "+u.ID.String()+" does not hold")
		if err != nil {
			return err
		}
		if err := s.main.pushAll(ctx, []move{{u.ID.Ref(), u.Tip, commit}}); err != nil && !stop.Is(err, stop.Refused) {
			return err
		}
	}
	return nil
}

// Orphans are the newest units of directives that are not listed, by directive, except for those
// that are put away already. A unit whose journal does not hold, or that is in breach, is left
// out: the PM has to look at it.
func (s *Store) Orphans(ctx context.Context, listed func(directive string) bool) (list []*Journal, err error) {
	reader := git.Open(s.Bare).Reader(ctx)
	defer reader.Close()
	units, _, err := state.Units(reader)
	if err != nil {
		return nil, err
	}
	for i, u := range units { // by directive and number
		newest := i+1 == len(units) || units[i+1].ID.Directive != u.ID.Directive
		if !newest || listed(u.ID.Directive) {
			continue
		}
		last, err := state.Record(reader, u.Tip)
		if err != nil || last.State == uow.Archived || last.State == uow.Breached {
			continue
		}
		journals, err := s.Journals(ctx, u.ID.Directive)
		if ctx.Err() != nil {
			return list, err
		}
		if err == nil && len(journals) > 0 {
			list = append(list, journals[len(journals)-1])
		}
	}
	return list, nil
}

// maxCompared bounds the units that one is compared with.
const maxCompared = 50

// Summaries are those of the newest units of all directives that were put away, but for
// one. A journal that does not hold says nothing.
func (s *Store) Summaries(ctx context.Context, but uow.ID) (list []uow.Summary, err error) {
	reader := git.Open(s.Bare).Reader(ctx)
	defer reader.Close()
	units, _, err := state.Units(reader)
	if err != nil {
		return nil, err
	}
	for _, u := range slices.Backward(units) {
		if len(list) == maxCompared {
			break
		}
		if last, err := state.Record(reader, u.Tip); u.ID == but || err != nil || last.State != uow.Archived {
			continue
		}
		if j, err := state.ReadJournal(reader, u); err == nil && len(j.Findings) == 0 {
			list = append(list, uow.Summarize(j.Records, ""))
		}
	}
	return list, nil
}

// NewJournal is that of a unit which is not opened yet.
func (s *Store) NewJournal(id uow.ID) *Journal { return &Journal{ID: id, store: s} }

// Forked reports whether the PM opened the unit, on a text that a unit before had.
func (j *Journal) Forked() bool { return len(j.Records) > 0 && j.Records[0].Event == uow.Fork }

// Hold makes the records of steps that follow one another, the first, and those after it as far
// as the rules admit them, and keeps them for the next push of the journal, so that steps in
// immediate succession share a push. Until then only this Journal has them. A first step that the
// rules do not admit is stop.Refused.
func (j *Journal) Hold(steps []uow.Input, world uow.World) error {
	records, found := j.advance(steps, 1, world)
	if len(found) > 0 {
		return inadmissible(found)
	}
	j.held = append(j.held, steps[:len(records)]...)
	j.Records = append(j.Records, records...)
	return nil
}

// Unhold gives up the steps that are held.
func (j *Journal) Unhold() { j.Records, j.held = j.Pushed(), nil }

// Pushed are the records that the remote has.
func (j *Journal) Pushed() []*uow.Record {
	return slices.Clip(j.Records[:len(j.Records)-len(j.held)])
}

// Holds reports whether there are steps that the remote does not have yet.
func (j *Journal) Holds() bool { return len(j.held) > 0 }

// Append pushes the steps that are held, and the given ones after them; with a Work, what its
// branch and its record hold beyond the remote goes in the same push, all or nothing. Where
// somebody else was faster, the steps are judged anew on the new tip (UOW-1). A step that the
// rules or the remote do not admit is stop.Refused; then branch and record are what the remote
// has, and what they held is in the working tree. ErrMoved is for a claim whose work somebody
// else moved. After an error nothing is held any more.
//
// Where the remote refuses the Work of a unit that is only held yet, the held steps go alone: the
// unit has to be there to say so. Where it refuses those, too, the error is stop.Suspended and
// there is no unit.
func (j *Journal) Append(ctx context.Context, steps []uow.Input, world uow.World, with ...*Work) error {
	var w *Work
	if len(with) > 0 {
		w = with[0]
	}
	held, records := j.held, j.Records
	j.Unhold()
	if opens := records[len(j.Records):]; j.tip == "" && len(opens) > 0 && world.Main != nil && opens[0].DirectiveHash != world.Main.DirectiveHash {
		return stop.New(stop.Suspended, "%s was edited before its unit was opened", j.ID.Directive)
	}
	err := j.append(ctx, slices.Concat(held, steps), world, w)
	if j.tip != "" || len(held) == 0 || !stop.Is(err, stop.Refused) {
		return err
	}
	alone := err
	if w != nil {
		alone = j.append(ctx, held, world, nil)
	}
	if refused := stop.As(alone, stop.Refused); refused != nil {
		return stop.New(stop.Suspended, "the unit %s cannot be opened: %s", j.ID, refused.Output)
	}
	return cmp.Or(alone, err)
}

// append is Append without held steps.
func (j *Journal) append(ctx context.Context, steps []uow.Input, world uow.World, w *Work) error {
	return git.Update(ctx, git.Race{What: j.ID.Ref(), While: "it was pushed"}, func() (bool, error) {
		records, found := j.advance(steps, len(steps), world)
		if len(found) > 0 {
			return false, inadmissible(found)
		}
		pushErr, err := j.push(ctx, records, w)
		if err != nil || pushErr == nil || ctx.Err() != nil {
			return true, errors.Join(pushErr, err)
		}
		last := records[len(records)-1]
		again, err := j.raced(ctx, last, w, pushErr)
		if err == nil && again && w != nil && w.raced && claims(last) {
			err = ErrMoved
		}
		return !again, err
	})
}

// advance makes the steps' records as far as the rules allow. Findings are those of a required
// step, and then there is no record.
func (j *Journal) advance(steps []uow.Input, must int, world uow.World) (records []*uow.Record, found []diag.Diagnostic) {
	last := j.Last()
	for i, in := range steps {
		r, bad := uow.Advance(j.ID, last, in, world)
		if len(bad) > 0 && i < must {
			return nil, bad
		}
		if len(bad) > 0 {
			break
		}
		records, last = append(records, r), r
	}
	return records, nil
}

func inadmissible(found []diag.Diagnostic) error {
	var b strings.Builder
	diag.WriteText(&b, found)
	return stop.Refuse(b.String(), found...)
}
