package store

import (
	"context"
	"fmt"
	"strings"

	"git-ward/internal/pattern"
)

var commitID = pattern.New(`^[0-9a-f]{7,40}$`)

// HasBranch reports whether the remote has the branch now.
func (w *Work) HasBranch(ctx context.Context, name string) (bool, error) {
	return w.hasRef(ctx, "refs/heads/"+name)
}

// HasRevision reports whether the remote has a branch, tag, full ref or commit of
// that name now. The watcher resolves it in another clone, so what only this one
// knows does not count.
func (w *Work) HasRevision(ctx context.Context, name string) (bool, error) {
	for _, ref := range []string{name, "refs/heads/" + name, "refs/tags/" + name} {
		if !strings.HasPrefix(ref, "refs/") {
			continue
		}
		if ok, err := w.hasRef(ctx, ref); ok || err != nil {
			return ok, err
		}
	}
	if !commitID.MatchString(name) {
		return false, nil
	}
	if err := w.clone.fetch(ctx); err != nil {
		return false, err
	}
	id, err := w.clone.resolve(ctx, name)
	if err != nil || id == "" {
		return false, err
	}
	return w.clone.pushed(ctx, id)
}

func (w *Work) hasRef(ctx context.Context, ref string) (bool, error) {
	out, err := w.clone.git(ctx, "ls-remote", "origin", ref)
	if err != nil {
		return false, err
	}
	for line := range strings.Lines(out) { // ls-remote matches the ends of names
		if _, name, _ := strings.Cut(strings.TrimSpace(line), "\t"); name == ref {
			return true, nil
		}
	}
	return false, nil
}

// pushed reports whether a commit is on some remote branch, as of the last fetch.
func (c *clone) pushed(ctx context.Context, id string) (bool, error) {
	out, err := c.git(ctx, "for-each-ref", "--count=1", "--contains="+id, "refs/remotes/origin/")
	return out != "", err
}

// Unpublished says what of the working tree the remote does not have, "" when it
// has all (BOOT-3).
func (w *Work) Unpublished(ctx context.Context) (string, error) {
	status, err := w.clone.git(ctx, "status", "--porcelain", "--untracked-files=all")
	if err != nil {
		return "", err
	}
	if status != "" {
		lines := strings.Split(status, "\n")
		return fmt.Sprintf("the working tree has %d changes that are not committed, the first is %q", len(lines), lines[0]), nil
	}
	if err := w.clone.fetch(ctx); err != nil {
		return "", err
	}
	head, err := w.clone.resolve(ctx, "HEAD")
	if err != nil {
		return "", err
	}
	if ok, err := w.clone.pushed(ctx, head); ok || err != nil {
		return "", err
	}
	return "commit " + head + " is not pushed", nil
}

// Visit is a working tree that somebody else keeps, such as a person's clone, for
// the questions about its remote that this file answers.
func Visit(dir, state string) *Work {
	s := &Store{Options: Options{State: state}}
	return &Work{clone: clone{store: s, dir: dir}}
}
