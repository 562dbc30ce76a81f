package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"git-ward/internal/atomicfile"
	"git-ward/internal/manual"
)

// Values completes an argument of a kind that usage lines name, such as UNIT. It must be quick
// and use no network.
type Values func(ctx context.Context, env *Env) ([]string, error)

// own are the table's commands about itself, which no list shows: those that scripts/install
// and shell completion call.
func (t *Table) own() []Command {
	return []Command{
		{Name: "manual", Doc: "write the man pages and the completions, or the manual as Markdown", Hidden: true, Run: t.writeManual},
		{Name: "complete", Doc: "list what can come next on a command line", Hidden: true, Run: t.complete},
	}
}

// writeManual is `git ward manual DIR`: man/man1/*.1 and bash/, zsh/ and fish/ below DIR, or
// with --markdown all of it on standard output.
func (t *Table) writeManual(ctx context.Context, env *Env) error {
	const usage = "manual DIR | manual --markdown"
	var markdown bool
	args, err := env.Flags("manual", usage, func(fs *flag.FlagSet) {
		fs.BoolVar(&markdown, "markdown", false, "print one document")
	})
	switch {
	case err != nil:
		return err
	case markdown != (len(args) == 0) || len(args) > 1:
		return env.Usage(usage, "manual takes a directory, or --markdown")
	}
	book, fault := t.book(ctx)
	if markdown {
		_, err := io.WriteString(env.Stdout, book.Markdown())
		return errors.Join(fault, err)
	}
	files := manual.Shells()
	for name, text := range book.Man(manual.Version{Number: Version, Date: released}) {
		files["man/man1/"+name] = text
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		path := filepath.Join(env.Path(args[0]), name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := atomicfile.Write(path, []byte(files[name]), 0o644); err != nil {
			return err
		}
	}
	return fault
}

// complete is `git ward complete -- WORD...`: what can come next, one a line, with a tab and
// what it is; `:file` and `:dir` are the shell's to complete.
func (t *Table) complete(ctx context.Context, env *Env) error {
	words, err := env.Flags("complete", "complete -- WORD...", func(*flag.FlagSet) {})
	if err != nil || len(words) == 0 {
		return err
	}
	wanted := t.wanted(ctx, words)
	for _, kind := range wanted.Kinds {
		wanted.Words = append(wanted.Words, t.values(ctx, env, words, kind)...)
	}
	last := words[len(words)-1]
	for _, c := range wanted.Words {
		if strings.HasPrefix(c.Word, ":") || strings.HasPrefix(c.Word, last) {
			if _, err := fmt.Fprintln(env.Stdout, strings.TrimSuffix(c.Word+"\t"+c.Doc, "\t")); err != nil {
				return err
			}
		}
	}
	return nil
}

// wanted are the completions after words. Only the command that the words name is asked,
// because another may be a program of its own, which takes time to start.
func (t *Table) wanted(ctx context.Context, words []string) (w manual.Wanted) {
	var all []Command
	for _, g := range t.Groups {
		all = append(all, g.Commands...)
	}
	if words[0] == "help" && len(words) > 1 {
		words = words[1:]
	}
	if c := named(all, words[0]); c != nil && len(words) > 1 {
		p, err := c.page(ctx, t.Program)
		if err != nil {
			return w // an incomplete installation completes nothing
		}
		return p.Next(words[1:])
	}
	if len(words) > 1 {
		return w
	}
	for _, c := range all {
		if !c.Hidden {
			w.Words = append(w.Words, manual.Candidate{Word: c.Name, Doc: c.Doc})
		}
	}
	w.Words = append(w.Words, manual.Candidate{Word: "help", Doc: "show the manual of a command"})
	return w
}

// values are those of a kind.
func (t *Table) values(ctx context.Context, env *Env, words []string, kind string) (list []manual.Candidate) {
	kind = strings.NewReplacer("D-N.K", "UNIT", "D-N", "DIRECTIVE").Replace(strings.ToUpper(kind))
	switch kind {
	case "FILE", "PLAN", "REPORT", "SOCKET", "PROGRAM":
		list = append(list, manual.Candidate{Word: ":file"})
	case "DIR", "DIRECTORY":
		list = append(list, manual.Candidate{Word: ":dir"})
	}
	values := t.Values[kind]
	if values == nil {
		return list
	}
	sub := *env
	sub.Args = words
	found, _ := values(ctx, &sub) // outside a repository there are none
	for _, word := range found {
		list = append(list, manual.Candidate{Word: word})
	}
	return list
}
