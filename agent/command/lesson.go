package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"git-ward/agent/activity"
	"git-ward/agent/correct"
	"git-ward/internal/cli"
	"git-ward/internal/diag"
	"git-ward/internal/worktree"
	"git-ward/protocols/lesson"
)

const (
	extractUsage = "lesson extract [--json] [--dry-run] POSTMORTEM.md..."
	applyUsage   = "lesson apply [--json]"
	listUsage    = "lesson list [--json] [--all]"
	mergeUsage   = "lesson merge BASE OURS THEIRS"
)

// Lesson is `git ward lesson`: the loop from a post-mortem to a changed protocol
// (LES-1, LES-2).
var Lesson = cli.Command{Name: "lesson", Doc: "turn post-mortems into lessons, and lessons into commits", Verbs: []cli.Command{
	{Name: "extract", Doc: "record the lessons of post-mortems", Run: extract},
	{Name: "apply", Doc: "change the protocols as the lessons say, a commit a lesson", Run: apply},
	{Name: "list", Doc: "list the lessons of this branch, or of all", Run: list},
	{Name: "merge", Doc: "merge two versions of lessons.jsonl, as git's merge driver", Hidden: true, Run: merge},
}}

// extract is `git ward lesson extract`: it commits the lessons of post-mortems to
// lessons.jsonl.
func extract(ctx context.Context, env *cli.Env) error {
	var asJSON, dry bool
	args, err := env.Flags("lesson extract", extractUsage, func(fs *flag.FlagSet) {
		fs.BoolVar(&asJSON, "json", false, "the lessons as lines of JSON")
		fs.BoolVar(&dry, "dry-run", false, "print them and record nothing")
	})
	if err != nil {
		return err
	}
	if len(args) == 0 {
		return env.Usage(extractUsage, "extract takes post-mortems")
	}
	tree, err := worktree.Find(env.Dir)
	if err != nil {
		return err
	}
	var all []lesson.Lesson
	var found []diag.Diagnostic
	for _, arg := range args {
		path, err := filepath.Rel(tree.Dir, env.Path(arg))
		if err != nil {
			return err
		}
		path = filepath.ToSlash(path)
		data, err := tree.Read(path, lesson.MaxPostMortem)
		if err != nil {
			return diag.Hint(err, "name a post-mortem of this working tree, such as postmortems/2026-11-21-D-1.md")
		}
		list, bad := lesson.Extract(path, data)
		if len(bad) == 0 && lesson.IsTemplate(data) {
			bad = []diag.Diagnostic{{Pos: diag.Pos{Path: path}, Rule: lesson.RuleEmpty, Severity: diag.Error, Message: "the post-mortem is as its template was, and has no lessons", Hint: lesson.EmptyHint}}
		}
		all, found = append(all, list...), append(found, bad...)
	}
	if len(found) > 0 {
		diag.WriteText(env.Stdout, diag.Normalize(found))
		return cli.ErrFindings
	}
	printLessons(env, all, asJSON)
	if dry {
		return nil
	}
	return recordLessons(ctx, env, tree, all, strings.Join(args, " "), asJSON)
}

// recordLessons commits lessons to a person's branch, or writes them to an agent's .ward
// directory.
func recordLessons(ctx context.Context, env *cli.Env, tree *worktree.Tree, all []lesson.Lesson, from string, asJSON bool) error {
	where, err := tree.RecordPath(ctx, lesson.Path)
	if err != nil {
		return err
	}
	var n int
	if where == lesson.Path {
		n, err = correct.Record(ctx, tree, from, all)
	} else {
		n, err = correct.Note(ctx, tree, all)
	}
	if err == nil && !asJSON {
		fmt.Fprintf(env.Stdout, "recorded %d new of %d in %s\n", n, len(all), where)
	}
	return err
}

