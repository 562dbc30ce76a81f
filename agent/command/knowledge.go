package command

import (
	"context"
	"flag"
	"fmt"
	"strings"

	"git-ward/agent/lookup"
	"git-ward/agent/orient"
	"git-ward/agent/planrun"
	"git-ward/agent/survey"
	"git-ward/internal/cli"
	"git-ward/internal/diag"
	"git-ward/internal/worktree"
	"git-ward/protocols/plan"
)

const (
	buildUsage = "knowledge build [--check]"
	findUsage  = "knowledge find [--json] [--deep] [--in SOURCES] WORDS..."
)

// Knowledge is `git ward knowledge`.
var Knowledge = cli.Command{Name: "knowledge", Doc: "build the symbols and the dependency graph, and search all that is known", Verbs: []cli.Command{
	{Name: "build", Doc: "write the symbols and the dependency graph of the tracked files", Run: build},
	{Name: "find", Doc: "search the symbols, the documents, the history and the lessons", Run: find},
}}

// build is `git ward knowledge build`: it writes the symbols and the dependency graph of the
// tracked files in the working tree.
func build(ctx context.Context, env *cli.Env) error {
	var check bool
	err := env.Only("knowledge build", buildUsage, func(fs *flag.FlagSet) {
		fs.BoolVar(&check, "check", false, "write nothing; exit 1 when a file is out of date")
	})
	if err != nil {
		return err
	}
	tree, err := worktree.Find(env.Dir)
	if err != nil {
		return err
	}
	defer env.Slow("reading the tracked files")()
	index, err := survey.Survey(ctx, tree)
	if err != nil {
		return err
	}
	list, err := index.Documents(ctx, tree)
	if err != nil {
		return err
	}
	stale := false
	for _, d := range list {
		if stale = stale || d.Stale; !d.Stale {
			continue
		}
		if check {
			fmt.Fprintf(env.Stdout, "%s is out of date\n", d.Path)
		} else if err := d.Write(tree); err != nil {
			return err
		}
	}
	describe(env, index, list)
	if check && stale {
		return cli.ErrFindings
	}
	return nil
}

// describe says what was indexed, and what was not.
func describe(env *cli.Env, index *survey.Index, list []survey.Document) {
	s, g := index.Symbols, index.Graph
	fmt.Fprintf(env.Stdout, "%d symbols in %s, %d dependencies in %s\n", len(s.Symbols), list[0].Path, len(g.Edges), list[1].Path)
	for _, l := range s.Coverage.Languages {
		fmt.Fprintf(env.Stdout, "  %s: %d files, %s\n", l.Name, l.Files, l.How)
	}
	unread := 0
	for _, n := range s.Coverage.Unread {
		unread += n
	}
	fmt.Fprintf(env.Stdout, "  not read: %d files of other kinds, %d that could not be\n", unread, len(s.Coverage.Skipped))
}

// find is `git ward knowledge find`: it searches the repository for words. Exit 1: nothing
// found.
func find(ctx context.Context, env *cli.Env) error {
	var asJSON bool
	var f plan.Find
	var in string
	args, err := env.Flags("knowledge find", findUsage, func(fs *flag.FlagSet) {
		fs.BoolVar(&asJSON, "json", false, "JSON on one line")
		fs.BoolVar(&f.Deep, "deep", false, "search again in the words of what was found, and show what stands around it")
		fs.StringVar(&in, "in", "", "only these `SOURCES`, with commas: symbols, dependencies, documents, files, history, lessons, post-mortems")
	})
	if err != nil {
		return err
	}
	if f.Text = strings.Join(args, " "); strings.TrimSpace(f.Text) == "" {
		return env.Usage(findUsage, "find takes words")
	}
	if in != "" {
		f.In = strings.Split(in, ",")
	}
	if _, err := lookup.ParseSources(f.In); err != nil {
		return env.Usage(findUsage, "%v", err)
	}
	tree, err := worktree.Find(env.Dir)
	if err != nil {
		return err
	}
	finder, err := orient.Finder(ctx, orient.Options{Tree: tree, Getenv: env.Getenv})
	if err != nil {
		return err
	}
	result, err := planrun.Find(ctx, finder, f)
	if err != nil {
		return err
	}
	if asJSON {
		err = diag.WriteJSON(env.Stdout, result)
	} else {
		result.WriteText(func(format string, args ...any) { fmt.Fprintf(env.Stdout, format, args...) })
	}
	if err == nil && len(result.Hits) == 0 {
		return cli.ErrFindings
	}
	return err
}
