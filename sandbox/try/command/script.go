package command

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"git-ward/internal/diag"
)

// readScript reads the lines that play the model, before anything is made for them.
func readScript(path string) ([]byte, error) {
	text, err := os.ReadFile(path)
	for i, line := range bytes.Split(text, []byte("\n")) {
		if line = bytes.TrimSpace(line); err == nil && len(line) > 0 && (line[0] != '{' || !json.Valid(line)) {
			err = fmt.Errorf("line %d of %s is no JSON object", i+1, diag.Word(path))
		}
	}
	if err != nil {
		return nil, diag.Hint(err, "--script FILE: each line is one answer of the model (docs/quickstart.md)")
	}
	return text, nil
}

// play puts the script where the model `script` looks for it.
func (t *trial) play() error {
	control := t.control()
	if _, err := os.Stat(control); err != nil { // the project's own branch has Ward's documents
		control = t.work()
	}
	if err := t.git(control, "pull", "--quiet"); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(control, "script.jsonl"), t.lines, 0o644); err != nil {
		return err
	}
	if changed, err := ask(t.ctx, control, "status", "--porcelain", "--", "script.jsonl"); err != nil || changed == "" {
		return err
	}
	if err := t.git(control, "add", "--", "script.jsonl"); err != nil {
		return err
	}
	if err := t.git(control, "commit", "--quiet", "-m", "what the script says", "--", "script.jsonl"); err != nil {
		return err
	}
	return t.git(control, "push", "--quiet", "origin", "HEAD")
}

// steps leaves out a launch's INF lines, most of which are steps of the agent's state machines:
// the journal has them, and `git ward watch` shows what they come to. To a pipe, a launch prints
// what an agent's program prints, so to is a diag.Screen.
type steps struct {
	to   io.Writer
	line []byte
}

var step = []byte("Z INF ")

// Write passes on the lines that are whole.
func (s *steps) Write(data []byte) (int, error) {
	s.line = append(s.line, data...)
	for {
		line, rest, whole := bytes.Cut(s.line, []byte("\n"))
		if !whole {
			return len(data), nil
		}
		if s.line = rest; bytes.Contains(line[:min(len(line), 40)], step) {
			continue
		}
		if _, err := s.to.Write(append(bytes.Clone(line), '\n')); err != nil {
			return 0, err
		}
	}
}

// end passes on the last line of a launch that was killed in the middle of it.
func (s *steps) end() error {
	_, err := s.to.Write(s.line)
	return err
}
