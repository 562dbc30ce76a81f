package store

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"git-ward/agent/planrun"
	"git-ward/internal/git"
	"git-ward/internal/scratch"
	"git-ward/protocols/record"
	"git-ward/protocols/uow"
)

// identity identifies a clone among all workers' clones, for as long as it exists.
func (c *clone) identity() string {
	path := filepath.Join(c.gitDir(), "ward-clone")
	data, err := os.ReadFile(path)
	if err != nil || len(data) != len(rand.Text()) {
		data = []byte(rand.Text())
		_ = put(path, data) // without it, this clone's own kept tree is taken for another's
	}
	return string(data)
}

// keptElsewhere reports whether another clone has kept a tree for a unit since this one did:
// then a plan left here is outdated.
func (w *Work) keptElsewhere(ctx context.Context, id uow.ID) (bool, error) {
	tip, err := w.clone.remote(ctx, keptBranch(id))
	if err != nil || tip == "" {
		return false, err
	}
	message, err := w.clone.messageOf(ctx, tip)
	return !hasTrailer(message, trailerKeptBy, w.clone.identity()), err
}

// TakeUp lets the worker go on with what the last one of the unit had not committed: it is in
// the working tree then, uncommitted, with what branch and project hold by now. Took is whether
// there is such. What does not fit in is put aside on the branch that is returned. Call it
// after Begin.
//
// Where the unit goes on from the branch of the directive's units before it, so it does with
// what is kept for the last of those, until it has claimed something.
func (w *Work) TakeUp(ctx context.Context, j *Journal, earlier []*Journal) (took bool, aside string, err error) {
	id := w.Record.id
	k := w.clone.store.keepingOf(id)
	newest, err := w.Record.Log(ctx, saysSize)
	if err != nil {
		return false, "", err
	}
	for _, c := range newest {
		k.broughtBy(c.Message)
	}
	if k.tip, err = w.clone.remote(ctx, keptBranch(id)); err != nil {
		return false, "", err
	}
	if k.tip == "" && w.left == "" && j.Claimed() == nil {
		if err := w.adopt(ctx, k, earlier); err != nil {
			return false, "", err
		}
	}
	if k.tip == "" {
		return false, "", nil
	}
	message, err := w.clone.messageOf(ctx, k.tip)
	if err != nil {
		return false, "", err
	}
	k.broughtBy(message)
	fits, err := w.Stepping(ctx) // it is a step's, which is done again
	if !fits && err == nil {
		took, fits, err = w.mergeKept(ctx, k.tip, git.Trailers(message, trailerKeptOn))
	}
	if k.mine.Store(fits); fits || err != nil {
		return took, "", err
	}
	k.apart = true
	aside, err = w.clone.putAside(ctx, k, id)
	if ctx.Err() == nil {
		err = nil // the Saver tries again
	}
	return false, aside, err
}

// saysSize is how many of a record's newest commits are searched for the bytes used by
// keeping. All commits but plans' steps have it.
const saysSize = 100

// broughtBy reads the bytes used by keeping from a commit's message.
func (k *keeping) broughtBy(message string) {
	for _, value := range git.Trailers(message, trailerKeptSize) {
		if n, err := strconv.ParseInt(value, 10, 64); err == nil && n > k.brought.Load() {
			k.brought.Store(min(n, maxKept))
		}
	}
}

// messageOf is the message of a commit.
func (c *clone) messageOf(ctx context.Context, commit string) (string, error) {
	return c.git(ctx, "log", "-1", "--no-show-signature", "--no-notes", "--format=%B", commit, "--")
}

// adopt makes the newest earlier unit's kept tree the unit's own.
func (w *Work) adopt(ctx context.Context, k *keeping, earlier []*Journal) error {
	for _, j := range slices.Backward(earlier) {
		tip, err := w.clone.remote(ctx, keptBranch(j.ID))
		if err != nil {
			return err
		}
		if tip == "" {
			continue
		}
		err = w.clone.pushAll(ctx, []move{{k.ref, "", tip}, {"refs/heads/" + keptBranch(j.ID), tip, ""}})
		if err == nil || w.clone.isAt(ctx, k.ref, tip) {
			k.tip, err = tip, nil
		}
		if ctx.Err() == nil {
			err = nil // it stays where it is
		}
		return err
	}
	return nil
}

