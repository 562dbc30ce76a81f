package command

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"git-ward/internal/cli"
	"git-ward/internal/diag"
	"git-ward/internal/held"
	"git-ward/protocols/comms"
	"git-ward/protocols/state"
)

const holdUsage = "directive hold [-F FILE] [--bare DIR] [--config FILE] D-n [PATH...]"

// directiveHold is `git ward directive hold` (PROOF-5).
func directiveHold(ctx context.Context, env *cli.Env) error {
	var d desk
	var from string
	args, err := env.Flags("directive hold", holdUsage, func(fs *flag.FlagSet) {
		cli.Bare(fs, &d.bare)
		cli.Config(fs, &d.config)
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
	u, err := openDesk(ctx, env, d.bare, d.config, name)
	if err != nil {
		return err
	}
	defer u.close()
	if !u.bare() {
		return refused(env, "there: git ward directive hold --bare DIR "+name, "what is held out is kept on the host alone, and this is a clone")
	}
	var text []byte
	if from == "" || from == "-" {
		text, err = io.ReadAll(io.LimitReader(env.Stdin, held.MaxFiles))
	} else {
		text, err = os.ReadFile(env.Path(from))
	}
	if err != nil {
		return err
	}
	files, err := heldFiles(env, args[1:])
	if err != nil {
		return err
	}
	return said(u.hold(name, string(text), files))
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
	commit, err := u.amend(func() string { return says }, func(doc state.Comms) ([]byte, error) {
		amended, err := comms.Amend(doc.Data, word, comms.Whole)
		if err == nil && diag.HasErrors(amended.Found) {
			diag.WriteText(u.env.Stderr, amended.Found)
			err = refused(u.env, "git ward directive edit "+name, "COMMS.md does not take it")
		}
		if err == nil && bytes.Equal(amended.Data, doc.Data) {
			return nil, nil
		}
		return amended.Data, err
	})
	if errors.Is(err, errNotTaken) {
		return refused(u.env, "nothing was changed; what the host says stands above", "%v", err)
	}
	if err != nil {
		return err
	}
	how := "as before"
	if commit != "" {
		how = "pushed to " + u.names.Branch + " as " + diag.Short(commit)
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
