package store

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"git-ward/agent/stop"
	"git-ward/internal/git"
	"git-ward/protocols/uow"
)

// ErrMoved says that somebody else moved the branch or the record while they were
// pushed with a claim. His commits are below ours now, so what was claimed is another
// commit: the caller makes its claim anew.
var ErrMoved = errors.New("somebody else moved the work while it was claimed")

// move is one ref's update in a push, with the remote's old value.
type move struct {
	ref      string
	old, new string // commits; old "" is a ref that is not there
}

// pushAll moves all refs or none (git-push(1), --atomic), otherwise like push.
func (c *clone) pushAll(ctx context.Context, moves []move) error {
	if len(moves) == 0 {
		return nil
	}
	var leases, refspecs []string
	for _, m := range moves {
		leases = append(leases, "--force-with-lease="+m.ref+":"+m.old)
		refspecs = append(refspecs, m.new+":"+m.ref)
	}
	return c.pushTo(ctx, refspecs, append(leases, "--atomic")...)
}

// moves are the unpushed updates of branch and record. A journal step that claims the branch's
// commit needs the branch at the remote even if unchanged; nil is no step. Refs that the
// remote already has are left out.
func (w *Work) moves(ctx context.Context, step *uow.Record) ([]move, error) {
	var list []move
	head, err := w.Head(ctx)
	if err != nil {
		return nil, err
	}
	if err := w.holdsTip(ctx); err != nil {
		return nil, err
	}
	if head != w.tip && (claims(step) || w.hasWork(ctx, head)) {
		list = append(list, move{"refs/heads/" + w.Branch, w.tip, head})
	}
	if r := w.Record; r != nil && !r.local && r.tip != r.remote {
		list = append(list, move{r.Ref(), r.remote, r.tip})
	}
	return list, nil
}

func claims(step *uow.Record) bool { return step != nil && step.Event == uow.MakeClaim }

// hasWork reports whether the branch is worth pushing: not if it is new and only has the
// project's commits.
func (w *Work) hasWork(ctx context.Context, head string) bool {
	if w.tip != "" || w.Record == nil {
		return true
	}
	in, err := w.clone.isAncestor(ctx, head, w.clone.store.projectRef())
	return err != nil || !in
}

// Offer pushes what branch and record hold beyond the remote, all or nothing, without a
// step of the journal. Its error is stop.Refused as Journal.Append's is.
func (w *Work) Offer(ctx context.Context) error {
	return git.Update(ctx, w.race("pushed"), func() (bool, error) {
		moves, err := w.moves(ctx, nil)
		if err != nil {
			return false, err
		}
		if len(moves) == 0 {
			return true, w.arrived(ctx, nil)
		}
		pushErr := w.clone.pushAll(ctx, moves)
		if pushErr == nil {
			return true, w.arrived(ctx, nil)
		}
		if ctx.Err() != nil {
			return false, pushErr
		}
		if err := w.pull(ctx); err != nil {
			pushErr = errors.Join(err, pushErr) // a conflict says more than a lost race
		} else if w.raced {
			return false, nil
		}
		if stop.Is(pushErr, stop.Refused) {
			pushErr = errors.Join(pushErr, w.drop(ctx))
		}
		return false, pushErr
	})
}

// arrived records that the remote has branch, record, and a journal step, nil for none.
func (w *Work) arrived(ctx context.Context, step *uow.Record) (err error) {
	if w == nil {
		return nil
	}
	if claims(step) {
		w.since = step.Claim.Commit
	}
	if r := w.Record; r != nil && !r.local {
		r.remote = r.tip
	}
	if w.base, err = w.Head(ctx); err == nil && (claims(step) || w.tip != "" || w.hasWork(ctx, w.base)) {
		w.tip = w.base
	}
	if err == nil {
		w.settle(ctx)
	}
	return err
}

