package checks

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"git-ward/internal/diag"
)

// The documents of knowledge_core/ (seed 002: orientation level 1,
// structured lessons). maxKnowledge bounds each of them, maxLesson a
// line of lessons.jsonl.
const (
	metaPath     = "knowledge_core/agent_meta.json"
	lessonsPath  = "knowledge_core/lessons.jsonl"
	maxKnowledge = 4 << 20
	maxLesson    = 64 << 10
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

// lesson is a line of lessons.jsonl (LES-1).
type lesson struct {
	ID     string       `json:"lesson_id"`
	TaskID string       `json:"task_id"`
	Date   string       `json:"date"`
	Lesson string       `json:"lesson"`
	Action lessonAction `json:"action"`
	Status string       `json:"status"`
	Reason string       `json:"reason"`
}

type lessonAction struct {
	Type       string         `json:"type"`
	Command    string         `json:"command"`
	Parameters map[string]any `json:"parameters"`
}

var lessonsCheck = Check{
	Name: "lessons",
	Doc:  "knowledge_core/lessons.jsonl is one lesson a line in the form of LES-1, ids unique.",
	Blob: (*Run).addedLessons,
	Tip: func(r *Run, t *Tip) error {
		d, err := r.document(t, lessonsPath, maxKnowledge)
		if d == nil || err != nil {
			return err
		}
		const rule = "lessons/schema"
		if d.deleted {
			return r.gone(d, rule)
		}
		ids := map[string]int{}
		line := 0
		for text := range bytes.Lines(d.new) {
			line++
			if !bytes.HasSuffix(text, []byte("\n")) {
				r.reportAt(d, line, rule, "the last line has no newline", "end the file with a newline")
			}
			if len(text) > maxLesson {
				r.reportAt(d, line, rule, fmt.Sprintf("the lesson has %d bytes, more than %d", len(text), maxLesson), "say it shorter")
				continue
			}
			var l lesson
			if found, ok := decode(bytes.TrimSpace(text), &l, rule, line); !ok {
				r.reportIn(d, found)
				continue
			}
			if bad := l.fault(); bad != "" {
				r.reportAt(d, line, rule, bad, "lessons have lesson_id, task_id, date, lesson, action{type}, status")
			}
			if first, twice := ids[l.ID]; twice {
				r.reportAt(d, line, rule, fmt.Sprintf("lesson_id %q stands on line %d already", l.ID, first), "give every lesson its own id")
			}
			ids[l.ID] = line
		}
		return nil
	},
}

// fault says what a lesson lacks, or "".
func (l *lesson) fault() string {
	for _, m := range []struct{ name, value string }{
		{"lesson_id", l.ID}, {"task_id", l.TaskID}, {"lesson", l.Lesson}, {"action.type", l.Action.Type},
	} {
		if strings.TrimSpace(m.value) == "" {
			return "the member " + m.name + " is missing or empty"
		}
	}
	_, dayErr := time.Parse(time.DateOnly, l.Date)
	if _, err := time.Parse(time.RFC3339, l.Date); err != nil && dayErr != nil {
		return fmt.Sprintf("the date %q is not of the form 2026-11-21 or 2026-11-21T09:00:00Z", l.Date)
	}
	switch l.Status {
	case "pending", "applied", "failed":
		return ""
	}
	return fmt.Sprintf("the status %q is not pending, applied or failed", l.Status)
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
	if change.Path != lessonsPath || len(data) > maxKnowledge {
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
