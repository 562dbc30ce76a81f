// Package activity is the log of what the agent does: one JSON object a line in
// activity.log.jsonl, in the form of schema.json (LOG-1). A line is appended with
// one write and made durable before the caller goes on.
//
// The log stays on the machine: logs/ is never committed. What it says of a plan's
// steps can be had again from the commits that carry Ward-Step.
package activity

import (
	"bytes"
	"crypto/rand"
	"crypto/sha1"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"git-ward/internal/diag"
)

// Schema is the JSON Schema of a line.
//
//go:embed schema.json
var Schema []byte

// Name is the log's file name, below a folder logs/.
const Name = "activity.log.jsonl"

const (
	maxLine = 64 << 10 // of a line; longer texts are cut
	maxText = 4 << 10  // of one text in it
	maxFile = 64 << 20 // before it goes to activity.log.jsonl.1
	tail    = 1 << 20  // that Has looks at
)

// Type is what kind of action a line is about.
type Type string

// The types of LOG-1.
const (
	TaskStart        Type = "TASK_START"
	FileRead         Type = "FILE_READ"
	FileWrite        Type = "FILE_WRITE"
	ToolExec         Type = "TOOL_EXEC"
	ExternalRAGQuery Type = "EXTERNAL_RAG_QUERY"
	PlanUpdate       Type = "PLAN_UPDATE"
	CriticFeedback   Type = "CRITIC_FEEDBACK"
	PostMortem       Type = "POST_MORTEM"
	TaskEnd          Type = "TASK_END"
	Info             Type = "INFO"
	SystemFailure    Type = "SYSTEM_FAILURE"
	ResearchReport   Type = "RESEARCH_REPORT"
)

// Status is how an action ended.
type Status string

// The two ends.
const (
	Success Status = "SUCCESS"
	Failure Status = "FAILURE"
)

// Entry is a line. Append fills in id, session and time where they are empty.
type Entry struct {
	ID        string    `json:"log_id"`     // a UUID
	Session   string    `json:"session_id"` // one run of a program
	Time      time.Time `json:"timestamp"`
	Phase     string    `json:"phase"` // a state of a machine, such as EXECUTING
	Task      Task      `json:"task"`
	Action    Action    `json:"action"`
	Outcome   Outcome   `json:"outcome"`
	Evidence  []string  `json:"evidence_citation"`
	Execution Execution `json:"context"`
}

// Task is what the action is for: a directive, and the step of its plan.
type Task struct {
	ID   string `json:"id"`        // "D-1", or "-" for none
	Step string `json:"plan_step"` // "plans/D-1.plan.txt#3", or ""
}

// Action is what was done.
type Action struct {
	Type    Type           `json:"type"`
	Details map[string]any `json:"details"`
}

// Outcome is how it ended.
type Outcome struct {
	Status  Status `json:"status"`
	Message string `json:"message"`
	Error   string `json:"error"` // "" on success
}

// Execution is where the plans stood: the outermost first, each as "path#step".
type Execution struct {
	Stack []string `json:"plan_execution_stack"`
}

// Transition is the line of a lifecycle's step from one state to another, for a
// directive ("D-1").
func Transition(directive, machine, from, on, to string) Entry {
	return Entry{Phase: to, Task: Task{ID: directive},
		Action:  Action{Type: Info, Details: map[string]any{"machine": machine, "from": from, "on": on, "to": to}},
		Outcome: Outcome{Status: Success, Message: from + " -" + on + "-> " + to}}
}

// Log is an open log. It is not for concurrent use.
type Log struct {
	path    string
	session string
	// Redact takes secrets out of a text before it is written; nil takes none.
	Redact func(string) string
}

// Open opens the log in a folder, which is made. A log that has grown large goes
// aside first.
func Open(dir string) (*Log, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, Name)
	if info, err := os.Stat(path); err == nil && info.Size() > maxFile {
		if err := os.Rename(path, path+".1"); err != nil {
			return nil, err
		}
	}
	return &Log{path: path, session: newUUID()}, nil
}

// Path is the log's file.
func (l *Log) Path() string { return l.path }

// Append writes a line. A cut line that a crash left at the end is closed first,
// so that it stays the only one that cannot be read.
func (l *Log) Append(e Entry) error {
	if e.ID == "" {
		e.ID = newUUID()
	}
	if e.Session == "" {
		e.Session = l.session
	}
	if e.Time.IsZero() {
		e.Time = time.Now()
	}
	e.Time = e.Time.UTC().Truncate(time.Millisecond)
	if e.Task.ID == "" {
		e.Task.ID = "-"
	}
	line, err := l.format(e)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(l.path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Size() > 0 {
		last := make([]byte, 1)
		if _, err := f.ReadAt(last, info.Size()-1); err == nil && last[0] != '\n' {
			line = append([]byte{'\n'}, line...)
		}
	}
	_, err = f.Write(line)
	return errors.Join(err, f.Sync())
}

func (l *Log) format(e Entry) ([]byte, error) {
	e.Outcome.Message, e.Outcome.Error = l.clean(e.Outcome.Message), l.clean(e.Outcome.Error)
	e.Evidence = l.cleanAll(e.Evidence)
	e.Execution.Stack = l.cleanAll(e.Execution.Stack)
	e.Task.Step = l.clean(e.Task.Step)
	details := map[string]any{}
	for name, value := range e.Action.Details {
		details[name] = l.cleanValue(value)
	}
	e.Action.Details = details
	var b bytes.Buffer
	if err := diag.WriteJSON(&b, e); err != nil {
		return nil, err
	}
	if b.Len() > maxLine {
		e.Action.Details = map[string]any{"cut": fmt.Sprintf("%d bytes", b.Len())}
		e.Evidence = e.Evidence[:0]
		b.Reset()
		if err := diag.WriteJSON(&b, e); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), nil
}

func (l *Log) cleanAll(list []string) []string {
	out := make([]string, len(list)) // [] and not null
	for i, s := range list {
		out[i] = l.clean(s)
	}
	return out
}

func (l *Log) cleanValue(v any) any {
	switch v := v.(type) {
	case string:
		return l.clean(v)
	case []string:
		return l.cleanAll(v)
	}
	return v
}

// clean takes secrets out of a text and cuts it.
func (l *Log) clean(s string) string {
	if l.Redact != nil {
		s = l.Redact(s)
	}
	s = strings.ToValidUTF8(s, "\ufffd")
	if len(s) > maxText {
		s = strings.ToValidUTF8(s[:maxText], "") + "..."
	}
	return s
}

// Has reports whether one of the newest lines has the id.
func (l *Log) Has(id string) (bool, error) {
	f, err := os.Open(l.path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return false, err
	}
	data := make([]byte, min(info.Size(), tail))
	if _, err := f.ReadAt(data, info.Size()-int64(len(data))); err != nil {
		return false, err
	}
	return bytes.Contains(data, []byte(`"log_id":"`+id+`"`)), nil
}

// newUUID is a random UUID (RFC 9562, version 4).
func newUUID() string {
	var b [16]byte
	rand.Read(b[:])
	return format(b, 4)
}

// UUID is the UUID of a name (RFC 9562, version 5): the same for the same name.
func UUID(name string) string {
	namespace := [16]byte{0x77, 0x61, 0x72, 0x64} // "ward"
	sum := sha1.Sum(append(namespace[:], name...))
	var b [16]byte
	copy(b[:], sum[:])
	return format(b, 5)
}

func format(b [16]byte, version byte) string {
	b[6] = b[6]&0x0f | version<<4
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