// pull fetches branch and record after a failed push, and merges or rebases them: raced is
// whether either had moved.
func (w *Work) pull(ctx context.Context) error {
	w.raced = false
	if err := w.clone.fetch(ctx); err != nil {
		return err
	}
	head, err := w.Head(ctx)
	if err != nil {
		return err
	}
	tip, err := w.clone.remote(ctx, w.Branch)
	if err != nil {
		return err
	}
	moved := tip != w.tip
	if moved {
		if err := w.mergeTip(ctx, tip, head); err != nil {
			return err
		}
		w.tip = tip // not before: a push may not undo anything that ours does not contain
	}
	rebased := false
	if w.Record != nil && !w.Record.local {
		rebased, err = w.Record.rebase(ctx)
	}
	w.raced = moved || rebased
	return err
}

// mergeTip merges another push to the branch; "" is a deleted branch.
func (w *Work) mergeTip(ctx context.Context, tip, head string) error {
	if tip == "" {
		return nil
	}
	if mine, err := w.clone.isAncestor(ctx, tip, head); mine || err != nil {
		return err
	}
	if _, err := w.clone.git(ctx, "merge", "--quiet", "--no-edit", tip); err != nil {
		return w.conflict(ctx, err)
	}
	return nil
}

// rebase puts the record's unpushed commits on top of the remote's; false if that has not
// moved.
func (r *Record) rebase(ctx context.Context) (bool, error) {
	now, err := r.work.clone.resolve(ctx, tracking(r.id))
	if err != nil || now == r.remote {
		return false, err
	}
	mine, err := r.history(ctx, func(list []RecordCommit) bool {
		return len(list) > 0 && list[len(list)-1].Parent == r.remote
	})
	if err != nil {
		return false, err
	}
	r.remote = now
	if now == "" || now == r.tip { // deleted, or the push had arrived
		return true, nil
	}
	return true, r.replay(ctx, mine, now)
}

// replay recreates the record's commits, given newest first, on top of another.
func (r *Record) replay(ctx context.Context, mine []RecordCommit, onto string) error {
	type change struct {
		RecordCommit
		files map[string][]byte
	}
	var list []change
	for _, c := range slices.Backward(mine) {
		files, err := r.difference(ctx, c.Parent, c.ID)
		if err != nil {
			return err
		}
		list = append(list, change{c, files})
	}
	if err := r.reset(ctx, onto); err != nil {
		return err
	}
	for _, c := range list {
		if _, err := r.Commit(ctx, c.Message, c.Second, c.files); err != nil {
			return err
		}
	}
	return nil
}

// difference are the files that a commit changes, "" for none; nil content is a deleted file.
func (r *Record) difference(ctx context.Context, old, new string) (map[string][]byte, error) {
	old = cmp.Or(old, git.EmptyTree)
	out, err := r.work.clone.git(ctx, "diff-tree", "-r", "-z", "--no-renames", "--name-only", old, new, "--")
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for name := range strings.SplitSeq(strings.TrimSuffix(out, "\x00"), "\x00") {
		if name == "" {
			continue
		}
		_, data, err := r.objects(ctx).Read(new+":"+name, recordSize)
		if errors.Is(err, git.ErrMissing) {
			data, err = nil, nil
		} else if err == nil && data == nil {
			data = []byte{}
		}
		if err != nil {
			return nil, err
		}
		files[name] = data
	}
	return files, nil
}

// drop resets record and branch to the remote's after a refusal: their content stays in the
// working tree. A record that is local only stays.
func (w *Work) drop(ctx context.Context) error {
	if w.Record == nil || w.Record.local {
		return w.undo(ctx)
	}
	return errors.Join(w.undo(ctx), w.Record.drop(ctx))
}

func (r *Record) drop(ctx context.Context) error {
	if r == nil || r.tip == r.remote {
		return nil
	}
	if r.remote != "" {
		return r.reset(ctx, r.remote)
	}
	all, err := r.Log(ctx, 0)
	if err != nil {
		return err
	}
	return r.reset(ctx, all[len(all)-1].ID)
}
