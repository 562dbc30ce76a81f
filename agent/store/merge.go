package store

import (
	"context"
	"strings"

	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/state"
)

// Merged reports whether the project, as of the last look, holds a commit.
func (s *Store) Merged(ctx context.Context, commit string) (bool, error) {
	// The project's clone has the commit only if it was merged or claimed.
	if known, err := s.main.resolve(ctx, commit); known == "" || err != nil {
		return false, err
	}
	return s.main.isAncestor(ctx, commit, s.projectRef())
}

// Taken reports whether the project, as of the last look, has a commit of the work: by a
// merge, or by a commit that was made of it and says so (REC-3).
func (s *Store) Taken(ctx context.Context, commit string) (bool, error) {
	reader := s.main.repo().Reader(ctx)
	defer reader.Close()
	project, err := reader.Tip(s.projectRef())
	if err != nil {
		return false, err
	}
	by, err := state.Taken(reader, project, commit)
	return by != "", err
}

// Merge merges a commit of a branch into the project and pushes that: by fast-forward
// where it can be. It is stop.Refused when the remote does not take it (HOOK-4), or
// when there are conflicts. When the project moves meanwhile it is done anew.
func (s *Store) Merge(ctx context.Context, branch, commit string) error {
	return git.Update(ctx, git.Race{What: s.Control.Project, While: branch + " was merged"}, func() (bool, error) {
		m, err := s.Main(ctx)
		if err != nil {
			return false, err
		}
		tip, err := s.main.merge(ctx, m.Project, branch, commit)
		if err != nil {
			return false, err
		}
		pushErr := s.main.push(ctx, tip, s.Control.Project)
		if pushErr == nil || ctx.Err() != nil {
			return true, pushErr
		}
		now, err := s.Main(ctx)
		if err != nil || now.Project == m.Project {
			return false, pushErr
		}
		return false, nil
	})
}

// merge makes a merge commit of both, without a working tree.
func (c *clone) merge(ctx context.Context, project, branch, commit string) (string, error) {
	if newer, err := c.isAncestor(ctx, project, commit); newer || err != nil {
		return commit, err
	}
	tree, err := c.git(ctx, "merge-tree", "--write-tree", "--name-only", "--no-messages", project, commit)
	if git.SaidNo(err) {
		_, files, _ := strings.Cut(tree, "\n")
		return "", refuse("merging %s into %s has conflicts in %s", branch, c.store.Control.Project, diag.Clean(strings.ReplaceAll(files, "\n", ", ")))
	}
	if err != nil {
		return "", err
	}
	return c.git(ctx, "commit-tree", "-m", "agent: merge "+branch, "-p", project, "-p", commit, tree)
}
