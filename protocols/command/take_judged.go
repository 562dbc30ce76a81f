package command

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"git-ward/internal/diag"
	"git-ward/protocols/loop"
	"git-ward/protocols/review"
	"git-ward/protocols/state"
	"git-ward/protocols/uow"
)

// judged asks the host for a verdict on a merge (PROOF-7) and waits for it. It returns the
// commit that passed: the merge, or an earlier judged one that differs only in its message.
// For any other verdict it prints and returns an error.
func (t *taking) judged(c *comparer, w *work, merge string) (commit string, err error) {
	ref := uow.TakePrefix + w.Unit
	tip, err := c.hostTip(ref)
	if err != nil {
		return "", err
	}
	commit = merge
	same, err := c.sameMerge(w, tip)
	switch {
	case err != nil:
		return "", err
	case same: // an earlier take asked for it
		commit = tip
	default:
		moved, _, err := c.publishRef(ref, tip, merge)
		if err != nil {
			return "", refused(c.env, "nothing was changed; the host's message is above", "%v", err)
		}
		if !moved {
			return "", refused(c.env, "git ward take "+w.Unit, "somebody else takes %s at the same time", w.Unit)
		}
	}
	v, err := c.verdictOn(w, commit, !t.noWait)
	if err != nil {
		return "", err
	}
	if v == nil || !v.Proves(commit, w.Unit, w.Word.DirectiveHash) || v.Verdict != loop.Exact && w.Word.Verdict == loop.Exact {
		o := w.Stays(v)
		return "", refused(c.env, o.Hint, "%s: %s", w.Directive, o.Why)
	}
	switch o := w.StaysDoubted(v); {
	case o.Why == "":
	case t.all:
		return "", refused(c.env, o.Hint, "%s: %s", w.Directive, o.Why)
	default:
		fmt.Fprintf(c.env.Stderr, "git-ward: warning: %s: %s\n", w.Directive, o.Why)
	}
	return commit, nil
}

// sameMerge reports whether a commit with a verdict is the same merge but for its message.
func (c *comparer) sameMerge(w *work, asked string) (bool, error) {
	if asked == "" || !c.has(asked) {
		return false, nil
	}
	m := review.Merge{}
	err := c.beside(&m, asked, w.tree)
	return err == nil && len(m.Beside) == 0, err
}

// sameParents reports whether two commits have the same parents.
func (u *units) sameParents(a, b string) (same bool, err error) {
	of := func(commit string) string {
		out, failed := u.repo.Output(u.ctx, "rev-parse", commit+"^@")
		err = errors.Join(err, failed)
		return string(out)
	}
	return of(a) == of(b), err
}

// has reports whether an object is here.
func (u *units) has(object string) bool {
	_, err := u.repo.Output(u.ctx, "cat-file", "-e", object)
	return err == nil
}

// verdictOn is the host's newest verdict on a merge; nil if there is none and nobody waits for
// one.
func (c *comparer) verdictOn(w *work, merge string, wait bool) (*loop.Verdict, error) {
	for pause := time.Duration(0); ; {
		list, err := state.VerdictsOn(c.reader, merge)
		if err != nil {
			return nil, err
		}
		for _, v := range slices.Backward(list) {
			if v.Unit == w.Unit && v.DirectiveHash == w.Word.DirectiveHash {
				return &v, nil
			}
		}
		if !wait {
			return nil, nil
		}
		if pause == 0 {
			fmt.Fprintf(c.env.Stderr, "%s: the project has moved on, so the host judges the merged tree %s, while git ward launch runs; an interrupt loses nothing\n", w.Directive, diag.Short(merge))
		}
		pause = min(max(pause*2, time.Second/2), 5*time.Second)
		select {
		case <-c.ctx.Done():
			return nil, c.ctx.Err()
		case <-time.After(pause):
		}
		if err := c.fetch(); err != nil {
			return nil, err
		}
		c.reader.Close()
		c.reader = c.repo.Reader(c.ctx)
	}
}

// takeBack deletes the request ref once the project has the work. If that fails the ref stays,
// without effect.
func (u *units) takeBack(w *work, asked string) {
	ref := uow.TakePrefix + w.Unit
	if _, _, err := u.publishRef(ref, asked, ""); err != nil {
		fmt.Fprintf(u.env.Stderr, "git-ward: warning: %s stays: %s\n", ref, diag.Clean(err.Error()))
	}
}
