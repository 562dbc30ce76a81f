package checks

import (
	"errors"
	"fmt"

	"git-ward/hooks/walk"
	"git-ward/internal/git"
	"git-ward/protocols/loop"
	"git-ward/protocols/state"
	"git-ward/protocols/uow"
)

// storedUnits reads the stored units. An unreadable record is a *state.BrokenRecord, which is
// not the host's trouble.
type storedUnits struct{ Repository }

// File is Repository's.
func (s storedUnits) File(rev, path string, limit int64) ([]byte, error) {
	data, err := s.Repository.File(rev, path, limit)
	if walk.IsBad(err) || errors.Is(err, git.ErrMissing) || errors.Is(err, git.ErrDamaged) {
		return nil, &state.BrokenRecord{Commit: rev, Err: err}
	}
	return data, err
}

// lastRecord is a unit's newest record, nil if there is no such unit. A broken one is a
// *walk.Exceeded: for a check that only reads it, what depends on it cannot be judged.
func lastRecord(pass *Pass, id uow.ID) (*uow.Record, error) {
	last, err := state.Last(storedUnits{pass.Repo}, id)
	if broken, ok := errors.AsType[*state.BrokenRecord](err); ok {
		return nil, &walk.Exceeded{Path: uow.File, Message: broken.Error()}
	}
	return last, err
}

// world is main's and the host's state, read only as far as the step needs it.
func (j *journal) world(prev, next *uow.Record) (*uow.World, error) {
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
		if w.Last, err = state.Last(j.stored, uow.ID{Directive: j.id.Directive, K: j.id.K - 1}); err != nil {
			return nil, err
		}
	}
	if next.Event == uow.Complete && prev != nil && prev.Claim != nil {
		proof, err := state.Proof(j.pass.Repo, prev.Claim.Commit, j.id.String(), prev.DirectiveHash)
		if err != nil {
			return nil, err
		}
		w.Verdict = func(commit string) bool { return proof != nil && commit == prev.Claim.Commit }
	}
	return w, nil
}

// main reads the directive and the policy from main (CONF-1). Without the directive there is
// no work, whatever the policy says.
func (j *journal) main() (*uow.Main, error) {
	main := j.pass.Repo.Main(j.pass.Push.control())
	gone := &uow.Main{Policy: uow.DefaultPolicy()}
	if main == "" {
		return gone, nil
	}
	document, err := state.ReadComms(j.pass.Repo, main)
	if err != nil {
		return nil, err
	}
	d := document.Directive(j.id.Directive)
	if d == nil {
		return gone, nil
	}
	return state.ReadMain(j.pass.Repo, main, d, loop.Base(j.pass.Push.Config.Loop))
}

// spent sums what all units have spent on a directive's text: this one as far as judged, and
// earlier ones.
func (j *journal) spent(hash string) (uow.Counts, error) {
	if j.before == nil {
		if err := j.readBefore(); err != nil {
			return uow.Counts{}, err
		}
	}
	return uow.Spent(hash, append([][]*uow.Record{j.judged}, j.before...)...), nil
}

// readBefore reads what sums need of stored journals.
func (j *journal) readBefore() error {
	tips := []string{}
	if j.tip.Old != git.Zero {
		tips = append(tips, j.tip.Old)
	}
	for k := 1; k < j.id.K; k++ {
		tip, err := j.stored.Tip(uow.ID{Directive: j.id.Directive, K: k}.Ref())
		if err != nil {
			return err
		}
		if tip == "" {
			break // uow/order says so
		}
		tips = append(tips, tip)
	}
	j.before = [][]*uow.Record{}
	for _, tip := range tips {
		var records []*uow.Record
		for record, err := range state.History(j.stored, tip) {
			if err != nil {
				return err
			}
			if records = append(records, record); len(records) == state.MaxJournal {
				return &walk.Exceeded{Message: fmt.Sprintf("a journal of %d records or more", state.MaxJournal)}
			}
		}
		j.before = append(j.before, records)
	}
	return nil
}
