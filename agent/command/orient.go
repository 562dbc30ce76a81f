package command

import (
	"context"
	"flag"

	"git-ward/agent/orient"
	"git-ward/internal/cli"
	"git-ward/internal/diag"
	"git-ward/internal/worktree"
)

const orientUsage = "orient [--json] [--connect HOST:PORT]... [--unknown WORDS]... [--search URL]"

// words is a flag that may be repeated.
type words []string

func (w *words) String() string { return "" }

func (w *words) Set(s string) error {
	*w = append(*w, s)
	return nil
}

// Orient is `git ward orient`: the orientation cascade (ORI-1). Exit 1 means that
// work may not begin.
func Orient(ctx context.Context, env *cli.Env) error {
	var asJSON bool
	var search string
	var connect, unknowns words
	args, err := env.Flags("orient", orientUsage, func(fs *flag.FlagSet) {
		fs.BoolVar(&asJSON, "json", false, "JSON on one line")
		fs.Var(&connect, "connect", "try whether `HOST:PORT` can be reached; may be repeated")
		fs.Var(&unknowns, "unknown", "search for these `WORDS`; may be repeated")
		fs.StringVar(&search, "search", "", "search by a GET of `URL`, in which {query} stands for the words")
	})
	if err != nil {
		return err
	}
	if len(args) > 0 {
		return env.Usage(orientUsage, "unexpected argument %q", args[0])
	}
	tree, err := worktree.Find(env.Dir)
	if err != nil {
		return err
	}
	o := orient.Options{Tree: tree, Getenv: env.Getenv, Connect: connect, Unknowns: unknowns}
	if search != "" {
		if o.Search, err = orient.HTTPSearch(search); err != nil {
			return err
		}
	}
	report, err := orient.Run(ctx, o)
	if err != nil {
		return err
	}
	if asJSON {
		err = diag.WriteJSON(env.Stdout, report)
	} else {
		report.WriteText(env.Stdout)
	}
	if err == nil && report.Failed() {
		return cli.ErrFindings
	}
	return err
}
