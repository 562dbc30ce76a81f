package checks

import (
	"bytes"

	"git-ward/internal/diag"
	"git-ward/protocols/lesson"
)

// The documents of knowledge_core/ (seed 002: orientation level 1; the plan registry is
// package plan's, structured lessons are package lesson's). maxKnowledge bounds each.
const (
	metaPath     = "knowledge_core/agent_meta.json"
	maxKnowledge = 4 << 20
)

// agentMeta is agent_meta.json: who the agent is and what it cannot do. Nil
// means a required member that is missing.
type agentMeta struct {
	Name         *string   `json:"name"`
	Description  string    `json:"description"`
	Version      string    `json:"version"`
	Capabilities []string  `json:"capabilities"`
	Limitations  *[]string `json:"limitations"`
}

var metaCheck = Check{
	Name: "meta",
	Doc:  "knowledge_core/agent_meta.json names the agent and its limitations; orientation fails without it.",
	Tip: func(r *Run, t *Tip) error {
		d, err := r.document(t, metaPath, maxKnowledge)
		if d == nil || err != nil {
			return err
		}
		const rule = "meta/schema"
		if d.deleted {
			return r.gone(d, rule)
		}
		var meta agentMeta
		if found, ok := decode(d.new, &meta, rule, 1); !ok {
			r.reportIn(d, found)
			return nil
		}
		if meta.Name == nil || *meta.Name == "" {
			r.reportAt(d, 1, rule, "the member /name is missing or empty", `add "name": "..."`)
		}
		if meta.Limitations == nil {
			r.reportAt(d, 1, rule, "the member /limitations is missing", `add "limitations": ["..."]`)
		}
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
		if r.Principal == PM {
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

func (r *Run) reportIn(d *document, found diag.Diagnostic) {
	r.Report(d.place([]diag.Diagnostic{found})[0])
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
	added := AddedLines{Commit: c.ID}
	for line := range bytes.Lines(data) {
		text := string(bytes.TrimSpace(line))
		if text != "" && !known[text] {
			known[text] = true
			added.Lines = append(added.Lines, text)
		}
	}
	if len(added.Lines) > 0 {
		r.result.Lessons = append(r.result.Lessons, added)
	}
}
