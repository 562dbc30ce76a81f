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

// RecordsOf is the refspec of the records of a directive's units, for Fetch.
func RecordsOf(directive string) string {
	refs := record.Prefix + directive + ".*"
	return refs + ":" + refs
}

// Fetch brings a clone up to date from origin: the project, the control branch, the work,
// the journals and the verdicts, and what more refspecs name. dir lies in the working tree,
// environ is the person's. It asks nobody for a password, because there is a screen in the
// way, and leaves no child behind when the context ends.
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
