package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"git-ward/internal/atomicfile"
	"git-ward/internal/cli"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/comms"
)

const reportUsage = "report append --status STATUS [--directive D-n] [-m TEXT | -F FILE]"

// Report is `git ward report append`: it writes a report with the next id into
// COMMS.md of the working tree. Committing and pushing it stays with git.
func Report(ctx context.Context, env *cli.Env) error {
	if len(env.Args) == 0 || env.Args[0] != "append" {
		return env.Usage(reportUsage, "report takes the word append")
	}
	sub := *env
	sub.Args = env.Args[1:]
	r := &reporter{env: &sub}
	args, err := sub.Flags("report append", reportUsage, func(fs *flag.FlagSet) {
		fs.StringVar(&r.status, "status", "", "one of "+statusWords())
		fs.StringVar(&r.directive, "directive", "-", "the directive that it answers, `D-n`, or - for none")
		fs.StringVar(&r.text, "m", "", "the `text`")
		fs.StringVar(&r.file, "F", "", "a `file` that holds the text, - for standard input")
	})
	if err != nil {
		return err
	}
	if len(args) > 0 {
		return env.Usage(reportUsage, "unexpected argument %q", args[0])
	}
	repo, err := git.Discover(ctx, env.Dir)
	if err != nil {
		return diag.Hint(err, "run it in a clone of a ward repository")
	}
	return r.append(ctx, repo)
}

type reporter struct {
	env                           *cli.Env
	status, directive, text, file string
}

func statusWords() string {
	var words []string
	for _, s := range comms.Statuses() {
		words = append(words, string(s))
	}
	return strings.Join(words, ", ")
}

func (r *reporter) append(ctx context.Context, repo *git.Repo) error {
	status := comms.Status(r.status)
	if !status.Valid() {
		return diag.Hint(fmt.Errorf("%q is not a report's status", r.status), "it is one of %s", statusWords())
	}
	if err := r.readText(); err != nil {
		return err
	}
	path, err := worktreeFile(ctx, r.env.Dir, comms.Path)
	if err != nil {
		return err
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return diag.Hint(err, "switch to a branch that has COMMS.md")
	}
	report := comms.NewReport{Time: time.Now().UTC(), Directive: r.directive, Status: status, Text: r.text}
	doc, _ := comms.Parse(data)
	if d := doc.Directive(r.directive); d != nil {
		report.DirectiveHash = d.Hash()
	}
	out, id, err := comms.AppendReport(data, report)
	if err != nil {
		return err
	}
	if err := atomicfile.Write(path, out, 0o644); err != nil {
		return err
	}
	fmt.Fprintf(r.env.Stdout, "appended R-%d to COMMS.md\nnext: git commit -m 'comms: report R-%d' COMMS.md && git push\n", id, id)
	return nil
}

func (r *reporter) readText() (err error) {
	var data []byte
	switch {
	case r.file != "" && r.text != "":
		return errors.New("-m and -F exclude each other")
	case r.file == "-":
		data, err = io.ReadAll(io.LimitReader(r.env.Stdin, comms.MaxBytes))
	case r.file != "":
		data, err = os.ReadFile(r.env.Path(r.file))
	default:
		return nil
	}
	r.text = string(data)
	return err
}

// worktreeFile is a file's path at the top of the working tree around dir.
func worktreeFile(ctx context.Context, dir, name string) (string, error) {
	for {
		if _, err := os.Stat(filepath.Join(dir, ".git")); err == nil {
			return filepath.Join(dir, name), nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", diag.Hint(errors.New("not in a working tree"), "run it in a clone")
		}
		dir = parent
	}
}
