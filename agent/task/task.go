// Package task begins and ends the work on a task, which is a directive (PLAN-7):
// orientation and TASK_START at the one end, POST_MORTEM, TASK_END and the file
// of the post-mortem at the other, and between them the query of what the
// repository knows about the task.
package task

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"git-ward/agent/activity"
	"git-ward/agent/lookup"
	"git-ward/agent/orient"
	"git-ward/internal/diag"
	"git-ward/internal/worktree"
	"git-ward/protocols/lesson"
)

// Start runs the orientation cascade and logs TASK_START. The work may not begin
// when the report has failed.
func Start(ctx context.Context, id string, o orient.Options, log *activity.Log) (*orient.Report, error) {
	o.Task = id
	report, err := orient.Run(ctx, o)
	if err != nil {
		return nil, err
	}
	e := activity.Entry{Phase: "ORIENTING", Task: activity.Task{ID: id}, Action: activity.Action{Type: activity.TaskStart, Details: map[string]any{"problems": report.Problems}},
		Outcome: activity.Outcome{Status: activity.Success, Message: "oriented"}}
	if report.Failed() {
		e.Outcome = activity.Outcome{Status: activity.Failure, Error: strings.Join(report.Problems, "; ")}
	}
	if report.Identity != nil {
		e.Evidence = []string{"knowledge_core/agent_meta.json"}
		e.Action.Details["agent"] = report.Identity.Name
	}
	if err := log.Append(e); err != nil {
		return nil, err
	}
	return report, logSearches(id, report, log)
}

// logSearches logs each search: on the web as a search, in the repository as reading.
func logSearches(id string, report *orient.Report, log *activity.Log) error {
	write := func(kind activity.Type, from, query string, hits []lookup.Hit, trouble string) error {
		e := activity.Entry{Phase: "ORIENTING", Task: activity.Task{ID: id}, Action: activity.Action{Type: kind, Details: map[string]any{"query": query, "from": from, "found": len(hits)}},
			Outcome: activity.Outcome{Status: activity.Success, Message: "looked for"}}
		for _, h := range hits {
			e.Evidence = append(e.Evidence, h.Place)
		}
		if trouble != "" {
			e.Outcome = activity.Outcome{Status: activity.Failure, Error: trouble}
		}
		return log.Append(e)
	}
	var err error
	if report.About != nil {
		err = write(activity.FileRead, "the task", report.About.Question, report.About.Hits, "")
	}
	for _, u := range report.Unknowns {
		err = errors.Join(err, write(activity.FileRead, u.From, u.Text, u.Hits, ""))
		if u.Asked {
			err = errors.Join(err, write(activity.ExternalRAGQuery, u.From, u.Text, nil, u.Error))
		}
	}
	return err
}

// PostMortemPath is where the post-mortem of a task is.
func PostMortemPath(date time.Time, id string) string {
	return "postmortems/" + date.UTC().Format(time.DateOnly) + "-" + id + ".md"
}

// WritePostMortem writes the template of a task's post-mortem into a file of the working
// tree, where there is none yet. It is for its author to complete.
func WritePostMortem(tree *worktree.Tree, path, id string, date time.Time, summary string) error {
	if _, err := tree.Read(path, lesson.MaxPostMortem); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	text := fmt.Sprintf(`# Post-mortem of %s

**Task ID:** %s
**Date:** %s

## 1. What was done

%s

## 2. What went well

## 3. What went wrong, and why

## 4. %s

`, id, id, date.UTC().Format(time.DateOnly), strings.TrimSpace(summary), lesson.Section)
	return tree.Write(path, []byte(text))
}

// Paper writes the template of a task's post-mortem where it belongs, and returns its path:
// in the working tree, or for a project that knows nothing of Ward in the clone's git
// directory, with an absolute path.
func Paper(ctx context.Context, tree *worktree.Tree, id string, date time.Time, summary string) (string, error) {
	path, err := tree.RecordPath(ctx, PostMortemPath(date, id))
	if err != nil {
		return "", err
	}
	apart, err := tree.Apart(ctx)
	if err != nil {
		return "", err
	}
	if !apart {
		return path, WritePostMortem(tree, path, id, date, summary)
	}
	repo, err := tree.Repo(ctx)
	if err != nil {
		return "", err
	}
	own := &worktree.Tree{Dir: repo.Dir}
	path = "ward/" + path
	return filepath.Join(repo.Dir, filepath.FromSlash(path)), WritePostMortem(own, path, id, date, summary)
}

// Close logs POST_MORTEM and TASK_END and writes the post-mortem's template.
func Close(ctx context.Context, tree *worktree.Tree, id, summary string, log *activity.Log) (string, error) {
	path, err := Paper(ctx, tree, id, time.Now(), summary)
	if err != nil {
		return "", err
	}
	return path, closed(id, path, log)
}

// closed logs POST_MORTEM and TASK_END.
func closed(id, path string, log *activity.Log) (err error) {
	for _, kind := range []activity.Type{activity.PostMortem, activity.TaskEnd} {
		err = errors.Join(err, log.Append(activity.Entry{Phase: "FINALIZING", Task: activity.Task{ID: id},
			Action:  activity.Action{Type: kind, Details: map[string]any{"path": path}},
			Outcome: activity.Outcome{Status: activity.Success, Message: "the post-mortem is " + diag.Clean(path)}, Evidence: []string{path}}))
	}
	return err
}
