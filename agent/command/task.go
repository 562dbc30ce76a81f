package command

import (
	"context"
	"flag"
	"fmt"

	"git-ward/agent/activity"
	"git-ward/agent/orient"
	"git-ward/agent/task"
	"git-ward/agent/web"
	"git-ward/internal/cli"
	"git-ward/internal/diag"
	"git-ward/internal/worktree"
	"git-ward/protocols/plan"
)

const (
	startUsage = "task start --task-id ID [--json]"
	closeUsage = "task close --task-id ID"
)

// Task is `git ward task` (PLAN-7).
func Task(redact func(string) string) cli.Command {
	return cli.Command{Name: "task", Doc: "begin or close the work on a directive", Verbs: []cli.Command{
		{Name: "start", Doc: "orient, and log that the work begins",
			Run: func(ctx context.Context, env *cli.Env) error { return taskStart(ctx, env, redact) }},
		{Name: "close", Doc: "write the post-mortem's template, and log the end",
			Run: func(ctx context.Context, env *cli.Env) error { return taskClose(ctx, env, redact) }},
	}}
}

// openTask parses a verb's flags, and opens the log of the clone that it is called in.
func openTask(ctx context.Context, env *cli.Env, name, usage string, redact func(string) string, more func(*flag.FlagSet)) (id string, tree *worktree.Tree, log *activity.Log, err error) {
	err = env.Only(name, usage, func(fs *flag.FlagSet) {
		fs.StringVar(&id, "task-id", "", "the task's `ID`: a directive, such as D-1")
		more(fs)
	})
	switch {
	case err != nil:
	case !plan.IsName(id):
		err = env.Usage(usage, "--task-id names a task: letters, digits, dots, dashes and underscores")
	default:
		if tree, err = worktree.Find(env.Dir); err == nil {
			log, err = openLog(ctx, tree, redact)
		}
	}
	return id, tree, log, err
}

// taskStart runs the orientation and logs TASK_START. Exit 1: work may not begin.
func taskStart(ctx context.Context, env *cli.Env, redact func(string) string) error {
	var asJSON bool
	id, tree, log, err := openTask(ctx, env, "task start", startUsage, redact, func(fs *flag.FlagSet) { fs.BoolVar(&asJSON, "json", false, "JSON on one line") })
	if err != nil {
		return err
	}
	o := orient.Options{Tree: tree, Getenv: env.Getenv, Search: web.Asker(env.Getenv(web.Variable))}
	d, found, err := task.Directive(ctx, tree, id)
	if err != nil {
		return err
	}
	var begun *task.Begun
	if found {
		begun, err = task.Begin(ctx, d, o, log)
	} else {
		begun, err = task.BeginOther(ctx, id, o, log)
	}
	if err != nil {
		return err
	}
	report, known := begun.Report, begun.Known
	if asJSON {
		err = diag.WriteJSON(env.Stdout, report)
	} else {
		report.WriteText(env.Stdout)
		_, err = fmt.Fprint(env.Stdout, known.Text())
	}
	if err == nil && report.Failed() {
		return cli.ErrFindings
	}
	return err
}

// taskClose writes the post-mortem's template and logs the task's end.
func taskClose(ctx context.Context, env *cli.Env, redact func(string) string) error {
	id, tree, log, err := openTask(ctx, env, "task close", closeUsage, redact, func(*flag.FlagSet) {})
	if err != nil {
		return err
	}
	if begun, err := begun(ctx, tree, log, id, ""); err != nil || !begun {
		if err != nil {
			return err
		}
		diag.WriteText(env.Stdout, []diag.Diagnostic{notBegun(id, diag.Error, fmt.Sprintf("the task %s never began in this clone, and is not closed", id))})
		return cli.ErrFindings
	}
	path, err := task.Close(ctx, tree, id, "", log)
	if err != nil {
		return err
	}
	next := fmt.Sprintf("complete %s, commit it, and git ward lesson extract %s", path, path)
	if apart, err := tree.Apart(ctx); err != nil {
		return err
	} else if apart {
		next = fmt.Sprintf("complete %s, which only this clone has: the project has no place for it", path)
	}
	_, err = fmt.Fprintf(env.Stdout, "closed %s\nnext: %s\n", id, next)
	return err
}

// begun reports whether this clone's log has an action of a type, or any action for "". In an
// agent's clone the worker began the task, and its log is elsewhere.
func begun(ctx context.Context, tree *worktree.Tree, log *activity.Log, id string, kind activity.Type) (bool, error) {
	if dir, err := tree.RecordDir(ctx); err != nil || dir != "" {
		return err == nil, err
	}
	return log.Tells(id, kind)
}

// notBegun is the finding for a task that was not started.
func notBegun(id string, severity diag.Severity, message string) diag.Diagnostic {
	return diag.Diagnostic{Rule: "task/begin", Severity: severity, Message: message, Hint: "begin it by its orientation: git ward task start --task-id " + id}
}
