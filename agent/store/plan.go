package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"git-ward/internal/diag"
	"git-ward/protocols/record"
)

// trailerPlan marks the commit of a plan: its path.
const trailerPlan = record.TrailerPlan

// Head is the commit that the working tree stands on.
func (w *Work) Head(ctx context.Context) (string, error) { return w.clone.resolve(ctx, "HEAD") }

// Restart drops what the remote does not have, as Store.Work does for one who
// comes anew.
func (w *Work) Restart(ctx context.Context) error {
	return errors.Join(w.Record.drop(ctx), w.prepare(ctx, false))
}

// CommitPlan makes the working tree that of a commit again, whatever somebody made
// of it, and commits a plan on the record (Ward-Plan): the second parent is that commit,
// which it will run on. It returns the new commit.
func (w *Work) CommitPlan(ctx context.Context, from, path string, data []byte) (string, error) {
	if err := w.clone.ensure(ctx); err != nil {
		return "", err
	}
	if w.Record != nil {
		return w.recordPlan(ctx, from, path, data)
	}
	if err := w.reset(ctx, from); err != nil {
		return "", err
	}
	file := filepath.Join(w.clone.dir, filepath.FromSlash(path))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return "", err
	}
	os.Remove(file) // where it is a link
	if err := os.WriteFile(file, data, 0o644); err != nil {
		return "", err
	}
	if _, err := w.clone.git(ctx, "add", "--force", "--", path); err != nil {
		return "", err
	}
	message := fmt.Sprintf("plan: %s %s\n\n%s: %s\n%s: %s\n%s: %s\n", w.Directive.Name(), diag.Clean(diag.Cut(w.Directive.Title.String(), 100)),
		trailerDirective, w.Directive.Name(), trailerHash, w.Directive.Hash(), trailerPlan, path)
	if _, _, err := w.clone.store.runInput(ctx, w.clone.dir, message, "commit", "--quiet", "--no-verify", "--cleanup=verbatim", "--allow-empty", "--file=-"); err != nil {
		return "", err
	}
	return w.Head(ctx)
}

// Planned is the commit of the newest plan at a path for the directive as it
// stands now, "" when there is none.
func (w *Work) Planned(ctx context.Context, path string) (string, error) {
	if w.Record != nil {
		return w.recordedPlan(ctx, path)
	}
	out, err := w.clone.git(ctx, "log", "-1", "--no-show-signature", "--no-notes", "--fixed-strings", "--all-match",
		"--grep="+trailerHash+": "+w.Directive.Hash(), "--grep="+trailerPlan+": "+path, "--format=%H%n%B", "HEAD", "--")
	if err != nil || out == "" {
		return "", err
	}
	id, message := out[:min(len(out), 40)], out
	if hasTrailer(message, trailerPlan, path) && hasTrailer(message, trailerHash, w.Directive.Hash()) {
		return id, nil
	}
	return "", nil
}

// ResetTo makes the working tree that of a commit, on the directive's branch.
func (w *Work) ResetTo(ctx context.Context, commit string) error {
	if err := w.clone.ensure(ctx); err != nil {
		return err
	}
	if w.Record != nil {
		return w.Restore(ctx, commit)
	}
	return w.reset(ctx, commit)
}

// KeepOnly undoes what is not committed, but below one directory.
func (w *Work) KeepOnly(ctx context.Context, dir string) error {
	if w.Record != nil {
		return w.keepPapers(ctx)
	}
	if _, err := w.clone.git(ctx, "restore", "--source=HEAD", "--staged", "--worktree", "--", ".", ":(exclude)"+dir); err != nil {
		return err
	}
	_, err := w.clone.git(ctx, "clean", "-ffdq", "--", ".", ":(exclude)"+dir)
	return err
}

// Push pushes the branch as it is committed, and merges what somebody else pushed
// to it meanwhile. Its error is stop.Refused when the model can mend it; nothing is
// undone then.
func (w *Work) Push(ctx context.Context) error {
	if err := w.clone.ensure(ctx); err != nil {
		return err
	}
	return w.deliver(ctx, "", false)
}

// kept is the local tip of the branch when it holds steps of a plan, or a plan,
// that the remote does not have yet; "" otherwise. An end of the work that was not
// pushed is left out: it is made again.
func (w *Work) kept(ctx context.Context, start string) (string, error) {
	local, err := w.clone.resolve(ctx, "refs/heads/"+w.Branch)
	if err != nil || local == "" || local == start {
		return "", err
	}
	if ahead, err := w.clone.isAncestor(ctx, start, local); err != nil || !ahead {
		return "", err
	}
	for range 2 {
		message, err := w.clone.git(ctx, "log", "-1", "--no-show-signature", "--no-notes", "--format=%B", local, "--")
		if err != nil {
			return "", err
		}
		if hasAny(message, "Ward-Step", trailerPlan) {
			return local, nil
		}
		if !hasAny(message, trailerWork) {
			return "", nil
		}
		if local, err = w.clone.resolve(ctx, local+"^"); err != nil || local == "" || local == start {
			return "", err
		}
	}
	return "", nil
}
