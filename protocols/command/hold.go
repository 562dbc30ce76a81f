package command

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"git-ward/internal/cli"
	"git-ward/internal/diag"
	"git-ward/internal/held"
	"git-ward/protocols/comms"
)

const holdUsage = "directive hold [-F FILE] [--bare DIR] [--config FILE] D-n [PATH...]"

// directiveHold is `git ward directive hold` (PROOF-5).
func directiveHold(ctx context.Context, env *cli.Env) error {
	var o options
	var from string
	args, err := env.Flags("directive hold", holdUsage, func(fs *flag.FlagSet) {
		cli.Bare(fs, &o.bare)
		cli.Config(fs, &o.config)
		fs.StringVar(&from, "F", "", "a `file` with the criteria, a line each; without it standard input")
	})
	if err != nil {
		return err
	}
	if len(args) == 0 {
		return env.Usage(holdUsage, "hold takes one directive, such as D-1, and perhaps files")
	}
	name, err := oneDirective(env, holdUsage, "hold", args[:1])
	if err != nil {
		return err
	}
	u, err := openDirectives(ctx, env, o, name)
	if err != nil {
		return err
	}
	defer u.close()
	if !u.bare() {
		return refused(env, "there: git ward directive hold --bare DIR "+name, "what is held out is kept on the host alone, and this is a clone")
	}
	var text string
	if from == "" || from == "-" {
		var data []byte
		data, err = io.ReadAll(io.LimitReader(env.Stdin, maxDraft+1))
		text = string(data)
	} else {
		text, err = readDraft(env.Path(from))
	}
	if err != nil {
		return err
	}
	if len(text) > maxDraft { // a part of it would be taken for all
		return refused(env, "hold out fewer criteria, or shorter ones", "the criteria have more than %d bytes", maxDraft)
	}
	files, err := heldFiles(env, args[1:])
	if err != nil {
		return err
	}
	return said(u.hold(name, text, files))
}

// hold keeps criteria and files on the host, and has the directive name them.
func (u *units) hold(name, text string, files []held.File) error {
	list, err := comms.CriteriaOf(text)
	if err != nil {
		return refused(u.env, "a line each: "+comms.ExampleCriterion, "%v", err)
	}
	var criteria []held.Criterion
	for _, c := range list {
		criteria = append(criteria, held.Criterion{Text: c.Text, Command: c.Command})
	}
	doc, err := u.documents()
	if err != nil {
		return err
	}
	if doc.Directive(name) == nil {
		return refused(u.env, "git ward directive show", "COMMS.md has no %s", name)
	}
	word := comms.Holding{Directive: name}
	if len(criteria) > 0 {
		hash, err := held.New(criteria, files).Write(u.repo.Dir, name)
		if err != nil {
			return err
		}
		word.Held = comms.Held{Count: len(criteria), SHA256: hash}
	}
	says := fmt.Sprintf("%s: %d criteria are held out", name, len(criteria))
	if len(criteria) == 1 {
		says = name + ": 1 criterion is held out"
	}
	how, err := u.say(name, says, word, func(d *comms.Directive) (bool, error) {
		return d != nil && d.Options.Held == word.Held, nil
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(u.env.Stdout, "%s, with %s: %s\n", says, diag.Count(len(files), "file"), how)
	return nil
}

// heldFiles reads files that are to lie at the same paths in the judged tree.
func heldFiles(env *cli.Env, paths []string) (list []held.File, err error) {
	size := 0
	for _, p := range paths {
		if !filepath.IsLocal(p) {
			return nil, env.Usage(holdUsage, "%s is not below this directory, which stands for the root of the tree", diag.Clean(p))
		}
		if slices.ContainsFunc(strings.Split(filepath.ToSlash(p), "/"), func(part string) bool { return strings.EqualFold(part, ".git") }) {
			return nil, env.Usage(holdUsage, "%s is git's own, and no file of a tree", diag.Clean(p))
		}
		info, err := os.Stat(env.Path(p))
		if err != nil {
			return nil, err
		}
		data, err := os.ReadFile(env.Path(p))
		if err != nil {
			return nil, err
		}
		if size += len(data); size > held.MaxFiles {
			return nil, refused(env, "hold out fewer, or smaller ones", "the files have more than %d bytes", held.MaxFiles)
		}
		list = append(list, held.File{Path: filepath.ToSlash(filepath.Clean(p)), Executable: info.Mode()&0o111 != 0, Data: data})
	}
	return list, nil
}