// apply is `git ward lesson apply`.
func apply(ctx context.Context, env *cli.Env) error {
	var asJSON bool
	err := env.Only("lesson apply", applyUsage, func(fs *flag.FlagSet) {
		fs.BoolVar(&asJSON, "json", false, "the lessons as lines of JSON")
	})
	if err != nil {
		return err
	}
	tree, err := worktree.Find(env.Dir)
	if err != nil {
		return err
	}
	if dir, err := tree.RecordDir(ctx); err != nil {
		return err
	} else if dir != "" {
		_, err = fmt.Fprintln(env.Stdout, "lessons are carried out when the unit ends, on a branch that begins at control: nothing to do here")
		return err
	}
	log, err := openLog(ctx, tree, nil)
	if err != nil {
		return err
	}
	applied, failed := 0, 0
	var logErr error
	err = correct.Apply(ctx, tree, func(d correct.Done) {
		logErr = errors.Join(logErr, log.Append(logged(d)))
		if d.Lesson.Status == lesson.Failed {
			failed++
		} else {
			applied++
		}
		printLessons(env, []lesson.Lesson{d.Lesson}, asJSON)
		if !asJSON {
			fmt.Fprintf(env.Stdout, "  commit %s: %s\n", diag.Short(d.Commit), strings.Join(d.Files, " "))
		}
	})
	switch err = errors.Join(err, logErr); {
	case err != nil:
		return err
	case asJSON:
	case applied+failed == 0:
		fmt.Fprintln(env.Stdout, "no lesson is pending: nothing to do")
	default:
		fmt.Fprintf(env.Stdout, "applied %d, failed %d\nnext: git push origin HEAD; a change of protocols/ is the PM's to merge\n", applied, failed)
	}
	if failed > 0 {
		return cli.ErrFindings
	}
	return nil
}

// logged is the entry of the activity log for a lesson (LOG-1).
func logged(d correct.Done) activity.Entry {
	e := activity.Entry{
		ID: activity.UUID(d.Commit), Phase: "EXECUTING", Task: activity.Task{ID: d.Lesson.TaskID},
		Action: activity.Action{Type: activity.FileWrite, Details: map[string]any{
			"lesson": d.Lesson.ID, "action": correct.Summary(d.Lesson.Action), "files": d.Files, "commit": d.Commit}},
		Outcome: activity.Outcome{Status: activity.Success, Message: string(d.Lesson.Status)},
	}
	if d.Lesson.Action.Type == lesson.CodeChange {
		e.Task.Step = d.Lesson.PlanPath() + "#1"
	}
	if d.Lesson.Status == lesson.Failed {
		e.Outcome.Status, e.Outcome.Error = activity.Failure, d.Lesson.Reason.String()
	}
	return e
}

// list is `git ward lesson list`.
func list(ctx context.Context, env *cli.Env) error {
	var asJSON, all bool
	err := env.Only("lesson list", listUsage, func(fs *flag.FlagSet) {
		fs.BoolVar(&asJSON, "json", false, "one JSON object a line")
		fs.BoolVar(&all, "all", false, "with those of other branches, from "+lesson.Ref)
	})
	if err != nil {
		return err
	}
	tree, err := worktree.Find(env.Dir)
	if err != nil {
		return err
	}
	var lessons []lesson.Lesson
	var left correct.Left
	if all {
		lessons, left, err = correct.Known(ctx, tree)
	} else {
		lessons, err = correct.Present(ctx, tree)
	}
	if err != nil {
		return err
	}
	if len(left) > 0 {
		fmt.Fprintln(env.Stderr, "git-ward: older lessons are not listed, by pushes or notes:", diag.Clean(left.String()))
	}
	printLessons(env, lessons, asJSON)
	return nil
}

// merge is `git ward lesson merge`, git's merge driver for lessons.jsonl
// (gitattributes(5), "Defining a custom merge driver"): it joins two versions by
// id into OURS. Exit 1 leaves the conflict to git.
func merge(_ context.Context, env *cli.Env) error {
	args, err := env.Flags("lesson merge", mergeUsage, func(*flag.FlagSet) {})
	if err != nil {
		return err
	}
	if len(args) != 3 {
		return env.Usage(mergeUsage, "merge takes three files; git calls it for %s", lesson.Path)
	}
	var versions [2][]byte
	for i, arg := range args[1:] {
		if versions[i], err = os.ReadFile(env.Path(arg)); err != nil {
			return err
		}
	}
	merged, err := lesson.MergeFiles(versions[0], versions[1])
	if err != nil {
		fmt.Fprintf(env.Stderr, "git-ward: error: %s\n", diag.Clean(err.Error()))
		return cli.ErrFindings
	}
	return os.WriteFile(env.Path(args[1]), merged, 0o644)
}

// printLessons prints them as lines of lessons.jsonl, or for people.
func printLessons(env *cli.Env, list []lesson.Lesson, asJSON bool) {
	if asJSON {
		env.Stdout.Write(diag.EscapeJSON(lesson.Format(list)))
		return
	}
	for _, l := range list {
		fmt.Fprintf(env.Stdout, "%s %s %s: %s\n", l.ID, l.Status, diag.Clean(l.TaskID), correct.Summary(l.Action))
		fmt.Fprintf(env.Stdout, "  %s\n", l.Lesson)
		if l.Reason != "" {
			fmt.Fprintf(env.Stdout, "  reason: %s\n", l.Reason)
		}
	}
}
