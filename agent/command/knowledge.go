package command

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"git-ward/internal/cli"
	"git-ward/internal/worktree"
	"git-ward/protocols/symbols"
)

const (
	knowledgeUsage = "knowledge build"
	buildUsage     = "knowledge build [--check]"
)

// Knowledge is `git ward knowledge`.
var Knowledge = cli.Verbs("knowledge", knowledgeUsage, map[string]cli.Func{"build": build})

// build is `git ward knowledge build`: it writes the symbols and the dependency
// graph of the tracked files, as the working tree has them.
func build(ctx context.Context, env *cli.Env) error {
	var check bool
	args, err := env.Flags("knowledge build", buildUsage, func(fs *flag.FlagSet) {
		fs.BoolVar(&check, "check", false, "write nothing; exit 1 when a file is out of date")
	})
	if err != nil {
		return err
	}
	if len(args) > 0 {
		return env.Usage(buildUsage, "unexpected argument %q", args[0])
	}
	tree, err := worktree.Find(env.Dir)
	if err != nil {
		return err
	}
	s, g, err := survey(ctx, tree)
	if err != nil {
		return err
	}
	stale := false
	var paths []string
	for _, doc := range []struct {
		path  string
		value any
	}{{symbols.SymbolsPath, s}, {symbols.GraphPath, g}} {
		data, err := json.Marshal(doc.value, jsontext.WithIndent(" "), json.Deterministic(true))
		if err != nil {
			return err
		}
		data = append(data, '\n')
		if doc.path, err = tree.Paper(ctx, doc.path); err != nil {
			return err
		}
		paths = append(paths, doc.path)
		if have, err := tree.Read(doc.path, 1<<30); err == nil && bytes.Equal(have, data) {
			continue
		}
		stale = true
		if check {
			fmt.Fprintf(env.Stdout, "%s is out of date\n", doc.path)
		} else if err := tree.Write(doc.path, data); err != nil {
			return err
		}
	}
	describe(env, s, g, paths)
	if check && stale {
		return cli.ErrFindings
	}
	return nil
}

// survey reads all tracked files that a language of symbols covers.
func survey(ctx context.Context, tree *worktree.Tree) (*symbols.Symbols, *symbols.Graph, error) {
	out, err := tree.GitInput(ctx, nil, nil, "ls-files", "-z", "--cached", "--deduplicate")
	if err != nil {
		return nil, nil, err
	}
	paths := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	b := symbols.NewBuilder(paths)
	for _, p := range paths {
		if ctx.Err() != nil {
			return nil, nil, context.Cause(ctx)
		}
		var data []byte
		if symbols.Wants(p) {
			if data, err = tree.Read(p, symbols.MaxFile); err != nil {
				b.Skip(p, err.Error())
				continue
			}
		}
		b.Add(p, data)
	}
	s, g := b.Build()
	return s, g, nil
}

// describe says what was covered, and what was not.
func describe(env *cli.Env, s *symbols.Symbols, g *symbols.Graph, paths []string) {
	fmt.Fprintf(env.Stdout, "%d symbols in %s, %d dependencies in %s\n", len(s.Symbols), paths[0], len(g.Edges), paths[1])
	for _, l := range s.Coverage.Languages {
		fmt.Fprintf(env.Stdout, "  %s: %d files, %s\n", l.Name, l.Files, l.How)
	}
	unread := 0
	for _, n := range s.Coverage.Unread {
		unread += n
	}
	fmt.Fprintf(env.Stdout, "  not read: %d files of other kinds, %d that could not be\n", unread, len(s.Coverage.Skipped))
}
