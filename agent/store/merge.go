package store

import (
	"context"
	"fmt"
	"strings"

	"git-ward/internal/diag"
	"git-ward/internal/git"
)

// Merged reports whether main, as of the last look, holds a commit.
func (s *Store) Merged(ctx context.Context, commit string) (bool, error) {
	// The clone of main has the commit only if it was merged.
	if known, err := s.main.resolve(ctx, commit); known == "" || err != nil {
		return false, err
	}
	return s.main.isAncestor(ctx, commit, mainRef)
}

// Merge merges a commit of a branch into main and pushes that: by fast-forward
// where it can be. It is stop.Refused when the remote does not take it (HOOK-4), or
// when there are conflicts. When main moves meanwhile it is done anew.
func (s *Store) Merge(ctx context.Context, branch, commit string) error {
	for try := range maxRaces {
		m, err := s.Main(ctx)
		if err != nil {
			return err
		}
		tip, err := s.main.merge(ctx, m.Commit, branch, commit)
		if err != nil {
			return err
		}
		pushErr := s.main.push(ctx, tip, "main")
		if pushErr == nil || ctx.Err() != nil {
			return pushErr
		}
		now, err := s.Main(ctx)
		if err != nil || now.Commit == m.Commit {
			return pushErr
		}
		if err := git.Backoff(ctx, try); err != nil {
			return err
		}
	}
	return fmt.Errorf("main moved %d times while %s was merged", maxRaces, branch)
}

// merge is a commit that has both, made without a working tree.
func (c *clone) merge(ctx context.Context, main, branch, commit string) (string, error) {
	if newer, err := c.isAncestor(ctx, main, commit); newer || err != nil {
		return commit, err
	}
	tree, err := c.git(ctx, "merge-tree", "--write-tree", "--name-only", "--no-messages", main, commit)
	if saidNo(err) {
		_, files, _ := strings.Cut(tree, "\n")
		return "", refuse("merging %s into main has conflicts in %s", branch, diag.Clean(strings.ReplaceAll(files, "\n", ", ")))
	}
	if err != nil {
		return "", err
	}
	return c.git(ctx, "commit-tree", "-m", "agent: merge "+branch, "-p", main, "-p", commit, tree)
}
