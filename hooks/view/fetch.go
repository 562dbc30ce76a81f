package view

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/internal/worktree"
	"git-ward/protocols/record"
	"git-ward/protocols/uow"
)

// RecordsOf returns the refspec of a directive's records, for Fetch.
func RecordsOf(directive string) string {
	refs := record.Prefix + directive + ".*"
	return refs + ":" + refs
}

// Fetch updates a clone from origin: the project, the control branch, the agent's branches, the
// journals, the verdicts, and the refspecs in more. dir is inside the work tree, environ is the
// person's environment. git cannot ask for a password, because a screen covers the terminal. When
// the context ends, no child process remains.
func (s *Source) Fetch(ctx context.Context, dir string, environ []string, more ...string) error {
	tree, err := worktree.Find(dir)
	if err != nil {
		return err
	}
	how, err := git.InCheckout(ctx, tree.Dir, environ)
	if err != nil {
		return err
	}
	args := slices.Concat([]string{"fetch", "--quiet", "--no-auto-maintenance", "origin"}, s.names.Fetch(), []string{
		"+refs/heads/agent/*:refs/remotes/origin/agent/*", uow.RefPrefix + "*:" + uow.RefPrefix + "*",
		"refs/notes/certificates*:refs/notes/certificates*"}, more)
	var text bytes.Buffer
	if err := s.repo.Overtaken(ctx, func() error {
		text.Reset()
		cmd := how.Child(ctx, tree.Dir, args...).Unattended()
		cmd.Stdout, cmd.Stderr = &text, &text
		return cmd.Run()
	}); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		words, _, _ := strings.Cut(strings.TrimSpace(text.String()), "\n")
		return diag.Hint(how.Explain(fmt.Errorf("git fetch: %s", words)), "git fetch origin says more")
	}
	return nil
}
