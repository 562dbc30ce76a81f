package command

import (
	"context"
	"flag"
	"fmt"
	"time"

	"git-ward/hooks/audit"
	"git-ward/hooks/maintain"
	"git-ward/internal/cli"
	"git-ward/internal/diag"
)

const maintainUsage = "maintain [--keep TIME] [--reclaim] [--records] [--bare DIR]"

// Maintain is `git ward maintain`: it runs git's own maintenance, which Ward's settings keep
// out of pushes (HOOK-6), writes the records of pushes that died, and removes what was
// deleted, dropped or redacted (REC-5). The launcher or cron runs it.
var Maintain = cli.Command{Name: "maintain", Doc: "pack the repository, outside pushes", Run: pack,
	Long:     "Git's own gc is off in a repository of Ward's, because it would delete what records need. Launches and a timer run this instead; pushes continue meanwhile.",
	Examples: []cli.Example{{Line: `maintain --bare /srv/git/project.git`, Doc: "pack what pushes have left loose"}}}

func pack(ctx context.Context, env *cli.Env) error {
	var o maintain.Options
	var records bool
	var ended, bare string
	args, err := env.Flags("maintain", maintainUsage, func(fs *flag.FlagSet) {
		cli.Bare(fs, &bare)
		fs.DurationVar(&o.Keep, "keep", maintain.DefaultKeep, "how long unreachable objects stay, a `TIME` such as 24h; less than an hour only while nobody pushes")
		fs.BoolVar(&o.Reclaim, "reclaim", false, "free the objects of the agent's deleted and rewritten branches at once, which otherwise happens when they take half of [limits] agent_objects")
		fs.StringVar(&ended, "ended", "", "") // PUSH:PRINCIPAL:NAME:RULE, which a door ended at a bound, and says so
		fs.BoolVar(&records, "records", false, "only record the pushes that ended without a record")
	})
	if err != nil {
		return err
	}
	if o.Keep < 0 {
		return env.Usage(maintainUsage, "--keep is a time, such as 24h")
	}
	repo, err := repository(ctx, env, bare, args, maintainUsage)
	if err != nil {
		return err
	}
	if ended != "" {
		e, err := audit.ParseEnded(ended)
		if err != nil {
			return env.Usage(maintainUsage, "%v", err)
		}
		batch := repo.Batch(ctx)
		defer batch.Close()
		return fsckHint(audit.RecordEnded(ctx, repo, batch, e))
	}
	if records {
		n, err := maintain.Records(ctx, repo)
		printRecorded(env, n)
		return fsckHint(err)
	}
	defer env.Slow("packing objects and refs")()
	r, err := maintain.Run(ctx, repo, o)
	printRecorded(env, r.Pushes)
	for _, name := range r.Locks {
		fmt.Fprintf(env.Stdout, "removed %s, which a git that was killed left\n", diag.Clean(name))
	}
	if err != nil {
		return fsckHint(err)
	}
	if r.Precious {
		fmt.Fprintln(env.Stdout, "packed refs, wrote the commit-graph; no object is packed or goes: the repository's config sets extensions.preciousObjects")
	} else {
		fmt.Fprintln(env.Stdout, "packed refs and objects, wrote the commit-graph")
	}
	if r.Reclaimed > 0 {
		fmt.Fprintf(env.Stdout, "freed %s that only the agent's deleted and rewritten branches led to\n", diag.Count(r.Reclaimed, "object"))
	}
	if !r.Ledger.Counted.IsZero() {
		fmt.Fprintf(env.Stdout, "what the agent pushed takes %.1f MiB of the disk\n", float64(r.Ledger.Bytes)/(1<<20))
	}
	still := fmt.Sprintf("%d of %d that were dropped or redacted are stored still", r.Stored, r.Dropped)
	switch {
	case r.Stored > 0 && r.Precious:
		fmt.Fprintf(env.Stdout, "%s, and stay: once no clone borrows from this repository, git config --unset extensions.preciousObjects, and run it again\n", still)
	case r.Stored > 0:
		fmt.Fprintf(env.Stdout, "%s: run it again in an hour, or with --keep %s while nobody pushes\n", still, time.Duration(0))
	case r.Dropped > 0:
		fmt.Fprintln(env.Stdout, "what was dropped or redacted is gone")
	}
	return nil
}

func printRecorded(env *cli.Env, pushes int) {
	if pushes > 0 {
		fmt.Fprintf(env.Stdout, "recorded %s that ended without a record\n", diag.Count(pushes, "push"))
	}
}

func fsckHint(err error) error {
	if err == nil {
		return nil
	}
	return diag.Hint(err, "git ward fsck names what is wrong, --repair mends it")
}
