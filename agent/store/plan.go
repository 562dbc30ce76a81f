package store

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"git-ward/agent/planrun"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/record"
)

// Head is the commit that the branch stands on.
func (w *Work) Head(ctx context.Context) (string, error) {
	if w.Record == nil {
		return w.clone.resolve(ctx, "HEAD")
	}
	object, _, err := w.Record.objects(ctx).Read("HEAD", recordSize)
	if err != nil { // none yet, or a broken one: git reports which
		w.Record.close()
		return w.clone.resolve(ctx, "HEAD")
	}
	return object.ID, nil
}

// Gone reports whether a worker has left no repository with a commit behind.
func (w *Work) Gone(ctx context.Context) (bool, error) { return w.clone.gone(ctx) }

// Restart drops what the remote does not have, as Store.Work does for one who
// comes anew.
func (w *Work) Restart(ctx context.Context) error {
	return errors.Join(w.Record.drop(ctx), w.prepare(ctx))
}

// Withdraw drops what the remote does not have of the record. The branch stays.
func (w *Work) Withdraw(ctx context.Context) error { return w.Record.drop(ctx) }

// Forget drops plans and steps that the remote does not have, and makes the working tree
// that of a commit that they left. Unlike Restart it leaves the branch where that commit
// began: on a newer one its tree would take the project's newer commits back.
func (w *Work) Forget(ctx context.Context, commit string) error {
	return errors.Join(w.Record.drop(ctx), w.Restore(ctx, commit))
}

// CommitPlan makes the working tree that of a commit again, whatever somebody made
// of it, and commits a plan on the record (Ward-Plan): the second parent is that commit,
// which it will run on. It returns the new commit. Steps find each other by Ward-Run, whose
// value the plan's commit begins with.
func (w *Work) CommitPlan(ctx context.Context, from, path string, data []byte) (string, error) {
	if err := w.Restore(ctx, from); err != nil {
		return "", err
	}
	control, err := w.clone.resolve(ctx, w.clone.store.ControlRef())
	if err != nil {
		return "", err
	}
	subject := fmt.Sprintf("plan: %s %s", w.Directive.Name(), diag.Cut(w.Directive.Title.String(), 60))
	trailers := []string{trailerHash + ": " + w.Directive.Hash(), record.TrailerPlan + ": " + path, planrun.TrailerRun + ": " + newRun(), planrun.TrailerControl + ": " + control}
	id, err := w.Record.Commit(ctx, w.Record.Message(subject, "", trailers...), from, map[string][]byte{path: data})
	if err != nil {
		return "", err
	}
	return id, w.Record.Show(ctx, w.Record.shown...)
}

// newRun is a new name for a run of a plan.
func newRun() string { return git.BlobID([]byte(rand.Text())) }

// Planned is the commit of the newest plan at a path for the directive as it stands now,
// among what was done since the iteration's last commit that is neither a plan's nor a
// step's; "" when there is none.
func (w *Work) Planned(ctx context.Context, path string) (string, error) {
	list, err := w.Record.history(ctx, func(list []RecordCommit) bool {
		return len(list) > 0 && !list[len(list)-1].ofPlan()
	})
	if err != nil {
		return "", err
	}
	for _, c := range list {
		if hasTrailer(c.Message, record.TrailerPlan, path) && hasTrailer(c.Message, trailerHash, w.Directive.Hash()) {
			return c.ID, nil
		}
	}
	return "", nil
}

// Restore makes index and working tree those of a commit, and .ward/ what the record says.
// The branch stays where it is.
func (w *Work) Restore(ctx context.Context, commit string) error {
	if err := w.clone.ensure(ctx); err != nil {
		return err
	}
	if err := planrun.Restore(ctx, w.clone.tree(), commit); err != nil {
		return err
	}
	return w.Record.Show(ctx, w.Record.shown...)
}

// ResetWork undoes what is in the working tree beyond the last step, and keeps what was
// written below .ward/.
func (w *Work) ResetWork(ctx context.Context) error {
	stand, err := w.PlanHead(ctx)
	if err != nil {
		return err
	}
	return planrun.Restore(ctx, w.clone.tree(), stand)
}
