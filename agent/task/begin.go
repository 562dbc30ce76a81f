package task

import (
	"context"
	"errors"
	"io/fs"
	"strings"

	"git-ward/agent/activity"
	"git-ward/agent/orient"
	"git-ward/agent/survey"
	"git-ward/internal/diag"
	"git-ward/internal/worktree"
	"git-ward/protocols/comms"
	"git-ward/protocols/plan"
)

// Begun is what a worker who takes up a directive is told about the repository.
type Begun struct {
	Report *orient.Report
	Known  Known
}

// Begin orients whoever takes up a directive, model or program (PLAN-7, WORK-1): the index
// is brought up to date, the cascade looks for the directive's own words and for what it,
// its plan and the newest verdict do not know, and each search is logged. The options want
// no task, subject and unknowns: those are the directive's.
func Begin(ctx context.Context, d comms.Directive, o orient.Options, log *activity.Log) (*Begun, error) {
	index, err := survey.Refresh(ctx, o.Tree)
	if err != nil && ctx.Err() != nil {
		return nil, err
	}
	o.Index, o.About, o.Unknowns = index, about(d), append(o.Unknowns, Unknowns(ctx, d, o.Tree)...)
	return begin(ctx, d.Name(), d.Raw, o, log)
}

// Preview is Begin for a reader: nothing is built, and nothing logged.
func Preview(ctx context.Context, d comms.Directive, o orient.Options) (*Begun, error) {
	o.Task, o.About, o.Unknowns = d.Name(), about(d), append(o.Unknowns, Unknowns(ctx, d, o.Tree)...)
	report, err := orient.Run(ctx, o)
	if err != nil {
		return nil, err
	}
	return &Begun{Report: report, Known: Query(ctx, o.Tree, o.Bare, d.Raw)}, nil
}

// BeginOther is Begin of a task that is no directive, such as research: all that is known
// of it is its name.
func BeginOther(ctx context.Context, id string, o orient.Options, log *activity.Log) (*Begun, error) {
	o.About = id
	return begin(ctx, id, id, o, log)
}

func begin(ctx context.Context, id, text string, o orient.Options, log *activity.Log) (*Begun, error) {
	report, err := Start(ctx, id, o, log)
	if err != nil {
		return nil, err
	}
	b := &Begun{Report: report, Known: Query(ctx, o.Tree, o.Bare, text)}
	return b, b.Known.Log(id, log)
}

// Text is what a prompt shows of it, without a heading of its own.
func (b *Begun) Text() string { return b.Report.Text() + "\n" + b.Known.Text() }

// about is a directive's text without its options.
func about(d comms.Directive) string {
	var b strings.Builder
	b.WriteString(d.Title.String() + "\n" + d.Goal)
	for _, c := range d.Criteria {
		b.WriteString("\n" + c.Text)
	}
	return b.String()
}

// Unknowns are those that the directive lists and those of the plans that it has in this
// tree.
func Unknowns(ctx context.Context, d comms.Directive, tree *worktree.Tree) (list []orient.Question) {
	for _, text := range d.Options.Unknowns {
		list = append(list, orient.Question{From: "the directive", Text: text})
	}
	dir, err := tree.RecordDir(ctx)
	if err != nil {
		return list
	}
	for _, name := range plansAndPostMortems(ctx, tree, dir) {
		if !strings.HasPrefix(strings.TrimPrefix(name, dir+"/"), "plans/"+d.Name()+".") {
			continue
		}
		data, err := tree.Read(name, plan.MaxBytes)
		if err != nil {
			continue
		}
		if p, _ := plan.Parse(data, name); p != nil {
			for _, text := range plan.Unknowns(p) {
				list = append(list, orient.Question{From: diag.Clean(name), Text: text})
			}
		}
	}
	return list
}

// Directive is a task's directive, as the control branch has it; false for a task that is
// none.
func Directive(ctx context.Context, tree *worktree.Tree, id string) (d comms.Directive, found bool, err error) {
	data, err := tree.Document(ctx, comms.Path, comms.MaxBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return d, false, nil
	}
	if err != nil {
		return d, false, err
	}
	doc, _ := comms.Parse(data)
	for _, d := range doc.Directives {
		if d.Name() == id {
			return d, true, nil
		}
	}
	return d, false, nil
}
