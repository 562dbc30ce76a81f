package store

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"git-ward/internal/git"
	"git-ward/protocols/record"
	"git-ward/protocols/state"
	"git-ward/protocols/uow"
)

// Begin opens the record of a unit: as the remote has it, with plans and steps that a
// run before this one has left in the clone, or a new one. With no journal there is no
// unit, and the record stays in this clone. Earlier are the directive's units before.
func (w *Work) Begin(ctx context.Context, j *Journal, earlier []*Journal) error {
	id := uow.ID{Directive: w.Directive.Name()} // unit numbers start at 1
	if j != nil {
		id = j.ID
	}
	w.Close()
	r := &Record{work: w, id: id, local: j == nil}
	if err := r.open(ctx, func() (map[string][]byte, error) { return w.inherited(ctx, earlier) }); err != nil {
		return err
	}
	w.Record = r
	k := w.clone.store.keepingOf(id)
	k.tried = ""
	k.mine.Store(false)
	if err := w.checkout(ctx, j); err != nil {
		return err
	}
	units := slices.Clone(earlier)
	if j != nil {
		units = append(units, j)
	}
	if err := w.findBase(ctx, units); err != nil {
		return err
	}
	return r.Show(ctx)
}

// checkout resets branch and working tree to where the unit's work continues. Without a unit,
// completed work is not continued.
func (w *Work) checkout(ctx context.Context, j *Journal) error {
	if j == nil && w.Done != nil {
		return nil
	}
	start := w.base
	fresh, err := w.startsFresh(ctx, j)
	if err != nil {
		return err
	}
	if fresh {
		w.left = w.tip
		if start, err = w.clone.resolve(ctx, w.clone.store.projectRef()); err != nil {
			return err
		}
	} else if w.tip != "" {
		start = w.tip
	}
	if on, err := w.resumePlan(ctx, start); on || err != nil || !fresh {
		return err
	}
	w.base = start
	return w.reset(ctx, start)
}

// startsFresh reports whether a unit without a claim starts from the project instead of the
// branch (REC-1): the PM said so, or has taken the branch's work.
func (w *Work) startsFresh(ctx context.Context, j *Journal) (bool, error) {
	switch {
	case j == nil || j.Claimed() != nil || w.tip == "":
		return false, nil
	case len(j.Records) > 0 && j.Records[0].Event == uow.Fork && j.Records[0].ReasonCode == uow.FreshStart:
		return true, nil
	}
	reader := w.clone.repo().Reader(ctx)
	defer reader.Close()
	project, err := reader.Tip(w.clone.store.projectRef())
	if err != nil {
		return false, err
	}
	by, err := state.Taken(reader, project, w.tip)
	return by != "", err
}

// Close ends the children that read for the work.
func (w *Work) Close() {
	if w.Record != nil {
		w.Record.close()
	}
}

// open finds the record's newest commit, or makes the first one from files.
func (r *Record) open(ctx context.Context, first func() (map[string][]byte, error)) (err error) {
	if r.remote, err = r.work.clone.resolve(ctx, tracking(r.id)); err != nil {
		return err
	}
	here, err := r.work.clone.resolve(ctx, r.Ref())
	if err != nil {
		return err
	}
	r.tip = here
	start := r.remote
	switch {
	case r.local:
		start = here
	case here != "" && here != r.remote && r.remote != "":
		if start, err = r.kept(ctx); err != nil {
			return err
		}
	}
	if start != "" {
		return r.reset(ctx, start)
	}
	files, err := first()
	if err != nil {
		return err
	}
	return r.root(ctx, files)
}

// root makes the first commit of a record that the remote does not have.
func (r *Record) root(ctx context.Context, files map[string][]byte) error {
	tree, err := r.objects(ctx).EditTree("", files)
	if err != nil {
		return err
	}
	if r.tip != "" { // an unpushed one is made again
		if _, err := r.work.clone.git(ctx, "update-ref", "-d", r.Ref(), r.tip); err != nil {
			return err
		}
		r.tip = ""
	}
	r.tree = tree
	commit, err := r.commitTree(tree, "", r.Message("record: "+r.id.String()+" begins", ""))
	if err != nil {
		return err
	}
	return r.moveTo(ctx, commit, tree)
}

// reset makes a commit the local newest one.
func (r *Record) reset(ctx context.Context, commit string) error {
	tree, err := r.treeOf(ctx, commit)
	if err != nil {
		return err
	}
	if err := r.moveTo(ctx, commit, tree); err != nil {
		return err
	}
	r.tree = tree
	return nil
}

// inherited is a new record's initial content: the learnings of the directive's newest unit
// with some, or else of the newest unit whose work is in the project (REC-4).
func (w *Work) inherited(ctx context.Context, earlier []*Journal) (map[string][]byte, error) {
	for _, j := range slices.Backward(earlier) {
		if data, err := w.learnings(ctx, tracking(j.ID)); data != nil || err != nil {
			return map[string][]byte{record.Learnings: data}, err
		}
	}
	data, err := w.clone.store.taken(ctx)
	if data == nil || err != nil {
		return nil, err
	}
	return map[string][]byte{record.Learnings: data}, nil
}

// learnings reads LEARNINGS.md of a commit, nil for none.
func (w *Work) learnings(ctx context.Context, commit string) ([]byte, error) {
	batch := w.clone.repo().Batch(ctx)
	defer batch.Close()
	_, data, err := batch.Read(commit+":"+record.Learnings, recordSize)
	if errors.Is(err, git.ErrMissing) {
		return nil, nil
	}
	if err != nil {
		err = fmt.Errorf("%s of %s: %w", record.Learnings, commit, err)
	}
	return data, err
}
