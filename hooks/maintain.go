package hooks

import (
	"context"
	"flag"
	"fmt"

	"git-ward/internal/cli"
)

const maintainUsage = "maintain [DIR]"

// Maintain is `git ward maintain`: git's own maintenance, which Ward's settings
// keep out of pushes (HOOK-6). The launcher or cron runs it.
func Maintain(ctx context.Context, env *cli.Env) error {
	args, err := env.Flags("maintain", maintainUsage, func(*flag.FlagSet) {})
	if err != nil {
		return err
	}
	repo, err := repository(ctx, env, args, maintainUsage)
	if err != nil {
		return err
	}
	// Unreachable objects stay two weeks (gc.pruneExpire), so a push under way
	// loses nothing.
	for _, step := range [][]string{{"gc", "--quiet"}, {"commit-graph", "write", "--reachable", "--no-progress"}} {
		if _, err := repo.Output(ctx, step...); err != nil {
			return err
		}
	}
	fmt.Fprintln(env.Stdout, "packed refs and objects, wrote the commit-graph")
	return nil
}
