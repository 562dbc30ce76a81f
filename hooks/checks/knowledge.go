package checks

import (
	"bytes"
	"fmt"

	"git-ward/hooks/push"
	"git-ward/internal/diag"
	"git-ward/protocols/knowledge"
	"git-ward/protocols/lesson"
)

var metaCheck = Check{
	Name: "meta",
	Doc:  "knowledge_core/agent_meta.json names the agent and its limitations; orientation fails without it.",
	Tip: func(r *Run, t *Tip) error {
		d, err := r.document(t, knowledge.MetaPath, knowledge.MaxMeta)
		if d == nil || err != nil {
			return err
		}
		if d.deleted {
			return r.gone(d, "meta/schema")
		}
		_, found := knowledge.ParseMeta(d.new)
		r.reportAll(d, found)
		return nil
	},
}

var lessonsCheck = Check{
	Name: "lessons",
	Doc: "knowledge_core/lessons.jsonl is one lesson a line in the form of LES-1, ids unique; status and reason are all " +
		"that changes in a lesson, and none goes (for the PM a warning).",
	Blob: (*Run).addedLessons,
	Tip: func(r *Run, t *Tip) error {
		d, err := r.document(t, lesson.Path, lesson.MaxBytes)
		if d == nil || err != nil {
			return err
		}
		if d.deleted {
			return r.gone(d, "lessons/schema")
		}
		now, found := lesson.Parse(d.new)
		r.reportAll(d, found)
		before, old := lesson.Parse(d.old)
		if diag.HasErrors(found) || diag.HasErrors(old) {
			return nil
		}
		changed := lesson.CheckUpdate(before, now, d.new)
		if r.Principal == push.PM {
			for i := range changed {
				changed[i].Severity = diag.Warning
			}
		}
		r.reportAll(d, changed)
		return nil
	},
}

func (r *Run) reportAt(d *document, line int, rule, message, hint string) {
	r.Report(diag.Diagnostic{Pos: d.pos(line, 1), Ref: d.tip.Ref, Rule: rule, Message: message, Hint: hint})
}

func (r *Run) gone(d *document, rule string) error {
	r.reportAt(d, 0, rule, "the document is gone", "bring it back: git checkout HEAD~1 -- "+d.path)
	return nil
}

// addedLessons keeps the lines that a commit adds to lessons.jsonl, for
// refs/notes/lessons (LES-2): that ref is the agent's memory across directives,
// even when the branch is never merged.
func (r *Run) addedLessons(c *Commit, change Change, data []byte) {
	if change.Path != lesson.Path || len(data) > lesson.MaxBytes {
		return
	}
	known := map[string]bool{}
	for line := range bytes.Lines(r.before(change)) {
		known[string(bytes.TrimSpace(line))] = true
	}
	added := push.AddedLines{Commit: c.ID}
	for line := range bytes.Lines(data) {
		text := string(bytes.TrimSpace(line))
		if text != "" && !known[text] {
			known[text] = true
			added.Lines = append(added.Lines, text)
		}
	}
	if len(added.Lines) == 0 {
		return
	}
	r.result.Lessons = append(r.result.Lessons, added)
	for _, line := range added.Lines {
		r.lessonLines++
		r.lessonBytes += len(line)
	}
	if r.lessonLines > push.MaxLessonLines || r.lessonBytes > push.MaxLessonBytes {
		r.result.Lessons = nil
		r.Report(diag.Diagnostic{Pos: at(c, change.Path), Rule: "limit/lessons",
			Message: fmt.Sprintf("the push brings more than %d lessons, or %d bytes of them", push.MaxLessonLines, push.MaxLessonBytes),
			Hint:    "push fewer commits at once; a lesson is a line for people to read"})
	}
}
