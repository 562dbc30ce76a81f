package audit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"git-ward/hooks/push"
	"git-ward/internal/git"
)

// maxReconciled is how many pushes one call records; the next call continues.
const maxReconciled = 200

// Reconcile appends the records of pushes that ended without one, each ref judged
// by its reflog, sets files aside that cannot be read, and returns how many records
// it made. A push that it cannot record holds up no other: it stays, and the error
// names it.
func Reconcile(ctx context.Context, repo *git.Repo, batch *git.Batch) (done int, err error) {
	all, broken, err := LoadPending(repo)
	if err != nil {
		return 0, err
	}
	for _, name := range broken {
		problem := SetAside(repo, name)
		err = errors.Join(err, problem)
	}
	for _, p := range all {
		if done == maxReconciled {
			break
		}
		if !p.Over(repo, batch) {
			continue
		}
		// Of two pushes with the same move, one makes it. While one still runs, it is
		// undecided which.
		twin := func(q *Pending) bool {
			return q != p && q.State == Admitted && p.shares(q) && !q.Over(repo, batch)
		}
		if p.State == Admitted && slices.ContainsFunc(all, twin) {
			continue
		}
		if problem := p.reconcile(ctx, repo, batch); problem != nil {
			err = errors.Join(err, fmt.Errorf("push %s: %w", p.Record.Push, problem))
			continue
		}
		done++
	}
	return done, err
}

// Over reports whether no process works on the push any more.
func (p *Pending) Over(repo *git.Repo, batch *git.Batch) bool {
	return p.over(func() bool {
		for _, ref := range p.Record.Refs {
			if n, err := p.made(repo, batch, ref.Update); err != nil || n == 0 {
				return false
			}
		}
		return true
	})
}

// Left reports whether the push has ended without a record: it is over, and its file still says what it
// said when it was read. A push may be admitted, or recorded, between that and the look at its process.
func (p *Pending) Left(repo *git.Repo, batch *git.Batch) bool {
	if !p.Over(repo, batch) {
		return false
	}
	now, err := readPending(p.path)
	return !errors.Is(err, fs.ErrNotExist) && (err != nil || now.State == p.State)
}

func (p *Pending) reconcile(ctx context.Context, repo *git.Repo, batch *git.Batch) error {
	p.Record.Reconciled = true
	if p.State != Admitted {
		if p.State == Arrived {
			p.Record.Verdict, p.Record.Rules = Refused, []string{Killed}
		}
		return p.Refuse(ctx, repo, batch)
	}
	w, err := NewWriter(ctx, repo, batch)
	if err != nil {
		return err
	}
	defer w.Close()
	moved := map[string]bool{}
	for _, ref := range p.Record.Refs {
		if moved[ref.Ref], err = p.applied(repo, batch, ref.Update); err != nil {
			return err
		}
	}
	p.Settle(moved)
	return w.Finish(ctx, p)
}

// shares reports whether two pushes request the same move of a ref.
func (p *Pending) shares(q *Pending) bool {
	asked := make(map[push.Update]bool, len(p.Record.Refs))
	for _, ref := range p.Record.Refs {
		asked[ref.Update] = true
	}
	return slices.ContainsFunc(q.Record.Refs, func(ref Ref) bool { return asked[ref.Update] })
}

// Settle notes which refs moved, by their names in records. A push that moved none is lost.
func (p *Pending) Settle(moved map[string]bool) {
	p.Record.Verdict = Lost
	for i := range p.Record.Refs {
		ref := &p.Record.Refs[i]
		if ref.Applied = moved[ref.Ref]; ref.Applied {
			p.Record.Verdict = Accepted
		}
	}
}

// Find is the pending push that a post-receive works for: the one of its push id,
// where the transport gives it; else the admitted one of its receive-pack; else,
// where a server runs the hooks, one that asked for all these moves, if there are
// several one of the same session. Nil when there is none.
func Find(repo *git.Repo, id string, receivePack Process, transport string, moves []push.Update) (*Pending, error) {
	all, _, err := LoadPending(repo)
	if err != nil {
		return nil, err
	}
	var found *Pending
	for _, p := range all {
		if p.State != Admitted || !p.asked(moves) {
			continue
		}
		switch {
		case id != "" && p.Record.Push == id, id == "" && receivePack != (Process{}) && p.Process == receivePack:
			return p, nil
		case receivePack != p.Process && receivePack != (Process{}) && p.Process != (Process{}):
			// another push of the same moves
		case found == nil || found.Transport != transport && p.Transport == transport:
			found = p
		}
	}
	return found, nil
}

// asked reports whether a push requested all of these moves.
func (p *Pending) asked(moves []push.Update) bool {
	refs := make(map[push.Update]bool, len(p.Record.Refs))
	for _, ref := range p.Record.Refs {
		refs[ref.Update] = true
	}
	return !slices.ContainsFunc(moves, func(u push.Update) bool { return !refs[u] })
}