// mergeKept merges a kept commit into the working tree; fits is whether that works. It does
// not bring back a branch that was reset since and no longer contains the kept tree's base.
func (w *Work) mergeKept(ctx context.Context, kept string, on []string) (took, fits bool, err error) {
	head, err := w.Head(ctx)
	if err != nil {
		return false, false, err
	}
	for _, tip := range on {
		if !git.IsID(tip) {
			return false, false, nil
		}
		if holds, err := w.clone.isAncestor(ctx, tip, head); err != nil || !holds {
			return false, false, err
		}
	}
	dir, err := scratch.Make("", "kept-")
	if err != nil {
		return false, false, err
	}
	defer dir.Remove()
	apart, err := w.clone.repo().Apart(dir.Path)
	if err != nil {
		return false, false, err
	}
	merged, err := apart.MergeTrees(ctx, head, kept)
	if err != nil || len(merged.Conflicts) > 0 {
		return false, false, ctx.Err() // without an ancestor in common it does not fit, either
	}
	if now, err := w.Record.treeOf(ctx, head); err != nil || now == merged.Tree {
		return false, err == nil, err
	}
	commit, err := w.keptCommit(ctx, merged.Tree, head)
	if err != nil {
		return false, false, err
	}
	if err := planrun.Restore(ctx, w.clone.tree(), commit); err != nil {
		return false, false, err
	}
	if _, err := w.clone.git(ctx, "reset", "--quiet"); err != nil {
		return false, false, err
	}
	w.tookUp = commit
	return true, true, w.Record.Show(ctx, w.Record.shown...)
}

// TookUp reports whether the working tree holds what the last worker had not committed, and it
// is not committed yet.
func (w *Work) TookUp() bool { return w.tookUp != "" }

// putAside moves a unit's kept tree to the rescued ones, named by its time (see Rescue), where
// nothing overwrites it.
func (c *clone) putAside(ctx context.Context, k *keeping, id uow.ID) (branch string, err error) {
	branch = "rescue/" + id.Directive + "-" + time.Now().UTC().Format("20060102T150405Z")
	err = c.pushAll(ctx, []move{{"refs/heads/" + branch, "", k.tip}, {k.ref, k.tip, ""}})
	if err != nil && !c.isAt(ctx, "refs/heads/"+branch, k.tip) {
		return "", fmt.Errorf("%s, which the work does not go on from, cannot be put aside: %w", k.ref, err)
	}
	k.tip, k.apart = "", false
	return branch, nil
}

// settle drops the unit's kept tree if the remote's branch contains all of it. A failed
// deletion is tried later.
func (w *Work) settle(ctx context.Context) {
	if w.Record == nil || w.Record.local || w.base != w.tip {
		return
	}
	k := w.clone.store.keepingOf(w.Record.id)
	k.arrived(ctx, w.clone.store.Bare)
	if k.tip == "" || !k.mine.Load() {
		return
	}
	if status, err := w.clone.git(ctx, "status", "--porcelain", "--untracked-files=all"); err == nil && status == "" {
		_ = w.clone.dropKept(ctx, k)
	}
}

// Kept reports whether the remote has something kept of the present unit.
func (w *Work) Kept(ctx context.Context) (bool, error) {
	tip, err := git.Open(w.clone.store.Bare).Ref(ctx, w.clone.store.keepingOf(w.Record.id).ref)
	return tip != git.Zero, err
}

// EndSaving ends the saving of changes for a unit that is done. What the work did not go on from is put
// aside.
func (w *Work) EndSaving(ctx context.Context) error {
	k := w.clone.store.keepingOf(w.Record.id)
	k.arrived(ctx, w.clone.store.Bare)
	tip, err := git.Open(w.clone.store.Bare).Ref(ctx, k.ref)
	if err != nil || tip == git.Zero {
		return err
	}
	if k.mine.Load() && tip == k.tip {
		return w.clone.dropKept(ctx, k)
	}
	k.tip = tip
	_, err = w.clone.putAside(ctx, k, w.Record.id)
	return err
}

// dropKept deletes the branch of a unit's kept tree.
func (c *clone) dropKept(ctx context.Context, k *keeping) error {
	err := c.pushAll(ctx, []move{{k.ref, k.tip, ""}})
	if err != nil && !c.isAt(ctx, k.ref, "") {
		return err
	}
	k.tip, k.apart = "", false
	return nil
}

// isAt reports whether the remote has a ref at a commit or, with "", does not have it: a push
// may arrive without its answer.
func (c *clone) isAt(ctx context.Context, ref, commit string) bool {
	now, err := git.Open(c.store.Bare).Ref(ctx, ref)
	return err == nil && now == cmp.Or(commit, git.Zero)
}

// keptCommit commits a tree from before a plan existed.
func (w *Work) keptCommit(ctx context.Context, tree, parent string) (string, error) {
	message := fmt.Sprintf("plan: what was changed before there was one\n\n%s: %s\n%s: before the plan",
		record.TrailerDirective, w.Directive.Name(), trailerKept)
	return w.clone.git(ctx, "commit-tree", tree, "-p", parent, "-m", message)
}
