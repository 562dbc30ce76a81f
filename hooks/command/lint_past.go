package command

import (
	"context"
	"fmt"
	"slices"
	"time"

	"git-ward/hooks/push"
	"git-ward/internal/branches"
	"git-ward/internal/cli"
	"git-ward/internal/diag"
	"git-ward/internal/git"
)

// lintPast is `git ward lint --since DATE --config FILE`: what these settings would have
// refused of the project's commits, a member's and the agent's, or one's that --as names.
func (o lintOptions) lintPast(ctx context.Context, env *cli.Env, repo *git.Repo, args []string, asJSON bool) error {
	names, err := branches.Of(ctx, repo)
	if err != nil {
		return err
	}
	rev := names.ProjectRef()
	if len(args) > 0 {
		rev = args[0]
	}
	tip, err := repo.Commit(ctx, rev)
	if err != nil {
		return diag.Hint(err, "name a branch, a tag or an object id")
	}
	settings, err := o.settings(env, names.Control)
	if err != nil {
		return err
	}
	who := []push.Principal{push.Member, push.Agent}
	if o.principal != "" {
		principal, err := o.pusher(ctx, repo)
		if err != nil {
			return err
		}
		who = []push.Principal{principal}
	}
	start := time.Now()
	commits, err := commitsOf(ctx, repo, "--since="+o.since, tip)
	if err != nil {
		return err
	}
	if len(commits) == 0 {
		return diag.Hint(fmt.Errorf("no commit of %s is newer than %q", rev, o.since), "a date as git takes it: 2026-01-31, or \"3 months ago\"")
	}
	all, err := judgePast(ctx, repo, settings, commits, who...)
	if err != nil {
		return err
	}
	if asJSON {
		err = diag.WriteJSON(env.Stdout, all)
	} else {
		writePast(env.Stdout, all, time.Since(start))
	}
	if err == nil && slices.ContainsFunc(all, func(p *past) bool { return p.Refused > 0 }) {
		return cli.ErrFindings
	}
	return err
}
