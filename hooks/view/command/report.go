package command

import (
	"context"
	"flag"
	"fmt"
	"runtime/debug"
	"time"

	"git-ward/hooks/view/site"
	"git-ward/internal/cli"
	"git-ward/internal/diag"
	"git-ward/internal/git"
)

const reportUsage = "report --html DIR [--bare DIR]"

// patience is the time after which a message says that the report is still being written.
const patience = 2 * time.Second

// report writes the pages of a repository into a directory.
func report(ctx context.Context, env *cli.Env) error {
	var dir, bare string
	args, err := env.Flags("report", reportUsage, func(fs *flag.FlagSet) {
		fs.StringVar(&dir, "html", "", "write the pages into `DIR`, which is made, or replaced where an earlier report made it and nobody changed it")
		cli.Bare(fs, &bare)
	})
	if err != nil {
		return err
	}
	if len(args) > 0 || dir == "" {
		return env.Usage(reportUsage, "say where: --html DIR")
	}
	if env.Getenv("GOGC") == "" {
		debug.SetGCPercent(400) // a report's memory is small, and its garbage is much
	}
	ctx, done := git.Keep(ctx)
	defer done()
	source, err := open(ctx, env, bare)
	if err != nil {
		return err
	}
	source.Hold()
	return write(ctx, env, source, dir)
}

func write(ctx context.Context, env *cli.Env, source site.Source, dir string) error {
	said := time.Now()
	progress := func(pages int) {
		if time.Since(said) > patience {
			said = time.Now()
			fmt.Fprintf(env.Stderr, "git-ward: %s ...\n", diag.Count(pages, "page"))
		}
	}
	env.Leaves(fmt.Sprintf("nothing was written, and %s is as it was", diag.Clean(dir)))
	r, err := site.Write(ctx, env.Path(dir), source, progress)
	if err != nil {
		return err
	}
	for _, what := range r.Omitted {
		fmt.Fprintf(env.Stderr, "git-ward: not in it: %s\n", what)
	}
	_, err = fmt.Fprintf(env.Stdout, "wrote %s into %s\nnext: open %s/index.html\n", diag.Count(r.Pages, "page"), diag.Clean(dir), diag.Clean(dir))
	return err
}
