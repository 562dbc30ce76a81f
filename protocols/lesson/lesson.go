package lesson

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"git-ward/internal/diag"
	"git-ward/protocols/charter"
	"git-ward/protocols/mergediff"
	"git-ward/protocols/plan"
)

// Path is the file of lessons in a repository.
const Path = "knowledge_core/lessons.jsonl"

// Ref holds the lessons of all branches, merged or not, each on the commit that added it (LES-2). Only
// the host writes it (HOOK-5).
const Ref = "refs/notes/lessons"

// Limits: bytes of the file, and of one line.
const (
	MaxBytes = 4 << 20
	MaxLine  = 64 << 10
)

// Trailer names, in a commit's message, the lesson that the commit carries out.
const Trailer = "Ward-Lesson"

// TrailerOf names, in the message of a commit of notes, the directive whose lessons it brings.
const TrailerOf = "Ward-Lessons-Of"

// Lesson is a line of lessons.jsonl. Two lessons of one id are the same in all
// but Status and Reason, and can be compared with ==.
type Lesson struct {
	ID     string         `json:"lesson_id"`
	TaskID string         `json:"task_id"` // of the directive, "D-1"
	Date   string         `json:"date"`    // 2026-11-21, or RFC 3339
	Lesson diag.Untrusted `json:"lesson"`
	Action Action         `json:"action"`
	Status Status         `json:"status"`
	Reason diag.Untrusted `json:"reason"`
}

// Action is what a program is to do.
type Action struct {
	Type       Type       `json:"type"`
	Command    string     `json:"command"`
	Parameters Parameters `json:"parameters"`
}

// Type is the kind of an action.
type Type string

// The kinds.
const (
	UpdateProtocol Type = "UPDATE_PROTOCOL"     // Command is a charter.Op
	CodeChange     Type = "PROPOSE_CODE_CHANGE" // Command is DiffTool
	None           Type = "none"                // nothing that a program understands
)

// DiffTool is the tool of the plan that a code change becomes.
const DiffTool = plan.ReplaceDiff

// Parameters are those that the action's command needs, and no others.
type Parameters struct {
	Protocol    string `json:"protocol_id,omitzero"`
	Tool        string `json:"tool_name,omitzero"`
	Rule        string `json:"rule_id,omitzero"`
	Description string `json:"new_description,omitzero"`
	File        string `json:"filepath,omitzero"`
	Diff        string `json:"diff,omitzero"`
	Text        string `json:"text,omitzero"` // of an action that nobody understands
}

// Status is the state of a lesson.
type Status string

// The statuses.
const (
	Pending Status = "pending"
	Applied Status = "applied"
	Failed  Status = "failed"
	Noted   Status = "noted"
)

// Same reports whether two lines are the same lesson, whatever their status.
func (l Lesson) Same(other Lesson) bool {
	l.Status, l.Reason = other.Status, other.Reason
	return l == other
}

// ContentID is the id of a lesson, made of what it says and of the directive that learnt it.
func (l Lesson) ContentID() string {
	l.ID, l.Status, l.Reason = "", "", ""
	sum := sha256.Sum256(l.line())
	return "L-" + hex.EncodeToString(sum[:6])
}

// line is the lesson as a line of lessons.jsonl, without the line end.
func (l Lesson) line() []byte {
	b, err := json.Marshal(l)
	if err != nil {
		panic(err) // strings only, and Parse and Extract take valid UTF-8 only
	}
	return b
}

// fault says what is wrong with a lesson, and how to mend it; "" when nothing is.
func (l Lesson) fault() (message, hint string) {
	const members = "lessons have lesson_id, task_id, date, lesson, action{type, command, parameters}, status, reason"
	for _, m := range []struct{ name, value string }{
		{"lesson_id", l.ID}, {"task_id", l.TaskID}, {"lesson", l.Lesson.Raw()}, {"action.type", string(l.Action.Type)},
	} {
		if strings.TrimSpace(m.value) == "" {
			return "the member " + m.name + " is missing or empty", members
		}
	}
	if !charter.IsID(l.ID) {
		return fmt.Sprintf("%q is not the id of a lesson", clip(l.ID)), "a letter, then letters, digits, dots, dashes and underscores"
	}
	if !isDate(l.Date) {
		return fmt.Sprintf("the date %q is not of the form 2026-11-21 or 2026-11-21T09:00:00Z", clip(l.Date)), members
	}
	switch l.Status {
	case Pending, Applied, Failed, Noted:
	default:
		return fmt.Sprintf("the status %q is not pending, applied, failed or noted", clip(string(l.Status))), "a new lesson is pending"
	}
	return l.Action.fault()
}

func isDate(s string) bool {
	_, day := time.Parse(time.DateOnly, s)
	_, moment := time.Parse(time.RFC3339, s)
	return day == nil || moment == nil
}

// fault says what an action lacks, or has too much of.
func (a Action) fault() (message, hint string) {
	p := a.Parameters
	var want Parameters
	switch {
	case a.Type == None && a.Command == "":
		want = Parameters{Text: p.Text}
	case a.Type == UpdateProtocol && (a.Command == string(charter.AddTool) || a.Command == string(charter.RemoveTool)):
		want = Parameters{Protocol: p.Protocol, Tool: p.Tool}
		if p.Protocol == "" || p.Tool == "" {
			return "the action lacks protocol_id or tool_name", "add it to action.parameters"
		}
	case a.Type == UpdateProtocol && a.Command == string(charter.UpdateRule):
		want = Parameters{Protocol: p.Protocol, Rule: p.Rule, Description: p.Description}
		if p.Protocol == "" || p.Rule == "" || p.Description == "" {
			return "the action lacks protocol_id, rule_id or new_description", "add it to action.parameters"
		}
	case a.Type == CodeChange && a.Command == DiffTool:
		want = Parameters{File: p.File, Diff: p.Diff}
		if bad := badTarget(p.File); bad != "" {
			return fmt.Sprintf("the path %q %s", clip(p.File), bad), "a code change names a file of the repository, protocols apart"
		}
		if _, err := mergediff.Parse(p.Diff); err != nil {
			return fmt.Sprintf("the diff is no merge diff: %v", err), "hunks are <<<<<<< SEARCH, lines, =======, lines, >>>>>>> REPLACE"
		}
	default:
		return fmt.Sprintf("there is no action %q with the command %q", clip(string(a.Type)), clip(a.Command)),
			"UPDATE_PROTOCOL has add-tool, remove-tool and update-rule; PROPOSE_CODE_CHANGE has " + DiffTool + "; none has no command"
	}
	if p != want {
		return "the action has parameters that its command does not take", "leave them out"
	}
	return "", ""
}

// clip keeps text of a file short in a message.
func clip(s string) string { return diag.Cut(s, 80) }

// Format writes lessons.jsonl.
func Format(list []Lesson) []byte {
	var b bytes.Buffer
	for _, l := range list {
		b.Write(l.line())
		b.WriteByte('\n')
	}
	return b.Bytes()
}
