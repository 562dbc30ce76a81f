package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"

	"git-ward/hooks/audit"
	"git-ward/internal/cli"
	"git-ward/internal/diag"
	"git-ward/internal/git"
)

const maintainUsage = "maintain [DIR]"

// Maintain is `git ward maintain`: git's own maintenance, which Ward's settings
// keep out of pushes (HOOK-6), and the records of pushes that died. The launcher or
// cron runs it.
func Maintain(ctx context.Context, env *cli.Env) error {
	args, err := env.Flags("maintain", maintainUsage, func(*flag.FlagSet) {})
	if err != nil {
		return err
	}
	repo, err := repository(ctx, env, args, maintainUsage)
	if err != nil {
		return err
	}
	if err := finishPushes(ctx, env, repo); err != nil {
		return err
	}
	// Unreachable objects stay two weeks (gc.pruneExpire), so a push under way
	// loses nothing. The audit's reflog stays: a cut end of the chain shows there only.
	keep := []string{"-c", "gc." + audit.ChainRef + ".reflogExpire=never", "-c", "gc." + audit.ChainRef + ".reflogExpireUnreachable=never"}
	for _, step := range [][]string{append(keep, "gc", "--quiet"), {"commit-graph", "write", "--reachable", "--no-progress"}} {
		if _, err := repo.Output(ctx, step...); err != nil {
			return err
		}
	}
	fmt.Fprintln(env.Stdout, "packed refs and objects, wrote the commit-graph")
	return nil
}

// finishPushes records pushes whose hooks died, where nobody pushes for long. A
// repository that Ward does not guard has none.
func finishPushes(ctx context.Context, env *cli.Env, repo *git.Repo) error {
	batch := repo.Batch(ctx)
	defer batch.Close()
	n, err := audit.Reconcile(ctx, repo, batch)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if n > 0 {
		fmt.Fprintf(env.Stdout, "recorded %s that ended without a record\n", diag.Count(n, "push"))
	}
	if err != nil {
		return diag.Hint(err, "git ward fsck names what is wrong, --repair mends it")
	}
	return nil
}
