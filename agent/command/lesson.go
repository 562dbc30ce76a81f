package command

import (
	"context"
	"flag"
	"fmt"
	"path/filepath"
	"strings"

	"git-ward/agent/correct"
	"git-ward/internal/cli"
	"git-ward/internal/diag"
	"git-ward/internal/worktree"
	"git-ward/protocols/lesson"
)

const (
	lessonUsage  = "lesson extract|apply|list"
	extractUsage = "lesson extract [--json] [--dry-run] POSTMORTEM.md..."
	applyUsage   = "lesson apply [--json]"
	listUsage    = "lesson list [--json] [--all]"
)

// Lesson is `git ward lesson`: the loop from a post-mortem to a changed protocol
// (LES-1, LES-2).
var Lesson = cli.Verbs("lesson", lessonUsage, map[string]cli.Func{
	"extract": extract,
	"apply":   apply,
	"list":    list,
})

// extract is `git ward lesson extract`: it records the lessons of post-mortems by
// a commit of lessons.jsonl.
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
			return cli.Hint(err, "name a post-mortem of this working tree, such as postmortems/2026-11-21-D-1.md")
		}
		list, bad := lesson.Extract(path, data)
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
	n, err := correct.Record(ctx, tree, strings.Join(args, " "), all)
	if err == nil && !asJSON {
		fmt.Fprintf(env.Stdout, "recorded %d new of %d in %s\n", n, len(all), lesson.Path)
	}
	return err
}

// apply is `git ward lesson apply`.
func apply(ctx context.Context, env *cli.Env) error {
	var asJSON bool
	args, err := env.Flags("lesson apply", applyUsage, func(fs *flag.FlagSet) {
		fs.BoolVar(&asJSON, "json", false, "the lessons as lines of JSON")
	})
	if err != nil {
		return err
	}
	if len(args) > 0 {
		return env.Usage(applyUsage, "unexpected argument %q", args[0])
	}
	tree, err := worktree.Find(env.Dir)
	if err != nil {
		return err
	}
	applied, failed := 0, 0
	err = correct.Apply(ctx, tree, func(d correct.Done) {
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
	switch {
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

// list is `git ward lesson list`.
func list(ctx context.Context, env *cli.Env) error {
	var asJSON, all bool
	args, err := env.Flags("lesson list", listUsage, func(fs *flag.FlagSet) {
		fs.BoolVar(&asJSON, "json", false, "one JSON object a line")
		fs.BoolVar(&all, "all", false, "with those of other branches, from "+correct.NotesRef)
	})
	if err != nil {
		return err
	}
	if len(args) > 0 {
		return env.Usage(listUsage, "unexpected argument %q", args[0])
	}
	tree, err := worktree.Find(env.Dir)
	if err != nil {
		return err
	}
	known := correct.Known
	if !all {
		known = correct.Own
	}
	lessons, err := known(ctx, tree)
	if err != nil {
		return err
	}
	printLessons(env, lessons, asJSON)
	return nil
}

// printLessons prints them as lines of lessons.jsonl, or for people.
func printLessons(env *cli.Env, list []lesson.Lesson, asJSON bool) {
	if asJSON {
		env.Stdout.Write(lesson.Format(list))
		return
	}
	for _, l := range list {
		fmt.Fprintf(env.Stdout, "%s %s %s: %s\n", l.ID, l.Status, diag.Clean(l.TaskID), correct.Summary(l.Action))
		fmt.Fprintf(env.Stdout, "  %s\n", diag.Clean(l.Lesson))
		if l.Reason != "" {
			fmt.Fprintf(env.Stdout, "  reason: %s\n", diag.Clean(l.Reason))
		}
	}
}
