package store

import (
	"context"
	"strings"

	"git-ward/protocols/record"
)

// PlanHead is the commit of the work that the newest plan or step on the record leaves, or
// that has what was taken up, or else the branch's: the working tree is made that of it before a plan is executed.
func (w *Work) PlanHead(ctx context.Context) (string, error) {
	list, err := w.Record.Log(ctx, 1)
	if err != nil {
		return "", err
	}
	if len(list) > 0 && list[0].ofPlan() && list[0].Second != "" {
		return list[0].Second, nil
	}
	if w.tookUp != "" {
		return w.tookUp, nil
	}
	return w.Head(ctx)
}

// Stepping reports whether a plan, or a step of one, is the newest on the record.
func (w *Work) Stepping(ctx context.Context) (bool, error) {
	list, err := w.Record.Log(ctx, 1)
	return len(list) > 0 && list[0].ofPlan(), err
}

// ofPlan reports whether a commit has a plan or a plan's step.
func (c RecordCommit) ofPlan() bool {
	return hasAny(c.Message, record.TrailerPlan, record.TrailerStep)
}

// Planning reports whether a plan is gone on with: its newest commit, or that of a step,
// is here and not on the remote. It stays here until the work is claimed, for the next run
// goes on with it from the branch as it is now.
func (w *Work) Planning(ctx context.Context) (bool, error) {
	if r := w.Record; r.tip == r.remote {
		return false, nil
	}
	list, err := w.Record.Log(ctx, 1)
	return len(list) > 0 && list[0].ofPlan(), err
}

// resumePlan lets a process continue an earlier process's plan in the clone. Its steps are
// based on the branch as that process had it, perhaps with the project merged: the branch is
// reset to that, or the steps' tree would undo the project's newer commits. start is where the
// work would continue without the steps: the branch's tip at the remote, or else the
// project's. If the steps did not begin there they are dropped, and planned again.
func (w *Work) resumePlan(ctx context.Context, start string) (bool, error) {
	r := w.Record
	if !r.local && r.tip == r.remote {
		return false, nil
	}
	list, err := r.history(ctx, func(list []RecordCommit) bool {
		return len(list) > 0 && (list[len(list)-1].Parent == r.remote || !list[len(list)-1].ofPlan())
	})
	if err != nil {
		return false, err
	}
	for len(list) > 0 && !list[len(list)-1].ofPlan() {
		list = list[:len(list)-1]
	}
	if len(list) == 0 || list[0].Second == "" || list[len(list)-1].Second == "" {
		return false, nil
	}
	base, branch, err := w.planStart(ctx, list)
	if err != nil {
		return false, err
	}
	onto, upon := start, branch
	if start != w.tip { // they began on the project's commit of that time
		onto, upon = base, w.clone.store.projectRef()
	}
	ours, err := w.clone.isAncestor(ctx, onto, upon)
	if err != nil {
		return false, err
	}
	if !ours {
		return false, r.reset(ctx, list[len(list)-1].Parent)
	}
	w.base = base
	return true, w.reset(ctx, branch)
}

// planStart is the base of the first of these plans and steps, given newest first, and the
// newest commit of the branch that they know, because a plan's command may have committed.
func (w *Work) planStart(ctx context.Context, list []RecordCommit) (base, branch string, err error) {
	base, err = w.begunAt(ctx, list[len(list)-1].Second)
	if err != nil {
		return "", "", err
	}
	out, err := w.clone.git(ctx, "rev-list", "--first-parent", "--parents", base+".."+list[0].Second, "--")
	for line := range strings.Lines(out) {
		if ids := strings.Fields(line); len(ids) == 3 {
			return base, ids[2], err
		}
	}
	return base, base, err
}
