package checks

import (
	"bytes"
	"fmt"

	"git-ward/hooks/push"
	"git-ward/hooks/walk"
	"git-ward/internal/diag"
	"git-ward/protocols/lesson"
)

// newLessonsCheck makes the check of one push.
func newLessonsCheck() Check {
	l := new(lessons)
	return Check{
		Name: "lessons",
		Doc: "knowledge_core/lessons.jsonl is one lesson a line in the form of LES-1, ids unique; status and reason are all " +
			"that changes in a lesson, and none goes (for the PM a warning). The agent writes those of its directive, under the id of what they say, and " +
			"none is applied but by the commit that carries it out.",
		Rules: []string{"lessons/*", "lessons/schema", "lessons/forged", "limit/lessons"},
		Blob:  l.added,
		Whole: l.forged,
		Tip:   judgeLessons, Record: judgeLessons,
	}
}

func judgeLessons(pass *Pass, t *walk.Tip) error {
	d, err := readDocument(pass, t, lesson.Path, lesson.MaxBytes)
	if d == nil || err != nil {
		return err
	}
	if d.deleted {
		d.gone("lessons/schema")
		return nil
	}
	now, found := lesson.Parse(d.new)
	d.reportAll(found)
	before, old := lesson.Parse(d.old)
	if diag.HasErrors(found) || diag.HasErrors(old) {
		return nil
	}
	changed := lesson.CheckUpdate(before, now, d.new)
	if pass.Push.Principal == push.PM {
		for i := range changed {
			changed[i].Severity = diag.Warning
		}
	}
	d.reportAll(changed)
	return nil
}

// lessons counts what a push adds to refs/notes/lessons, in total and about its own directive.
type lessons struct {
	all, own quantity
	told     bool // that its own are too many
}

type quantity struct{ lines, bytes int }

func (q *quantity) add(line string) { q.lines, q.bytes = q.lines+1, q.bytes+len(line) }

// added keeps the lines that a commit adds to lessons.jsonl for refs/notes/lessons (LES-2),
// the agents' memory across directives even if the branch is never merged.
func (l *lessons) added(pass *Pass, c *walk.Commit, change walk.Change, data []byte) {
	if change.Path != lesson.Path || len(data) > lesson.MaxBytes || !c.History.Documents() {
		return
	}
	known := map[string]bool{}
	for line := range bytes.Lines(pass.Repo.Before(change)) {
		known[string(bytes.TrimSpace(line))] = true
	}
	added := push.AddedLines{Commit: c.ID}
	for line := range bytes.Lines(data) {
		if text := string(bytes.TrimSpace(line)); text != "" && !known[text] {
			known[text] = true
			added.Lines = append(added.Lines, text)
		}
	}
	if len(added.Lines) == 0 {
		return
	}
	pass.result.Lessons = append(pass.result.Lessons, added)
	for _, line := range added.Lines {
		l.all.add(line)
	}
	if l.all.lines > push.MaxLessonLines || l.all.bytes > push.MaxLessonBytes {
		pass.result.Lessons = nil
		pass.Report(diag.Diagnostic{Pos: at(c, change.Path), Rule: "limit/lessons",
			Message: fmt.Sprintf("the push brings more than %d lessons, or %d bytes of them", push.MaxLessonLines, push.MaxLessonBytes),
			Hint:    "push fewer commits at once; a lesson is a line for people to read"})
	}
}
