package command

import (
	"cmp"
	"context"
	"flag"

	"git-ward/agent/orient"
	"git-ward/agent/web"
	"git-ward/internal/cli"
	"git-ward/internal/diag"
	"git-ward/internal/worktree"
)

const orientUsage = "orient [--json] [--connect HOST:PORT]... [--unknown WORDS]... [--search URL] [--research TOPIC]"

// words is a flag that may be repeated.
type words []string

func (w *words) String() string { return "" }

func (w *words) Set(s string) error {
	*w = append(*w, s)
	return nil
}

// Orient is `git ward orient`: the orientation cascade (ORI-1). Exit 1 means that
// work may not begin. Redact takes secrets out of what research records.
func Orient(redact func(string) string) cli.Command {
	return cli.Command{Name: "orient", Hidden: true, Doc: "say who the agent is, what the repository holds, what the place allows",
		Run: func(ctx context.Context, env *cli.Env) error { return orientation(ctx, env, redact) }}
}

func orientation(ctx context.Context, env *cli.Env, redact func(string) string) error {
	var asJSON bool
	var search, topic string
	var connect, unknowns words
	err := env.Only("orient", orientUsage, func(fs *flag.FlagSet) {
		fs.BoolVar(&asJSON, "json", false, "JSON on one line")
		fs.Var(&connect, "connect", "try whether `HOST:PORT` can be reached; may be repeated")
		fs.Var(&unknowns, "unknown", "search for these `WORDS`; may be repeated")
		fs.StringVar(&search, "search", "", "search by a GET of `URL`, as [search] url of the settings has it; {query} stands for the words")
		fs.StringVar(&topic, "research", "", "level 4: plan and run research into `TOPIC`, a commit a step")
	})
	if err != nil {
		return err
	}
	tree, err := worktree.Find(env.Dir)
	if err != nil {
		return err
	}
	search = cmp.Or(search, env.Getenv(web.Variable))
	o := orient.Options{Tree: tree, Getenv: env.Getenv, Connect: connect, Topic: topic}
	for _, text := range unknowns {
		o.Unknowns = append(o.Unknowns, orient.Question{Text: text})
	}
	o.Research = func(ctx context.Context, topic string) (string, error) {
		return research(ctx, env, tree, topic, search, redact)
	}
	o.Search = web.Asker(search)
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
