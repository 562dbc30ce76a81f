package command

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"git-ward/internal/cli"
	"git-ward/internal/diag"
	"git-ward/internal/export"
	"git-ward/protocols/plan"
	"git-ward/protocols/record"
)

// Plan is `git ward plan`; the commands that execute plans are another room's and
// are added by the caller.
func Plan(more ...cli.Command) cli.Command {
	return cli.Command{Name: "plan", Doc: "check, show, name and run plans",
		Title: "on the files of this working tree",
		Verbs: append([]cli.Command{
			{Name: "lint", Doc: "check plans: grammar, machine, files, calls", Run: planLint, Ways: []cli.Way{
				{Switch: "grammar", Doc: "print how a plan is written, with an example", Run: planGrammar},
				{Switch: "analyze", Doc: "say how a plan grows, and whether it writes", Run: planAnalyze}}},
			{Name: "show", Doc: "print a plan's steps with their types, or list the registered plans", Run: planShow, Ways: []cli.Way{{Run: planList}}},
			{Name: "register", Doc: "give a plan a name; --remove: take it back", Run: planRegister,
				Ways: []cli.Way{{Switch: "remove", Doc: "take a plan's name back", Run: planDeregister}}},
		}, more...)}
}

// planGrammar prints the grammar of plans; it needs no repository.
func planGrammar(_ context.Context, env *cli.Env) error {
	const usage = "plan lint --grammar [--schema|--example]"
	var schema, example bool
	args, err := env.Flags("plan lint", usage, func(fs *flag.FlagSet) {
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
	const usage = "plan lint [--json] [--format FORMAT] [--model A|B] [FILE...]"
	var format export.Format
	var model string
	args, err := env.Flags("plan lint", usage, func(fs *flag.FlagSet) {
		format.Flags(fs)
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
	switch {
	case format.Foreign():
		r := export.Report{Name: "git ward plan lint", Version: cli.Version, Findings: found, Cases: export.Grouped("plans", paths, found, func(d diag.Diagnostic) string { return cmp.Or(d.Path, d.Rule) })}
		err = r.Write(env.Stdout, format)
	case format == export.JSON:
		err = diag.WriteJSON(env.Stdout, answer{len(paths), len(found), append([]diag.Diagnostic{}, found...)})
	default:
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
	for _, path := range slices.Compact(slices.Sorted(slices.Values(append(files, t.recordFiles()...)))) {
		if kind, _ := t.Kind(path); kind == plan.File && plan.IsPlan(strings.TrimPrefix(path, record.Dir+"/")) {
			paths = append(paths, path)
		}
	}
	return paths, nil
}

// recordFiles are the files of the unit's record in an agent's clone, which git ignores.
func (t *Tree) recordFiles() (list []string) {
	if t.repo == nil {
		return nil
	}
	fs.WalkDir(t.root.FS(), record.Dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			list = append(list, path)
		}
		return nil // an unreadable file is not a plan
	})
	return list
}

// lint lints plans, and the registry if all are linted.
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

// outside is the finding of a lint outside a repository: a warning if files are named, because
// those can be read.
func (t *Tree) outside(all bool) diag.Diagnostic {
	d := diag.Diagnostic{Rule: "plan/repository", Severity: diag.Warning, Message: t.Top + " is in no repository: files and registered plans are those of this directory",
		Hint: "go to a clone of the project: git ward clone URL DIR"}
	if all {
		d.Severity, d.Message = diag.Error, t.Top+" is in no repository, whose plans could be linted"
		d.Hint += "; or name a plan's file"
	}
	return d
}
