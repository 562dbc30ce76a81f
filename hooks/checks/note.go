package checks

import (
	"errors"
	"slices"

	"git-ward/internal/git"
	"git-ward/protocols/loop"
	"git-ward/protocols/uow"
)

// MaxVerdicts bounds the verdicts on one commit, all lines together, in bytes.
const MaxVerdicts = 8 << 20

// verdicts reads the host's verdicts on a commit, oldest first. A line that is
// not one is passed over here and named by git ward fsck.
func (r *Run) verdicts(commit string) ([]loop.Verdict, error) {
	note, err := r.note(loop.VerdictsRef, commit)
	if err != nil || note == nil {
		return nil, err
	}
	list, _ := loop.ParseVerdicts(note)
	return list, nil
}

// proved reports whether the host's last verdict for a unit on a commit is EXACT
// or CONVERGED for a text of the directive: a later NONE takes an EXACT back.
func (r *Run) proved(commit, unit, directiveHash string) (bool, error) {
	verdicts, err := r.verdicts(commit)
	if err != nil {
		return false, err
	}
	for _, v := range slices.Backward(verdicts) {
		if v.Unit == unit {
			return v.Proves(commit, unit, directiveHash), nil
		}
	}
	return false, nil
}

// converged reports whether the last claim of some unit of a directive is proved,
// for this text of it; "" is for any text.
func (r *Run) converged(directive, directiveHash string) (bool, error) {
	for k := 1; ; k++ {
		id := uow.ID{Directive: directive, K: k}
		if _, err := r.batch.Info(id.Ref()); errors.Is(err, git.ErrMissing) {
			return false, nil
		}
		if ok, err := r.convergedUnit(id, directiveHash); err != nil || ok {
			return ok, err
		}
	}
}

// convergedUnit is converged for one unit.
func (r *Run) convergedUnit(id uow.ID, directiveHash string) (bool, error) {
	last, err := (&journalRun{Run: r, id: id}).unit(id)
	var stored *storedError
	if errors.As(err, &stored) {
		return false, nil // what cannot be read proves nothing
	}
	if err != nil || last == nil || last.Claim == nil || directiveHash != "" && last.DirectiveHash != directiveHash {
		return false, err
	}
	return r.proved(last.Claim.Commit, last.ID, last.DirectiveHash)
}

// note reads an object's note, nil when it has none. Git and Ward put notes below
// directories of two digits, as many levels as they like (git-notes(1)).
func (r *Run) note(ref, object string) ([]byte, error) {
	tip, err := r.batch.Info(ref)
	if errors.Is(err, git.ErrMissing) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	c, err := r.commit(tip.ID)
	if err != nil {
		return nil, err
	}
	tree, rest := c.Tree, object
	for {
		entries, err := r.trees.load(tree)
		if err != nil {
			return nil, err
		}
		below := ""
		for _, e := range entries {
			if e.Name == rest && !e.IsDir() {
				_, data, err := r.batch.Read(e.ID, MaxVerdicts)
				var large *git.TooLarge
				if errors.As(err, &large) {
					return nil, nil // what nobody reads proves nothing; git ward fsck names it
				}
				return data, err
			}
			if len(rest) > 2 && e.Name == rest[:2] && e.IsDir() {
				below = e.ID
			}
		}
		if below == "" {
			return nil, nil
		}
		tree, rest = below, rest[2:]
	}
}
