package command

import (
	"context"
	"flag"
	"fmt"
	"strings"
	"text/tabwriter"

	"git-ward/internal/cli"
	"git-ward/internal/diag"
	"git-ward/protocols/plan"
)

func planAnalyze(ctx context.Context, env *cli.Env) error {
	const usage = "plan lint --analyze [--json] FILE|PLAN..."
	var asJSON bool
	args, err := env.Flags("plan lint", usage, func(fs *flag.FlagSet) {
		fs.BoolVar(&asJSON, "json", false, "one JSON object a line")
	})
	if err != nil {
		return err
	}
	if len(args) == 0 {
		return env.Usage(usage, "analyze takes plans")
	}
	t, err := OpenTree(ctx, env.Dir)
	if err != nil {
		return err
	}
	defer t.Close()
	l := t.Linter(ctx)
	bad := false
	for _, arg := range args {
		path, err := t.named(env, l, arg)
		if err != nil {
			return err
		}
		faults, err := t.analyze(ctx, env, l, path, asJSON)
		if err != nil {
			return err
		}
		bad = bad || faults
	}
	if bad {
		return cli.ErrFindings
	}
	return nil
}

// analyzed is what `plan analyze --json` prints of a plan.
type analyzed struct {
	plan.Analysis
	Findings []diag.Diagnostic `json:"findings,omitempty"`
}

// analyze prints what kind of plan one is, and what is wrong with it where something is.
func (t *Tree) analyze(ctx context.Context, env *cli.Env, l *plan.Linter, path string, asJSON bool) (faults bool, err error) {
	found, err := t.lintPlan(ctx, l, path)
	if err != nil {
		return false, err
	}
	faults = diag.HasErrors(found)
	a, err := l.Analyze(path)
	switch {
	case err != nil:
		return false, err
	case asJSON:
		return faults, diag.WriteJSON(env.Stdout, analyzed{a, found})
	}
	about := ""
	if faults {
		about = ", as far as it can be read"
	}
	_, err = fmt.Fprintf(env.Stdout, "%s: %s, %s (machine %s, %d steps, %d calls, loops nested %d deep, %d plans on the stack%s)\n",
		diag.Clean(a.Path), a.Complexity, a.Modality, diag.Clean(a.Machine), a.Steps, a.Calls, a.Loops, a.Depth, about)
	if faults {
		diag.WriteText(env.Stderr, found)
	}
	return faults, err
}

// named is the path of a registered plan, or of a file.
func (t *Tree) named(env *cli.Env, l *plan.Linter, arg string) (string, error) {
	path, err := l.Resolve(arg)
	if err != nil || path != arg {
		return path, err
	}
	path, err = t.rel(env, arg)
	if err != nil {
		return "", err
	}
	if kind, _ := t.Kind(path); kind == plan.File {
		return path, nil
	}
	r, _, err := t.registry()
	if err != nil {
		return "", err
	}
	hint := "`git ward plan show` lists the registered plans"
	if near := diag.Nearest(arg, r.Names()); near != "" {
		hint = fmt.Sprintf("did you mean %q?", near)
	}
	return "", diag.Hint(fmt.Errorf("%s is neither a registered plan nor a file", arg), "%s", hint)
}

// shown is a step as `plan show --json` prints it.
type shown struct {
	Line     int      `json:"line"`
	Type     string   `json:"type"`
	Tool     string   `json:"tool"`
	Args     string   `json:"args,omitempty"`
	Block    string   `json:"block,omitempty"`
	Evidence []string `json:"evidence,omitempty"`
	Loops    int      `json:"loops"`
}

