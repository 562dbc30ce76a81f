package launch

import (
	"encoding/json"
	"io"
	"sync"

	"github.com/rs/zerolog"

	"git-ward/internal/diag"
	"git-ward/internal/logfile"
	"git-ward/internal/pattern"
)

// What one source of lines that the agent can make come may write: into the log of the
// repository's services, and to people. The agent's own output has a share, too, where
// it goes into a log. A day of any of them leaves what the launcher itself says.
const (
	sourceBurst, sourcePerMinute = 1 << 20, 16 << 10
	wordsBurst, wordsPerMinute   = 64 << 10, 4 << 10
	agentBurst, agentPerMinute   = 1 << 20, 8 << 10
)

// openLog is the launch's log and its output for people. Both are redacted by the gate's rules
// after floods were cut, because anything may be written there, such as a failed pod's last
// output.
func (l *launch) openLog(file, messages io.Writer) {
	l.file, l.spec.Messages = redacting(file, l.spec.Redact, cleanJSON), redacting(messages, l.spec.Redact, nil)
	l.log = logger(l.file, l.spec.Messages)
}

// redacting is a redacted stream. Each write to it is a whole text or, with clean, a whole
// line of JSON.
func redacting(out io.Writer, redact func() func(string) string, clean func(piece string, redact func(string) string) string) io.Writer {
	if redact == nil || out == nil {
		return out
	}
	c := &cleaned{out: out, clean: redact()}
	if clean != nil {
		one := c.clean
		c.clean = func(piece string) string { return clean(piece, one) }
	}
	return c
}

type cleaned struct {
	mu    sync.Mutex
	out   io.Writer
	clean func(piece string) string
}

// Write returns len(p), or the error of the stream below.
func (c *cleaned) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, err := io.WriteString(c.out, c.clean(string(p)))
	return len(p), err
}

// jsonText is a string in a line of JSON.
var jsonText = pattern.New(`"(?:[^"\\]|\\.)*"`)

// cleanJSON redacts each string of a line of JSON by itself, so that the line stays valid.
func cleanJSON(line string, redact func(string) string) string {
	return jsonText.ReplaceAllStringFunc(line, func(quoted string) string {
		var text string
		if json.Unmarshal([]byte(quoted), &text) != nil {
			return `""`
		}
		clean := redact(text)
		if clean == text {
			return quoted
		}
		again, _ := json.Marshal(clean) // a string always encodes
		return string(diag.EscapeJSON(again))
	})
}

// without redacts an error of the launch, which a background launch writes to its log.
func (s *Spec) without(err error) error {
	if err == nil {
		return err
	}
	words := s.words(err.Error())
	if words == err.Error() {
		return err
	}
	return &cleanError{err, words}
}

// words redacts a text by the gate's rules.
func (s *Spec) words(text string) string {
	if s.Redact == nil {
		return text
	}
	return s.Redact()(text)
}

type cleanError struct {
	err   error
	words string
}

func (e *cleanError) Error() string { return e.words }
func (e *cleanError) Unwrap() error { return e.err }

// logOf is the log for one source, with its own quota, so that an agent that makes one service
// log a lot displaces no other's lines.
func (l *launch) logOf(source string) zerolog.Logger {
	file := logfile.Limit(l.file, logfile.Share{Burst: sourceBurst, PerMinute: sourcePerMinute, Told: logfile.JSON(source)})
	return logger(file, l.words())
}

// words is an output for people with a quota of its own.
func (l *launch) words() io.Writer {
	return logfile.Limit(l.spec.Messages, logfile.Share{Burst: wordsBurst, PerMinute: wordsPerMinute, Told: logfile.Text})
}

// AgentShare limits the agent's part of a log. Call Flush at the end.
func AgentShare(log io.Writer) *logfile.Limited {
	return logfile.Limit(log, logfile.Share{Burst: agentBurst, PerMinute: agentPerMinute, Told: logfile.Text})
}

// logger writes JSON lines to the file, and errors to messages for people.
func logger(file, messages io.Writer) zerolog.Logger {
	console := zerolog.ConsoleWriter{Out: diag.NewScreen(messages), NoColor: true}
	errorsOnly := &zerolog.FilteredLevelWriter{Writer: zerolog.LevelWriterAdapter{Writer: console}, Level: zerolog.ErrorLevel}
	return zerolog.New(zerolog.MultiLevelWriter(diag.JSONLines{Out: file}, errorsOnly)).With().Timestamp().Logger()
}
