// Package activity is the log of what the agent does: one JSON object a line in
// activity.log.jsonl, in the form of schema.json (LOG-1). A line is appended with
// one write and made durable before the caller goes on.
//
// The log stays on the machine: logs/ is never committed. What it says of a plan's
// steps can be had again from the commits that carry Ward-Step.
package activity

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/rand"
	"crypto/sha1"
	_ "embed"
	"encoding/json"
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

// Name is the log's file name, below a directory logs/.
const Name = "activity.log.jsonl"

const (
	maxLine = 64 << 10 // bytes of a line; longer texts are cut
	maxText = 4 << 10  // of one text in it
	maxFile = 64 << 20 // at which the file is renamed to activity.log.jsonl.1
	tail    = 1 << 20  // entries that Has searches
)

// Log is an open log. It is not for concurrent use.
type Log struct {
	path    string
	session string
	// Redact removes secrets from a text before it is written; may be nil.
	Redact func(string) string
}

// Open opens the log in a directory, which is made. A log that has grown large goes
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
	e.Session = cmp.Or(e.Session, l.session)
	if e.Time.IsZero() {
		e.Time = time.Now()
	}
	e.Time = e.Time.UTC().Truncate(time.Millisecond)
	e.Task.ID = cmp.Or(e.Task.ID, "-")
	line, err := l.format(e)
	if err != nil {
		return err
	}
	f, err := l.open()
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

// open opens the file. A worker may have deleted it with its directories; then its contents
// are lost, and writing goes on.
func (l *Log) open() (*os.File, error) {
	const flags = os.O_RDWR | os.O_CREATE | os.O_APPEND
	f, err := os.OpenFile(l.path, flags, 0o644)
	if errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(filepath.Dir(l.path), 0o755); err != nil {
			return nil, err
		}
		return os.OpenFile(l.path, flags, 0o644)
	}
	return f, err
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
	out := make([]string, len(list)) // [], not null
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

// clean removes secrets from a text and cuts it.
func (l *Log) clean(s string) string {
	if l.Redact != nil {
		s = l.Redact(s)
	}
	return diag.Cut(strings.ToValidUTF8(s, "\ufffd"), maxText)
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

// Tells reports whether the log has a line of a task, with that type of action if one is
// given. It does not search rotated logs.
func (l *Log) Tells(task string, kind Type) (bool, error) {
	f, err := os.Open(l.path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 2*maxLine)
	for lines.Scan() {
		var e struct {
			Task   Task
			Action struct{ Type Type }
		}
		if !bytes.Contains(lines.Bytes(), []byte(task)) || json.Unmarshal(lines.Bytes(), &e) != nil {
			continue // another program's line, or one cut by a crash
		}
		if e.Task.ID == task && (kind == "" || e.Action.Type == kind) {
			return true, nil
		}
	}
	return false, lines.Err()
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
