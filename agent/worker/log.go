package worker

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"git-ward/internal/diag"
)

// logSize is the size at which a starting agent renames its log to agent.log.1.
const logSize = 10 << 20

// openLog logs JSON lines to <state>/logs/agent.log and text to stderr, both redacted: a
// worker's text and tool calls may contain secrets.
func openLog(state string, stderr io.Writer, redact func(string) string) (zerolog.Logger, func(), error) {
	dir := filepath.Join(state, "logs")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return zerolog.Logger{}, nil, err
	}
	path := filepath.Join(dir, "agent.log")
	if info, err := os.Stat(path); err == nil && info.Size() > logSize {
		if err := os.Rename(path, path+".1"); err != nil {
			return zerolog.Logger{}, nil, err
		}
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return zerolog.Logger{}, nil, err
	}
	console := zerolog.ConsoleWriter{Out: diag.NewScreen(stderr), NoColor: true, TimeFormat: time.RFC3339, TimeLocation: time.UTC}
	log := zerolog.New(redacted{zerolog.MultiLevelWriter(diag.JSONLines{Out: f}, console), redact}).With().Timestamp().Logger()
	return log, func() { f.Close() }, nil
}

// redacted removes secrets from each JSON line of a log.
type redacted struct {
	out    io.Writer
	redact func(string) string // nil takes none
}

// Write returns len(p), or the error of the stream below. A line that is not JSON without its
// secrets is left out, and a warning stands in its place.
func (r redacted) Write(p []byte) (int, error) {
	line := p
	if r.redact != nil {
		if text := r.redact(string(p)); text != string(p) {
			line = []byte(text)
			if !json.Valid(line) {
				line = []byte(`{"level":"warn","message":"a line with a secret is left out"}` + "\n")
			}
		}
	}
	_, err := r.out.Write(line)
	return len(p), err
}

// oneAtATime makes a function safe for concurrent use; nil stays nil.
func oneAtATime(redact func(string) string) func(string) string {
	if redact == nil {
		return nil
	}
	var mu sync.Mutex
	return func(text string) string {
		mu.Lock()
		defer mu.Unlock()
		return redact(text)
	}
}