func planShow(ctx context.Context, env *cli.Env) error {
	const usage = "plan show [--json] FILE|PLAN"
	var asJSON bool
	args, err := env.Flags("plan show", usage, func(fs *flag.FlagSet) {
		fs.BoolVar(&asJSON, "json", false, "one JSON object a line")
	})
	if err != nil {
		return err
	}
	if len(args) != 1 {
		return env.Usage(usage, "show takes one plan")
	}
	t, err := OpenTree(ctx, env.Dir)
	if err != nil {
		return err
	}
	defer t.Close()
	l := t.Linter(ctx)
	path, err := t.named(env, l, args[0])
	if err != nil {
		return err
	}
	p, err := l.Plan(path)
	if err != nil {
		return err
	}
	if p == nil {
		return fmt.Errorf("%s cannot be read as a plan", path)
	}
	if !asJSON {
		fmt.Fprintf(env.Stdout, "%s: machine %s, %s form, %d steps\n", diag.Clean(path), diag.Clean(p.Machine()), p.Form, p.Len())
	}
	return showSteps(env, p.Steps, 0, asJSON)
}

func showSteps(env *cli.Env, steps []plan.Step, loops int, asJSON bool) error {
	for i := range steps {
		s := &steps[i]
		kind := string(s.Action())
		switch {
		case s.Tool == plan.ForEachFile:
			kind = "loop"
		case kind == "":
			kind = "call"
		}
		var err error
		if asJSON {
			err = diag.WriteJSON(env.Stdout, shown{s.Line, kind, s.Tool, s.Args, s.Block, s.Evidence(), loops})
		} else {
			block := ""
			if n := strings.Count(s.Block, "\n"); n > 0 {
				block = fmt.Sprintf("  [%d lines]", n)
			}
			_, err = fmt.Fprintf(env.Stdout, "%5d  %-10s %s%s%s\n", s.Line, kind, strings.Repeat("  ", loops), diag.Clean(strings.TrimRight(s.Tool+" "+s.Args, " ")), block)
		}
		if err == nil {
			err = showSteps(env, s.Body, loops+1, asJSON)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// listed is an entry as `plan list --json` prints it.
type listed struct {
	Name string `json:"name"`
	plan.Analysis
	Fault string `json:"fault,omitempty"`
}

func planList(ctx context.Context, env *cli.Env) error {
	const usage = "plan show [--json]"
	var asJSON bool
	err := env.Only("plan show", usage, func(fs *flag.FlagSet) {
		fs.BoolVar(&asJSON, "json", false, "one JSON object a line")
	})
	if err != nil {
		return err
	}
	t, err := OpenTree(ctx, env.Dir)
	if err != nil {
		return err
	}
	defer t.Close()
	r, found, err := t.registry()
	if err != nil {
		return err
	}
	diag.WriteText(env.Stderr, found)
	l := t.Linter(ctx)
	w := tabwriter.NewWriter(env.Stdout, 0, 0, 2, ' ', 0)
	for _, e := range r.Entries {
		line, err := t.describe(ctx, l, e)
		if err != nil {
			return err
		}
		switch {
		case asJSON:
			err = diag.WriteJSON(env.Stdout, line)
		case line.Fault != "":
			_, err = fmt.Fprintf(w, "%s\t%s\t%s\n", e.Name, diag.Clean(e.Path), line.Fault)
		case strings.HasSuffix(e.Path, ".udc"):
			_, err = fmt.Fprintf(w, "%s\t%s\tprogram\n", e.Name, diag.Clean(e.Path))
		default:
			_, err = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", e.Name, diag.Clean(e.Path), line.Machine, line.Complexity, line.Modality)
		}
		if err != nil {
			return err
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if diag.HasErrors(found) {
		return cli.ErrFindings
	}
	return nil
}

// describe says of an entry what its plan is, or what is wrong with it.
func (t *Tree) describe(ctx context.Context, l *plan.Linter, e plan.Entry) (listed, error) {
	line := listed{Name: e.Name, Analysis: plan.Analysis{Path: e.Path}}
	if kind, err := t.Kind(e.Path); err != nil || kind != plan.File {
		line.Fault = "there is no such file"
		return line, err
	}
	if strings.HasSuffix(e.Path, ".udc") {
		return line, nil
	}
	found, err := t.lintPlan(ctx, l, e.Path)
	if err != nil {
		return line, err
	}
	if diag.HasErrors(found) {
		line.Fault = fmt.Sprintf("%d findings: git ward plan lint %s", len(found), e.Path)
		return line, nil
	}
	line.Analysis, err = l.Analyze(e.Path)
	return line, err
}
