package preset

import (
	"bytes"
	"encoding/json"
	"os"

	"git-ward/agent/model"
	"git-ward/internal/diag"
)

// maxLine bounds an event; programs repeat tool results in their streams.
const maxLine = 16 << 20

// Stream is a writer that reads a program's stdout, line by line.
type Stream struct {
	Preset  *Preset
	Reading Reading
	Spent   func(total model.Usage) // called when the usage changes; may be nil
	line    []byte
	long    bool
}

// Write takes a piece of the stream; it never fails.
func (s *Stream) Write(p []byte) (int, error) {
	n := len(p)
	for {
		line, rest, found := bytes.Cut(p, []byte("\n"))
		if s.long = s.long || len(s.line)+len(line) > maxLine; !s.long {
			s.line = append(s.line, line...)
		}
		if !found {
			return n, nil
		}
		if !s.long {
			before := s.Reading.Usage
			s.Preset.read(s.line, &s.Reading)
			if s.Spent != nil && s.Reading.Usage != before {
				s.Spent(s.Reading.Usage)
			}
		}
		s.line, s.long, p = s.line[:0], false, rest
	}
}

// decode reads an event; anything but a JSON object is skipped.
func decode(line []byte, v any) bool {
	line = bytes.TrimSpace(line)
	return len(line) > 0 && line[0] == '{' && json.Unmarshal(line, v) == nil
}

// message is an error's text in any form.
func message(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var e struct {
		Message string
		Name    string
		Data    struct{ Message string }
	}
	json.Unmarshal(raw, &e)
	switch {
	case e.Message != "":
		return e.Message
	case e.Data.Message != "":
		return e.Data.Message
	}
	return string(raw)
}

func writeJSON(path string, v any) error {
	var b bytes.Buffer
	if err := diag.WriteJSON(&b, v); err != nil {
		return err
	}
	return os.WriteFile(path, b.Bytes(), 0o600)
}
