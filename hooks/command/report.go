package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"git-ward/internal/branches"
	"git-ward/internal/cli"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/internal/worktree"
	"git-ward/protocols/comms"
)

const reportUsage = "report --append --status STATUS [--directive D-n] [-m TEXT] [-F FILE]"

// Report is `git ward report`. pages writes the pages of `report --html DIR`, nil if the
// caller has none.
func Report(pages cli.Func) cli.Command {
	append := cli.Way{Switch: "append", Doc: "write a report with the next id into COMMS.md of the working tree", Run: appendReport}
	c := cli.Command{Name: "report", Doc: "--append: write a report into COMMS.md; --html DIR: write the pages of the repository", Run: pages, Ways: []cli.Way{append},
		Examples: []cli.Example{{Line: `report --append --status INFO -m "moved to the new server"`, Doc: "a report of the PM's, to be committed as any change"}}}
	if pages == nil {
		c.Run = appendReport
	}
	return c
}

// appendReport is `git ward report --append`. Committing and pushing it stays with git.
func appendReport(ctx context.Context, env *cli.Env) error {
	var o reportOptions
	err := env.Only("report", reportUsage, func(fs *flag.FlagSet) {
		fs.StringVar(&o.status, "status", "", "a `STATUS`: "+statusWords())
		fs.StringVar(&o.directive, "directive", "-", "the directive that it answers, `D-n`, or - for none")
		fs.StringVar(&o.text, "m", "", "the `text`")
		fs.StringVar(&o.file, "F", "", "a `file` that holds the text, - for standard input")
	})
	if err != nil {
		return err
	}
	tree, err := worktree.Find(env.Dir)
	if err != nil {
		return err
	}
	if err := onControl(ctx, tree); err != nil {
		return err
	}
	id, err := o.append(env, tree)
	if err != nil {
		return err
	}
	fmt.Fprintf(env.Stdout, "appended R-%d to COMMS.md\nnext: git commit -m 'comms: report R-%d' COMMS.md && git push\n", id, id)
	return nil
}

// onControl refuses a working tree of the project, where the control branch is apart from
// it: a COMMS.md there would be the project's own file.
func onControl(ctx context.Context, tree *worktree.Tree) error {
	repo, err := git.Discover(ctx, tree.Dir)
	if err != nil {
		return err
	}
	names, err := branches.Of(ctx, repo)
	if err != nil || !names.Split() {
		return err
	}
	if project, err := repo.Exits(ctx, "merge-base", "HEAD", names.ProjectRef()); err != nil || !project {
		return err
	}
	return diag.Hint(fmt.Errorf("this working tree is the project's; reports are in COMMS.md of the branch %s", names.Branch),
		"git worktree list names its working tree, or: git worktree add ../%s %s", names.Branch, names.Branch)
}

// reportOptions are the parts of a report; file names one that holds the text.
type reportOptions struct{ status, directive, text, file string }

func statusWords() string {
	var words []string
	for _, s := range comms.Statuses() {
		words = append(words, string(s))
	}
	return strings.Join(words, ", ")
}

// append writes the report into the tree's COMMS.md and returns its number.
func (o reportOptions) append(env *cli.Env, tree *worktree.Tree) (int, error) {
	status := comms.Status(o.status)
	if !status.Valid() {
		return 0, diag.Hint(fmt.Errorf("%q is not a report's status", o.status), "it is one of %s", statusWords())
	}
	text, err := o.read(env)
	if err != nil {
		return 0, err
	}
	data, err := tree.Read(comms.Path, comms.MaxBytes)
	if err != nil {
		return 0, diag.Hint(err, "switch to a branch that has COMMS.md")
	}
	report := comms.NewReport{Time: time.Now().UTC(), Directive: o.directive, Status: status, Text: text}
	doc, _ := comms.Parse(data) // what is wrong in it is the checks' to say
	if d := doc.Directive(o.directive); d != nil {
		report.DirectiveHash = d.Hash()
	}
	amended, err := comms.Amend(data, report, comms.Whole)
	if err != nil {
		return 0, err
	}
	return amended.ID, tree.Write(comms.Path, amended.Data)
}

// read is the report's text, from wherever it is.
func (o reportOptions) read(env *cli.Env) (string, error) {
	switch {
	case o.file != "" && o.text != "":
		return "", errors.New("-m and -F exclude each other")
	case o.file == "-":
		data, err := io.ReadAll(io.LimitReader(env.Stdin, comms.MaxBytes))
		return string(data), err
	case o.file != "":
		data, err := os.ReadFile(env.Path(o.file))
		return string(data), err
	}
	return o.text, nil
}
