package command

import (
	"context"
	"flag"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"text/tabwriter"

	"git-ward/internal/cli"
	"git-ward/internal/diag"
	"git-ward/protocols/plan"
	"git-ward/protocols/record"
)

// Plan is `git ward plan`; the commands that execute plans are another room's and
// are added by the caller.
func Plan(more ...cli.Command) cli.Func {
	return cli.Dispatch("git ward plan", "Plans: what an agent means to do, checked before it does it.", []cli.Group{
		{Title: "on the files of this working tree", Commands: append([]cli.Command{
			{Name: "grammar", Doc: "print how a plan is written, with an example", Run: planGrammar},
			{Name: "lint", Doc: "check plans: grammar, machine, files, calls", Run: planLint},
			{Name: "analyze", Doc: "say how a plan grows, and whether it writes", Run: planAnalyze},
			{Name: "show", Doc: "print a plan's steps with their types", Run: planShow},
			{Name: "list", Doc: "list the registered plans", Run: planList},
			{Name: "register", Doc: "give a plan a name", Run: planRegister},
			{Name: "deregister", Doc: "take a plan's name back", Run: planDeregister},
		}, more...)},
	})
}

// planGrammar prints what whoever writes plans has to know, without any repository.
func planGrammar(_ context.Context, env *cli.Env) error {
	const usage = "plan grammar [--schema|--example]"
	var schema, example bool
	args, err := env.Flags("plan grammar", usage, func(fs *flag.FlagSet) {
		fs.BoolVar(&schema, "schema", false, "the JSON Schema of a plan, for a tool that models call")
		fs.BoolVar(&example, "example", false, "one whole plan and nothing else")
	})
	switch {
	case err != nil:
		return err
	case len(args) > 0 || schema && example:
		return env.Usage(usage, "grammar takes one option, and no argument")
	case schema:
		_, err = fmt.Fprintf(env.Stdout, "%s\n", plan.Schema())
	case example:
		_, err = fmt.Fprint(env.Stdout, plan.Example())
	default:
		_, err = fmt.Fprint(env.Stdout, plan.Grammar())
	}
	return err
}

// answer is what `plan lint --json` prints.
type answer struct {
	Plans    int               `json:"plans"`
	Count    int               `json:"count"`
	Findings []diag.Diagnostic `json:"findings"`
}

func planLint(ctx context.Context, env *cli.Env) error {
	const usage = "plan lint [--json] [--model A|B] [FILE...]"
	var asJSON bool
	var model string
	args, err := env.Flags("plan lint", usage, func(fs *flag.FlagSet) {
		fs.BoolVar(&asJSON, "json", false, "JSON on one line")
		fs.StringVar(&model, "model", "", "hold all plans to a CSDC `model`, A or B, whatever they say")
	})
	switch {
	case err != nil:
		return err
	case model != "" && model != "A" && model != "B":
		return env.Usage(usage, "--model is A or B, not %q", model)
	}
	t, err := OpenTree(ctx, env.Dir)
	if err != nil {
		return err
	}
	defer t.Close()
	paths, err := t.plans(ctx, env, args)
	if err != nil {
		return err
	}
	found, err := t.lint(ctx, paths, len(args) == 0, model)
	if err != nil {
		return err
	}
	if asJSON {
		err = diag.WriteJSON(env.Stdout, answer{len(paths), len(found), append([]diag.Diagnostic{}, found...)})
	} else {
		diag.WriteText(env.Stdout, found)
	}
	if err == nil && diag.HasErrors(found) {
		err = cli.ErrFindings
	}
	return err
}

// plans are the plans that were named, or all of the tree's.
func (t *Tree) plans(ctx context.Context, env *cli.Env, args []string) (paths []string, err error) {
	for _, arg := range args {
		path, err := t.rel(env, arg)
		if err != nil {
			return nil, err
		}
		paths = append(paths, path)
	}
	if len(args) > 0 {
		return paths, nil
	}
	files, err := t.Files(ctx)
	if err != nil {
		return nil, err
	}
	for _, path := range slices.Compact(slices.Sorted(slices.Values(append(files, t.papers()...)))) {
		if kind, _ := t.Kind(path); kind == plan.File && plan.IsPlan(strings.TrimPrefix(path, record.Dir+"/")) {
			paths = append(paths, path)
		}
	}
	return paths, nil
}

// papers are the files of the unit's record in an agent's clone, which git does not list.
func (t *Tree) papers() (list []string) {
	if t.repo == nil {
		return nil
	}
	fs.WalkDir(t.root.FS(), record.Dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			list = append(list, path)
		}
		return nil // what cannot be read is nobody's plan
	})
	return list
}

// lint lints plans, and with all the registry besides.
func (t *Tree) lint(ctx context.Context, paths []string, all bool, model string) (found []diag.Diagnostic, err error) {
	l := t.Linter(ctx)
	l.Model = model
	if t.repo == nil {
		found = append(found, t.outside(all))
	}
	for _, path := range paths {
		some, err := t.lintPlan(ctx, l, path)
		if err != nil {
			return nil, err
		}
		found = append(found, some...)
	}
	if all {
		r, some, err := t.registry()
		if err != nil {
			return nil, err
		}
		targets, err := plan.CheckTargets(r, t)
		if err != nil {
			return nil, err
		}
		found = append(append(found, some...), targets...)
	}
	return diag.Normalize(found), nil
}

// outside is the finding of a lint where there is no repository: a warning for files that are
// named, which can be read all the same.
func (t *Tree) outside(all bool) diag.Diagnostic {
	d := diag.Diagnostic{Rule: "plan/repository", Severity: diag.Warning, Message: t.Top + " is in no repository: files and registered plans are those of this directory",
		Hint: "go to a clone of the project: git ward clone URL DIR"}
	if all {
		d.Severity, d.Message = diag.Error, t.Top+" is in no repository, whose plans could be linted"
		d.Hint += "; or name a plan's file"
	}
	return d
}

func planAnalyze(ctx context.Context, env *cli.Env) error {
	const usage = "plan analyze [--json] FILE|NAME..."
	var asJSON bool
	args, err := env.Flags("plan analyze", usage, func(fs *flag.FlagSet) {
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
	hint := "`git ward plan list` lists the registered plans"
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
	const usage = "plan show [--json] FILE|NAME"
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
	const usage = "plan list [--json]"
	var asJSON bool
	args, err := env.Flags("plan list", usage, func(fs *flag.FlagSet) {
		fs.BoolVar(&asJSON, "json", false, "one JSON object a line")
	})
	if err != nil {
		return err
	}
	if len(args) > 0 {
		return env.Usage(usage, "unexpected argument %q", args[0])
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
