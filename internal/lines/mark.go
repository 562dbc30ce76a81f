package lines

import (
	"bytes"
	"io"
	"sync"
)

// maxWaits bounds a line that waits for its end, in bytes; a longer one goes on in a new line.
const maxWaits = 16 << 10

// Marked passes on whole lines, with a mark before each that begins with a prefix. Each piece
// ends with a line, so that what others write to the same stream stands between lines.
type Marked struct {
	out    io.Writer
	prefix []byte
	mark   func() string

	mu   sync.Mutex
	line []byte // the present one, without its end
}

// NewMarked is one for a prefix: "" is every line's. Mark is asked at each of these lines. It is
// safe for concurrent use.
func NewMarked(out io.Writer, prefix string, mark func() string) *Marked {
	return &Marked{out: out, prefix: []byte(prefix), mark: mark}
}

// Write passes on the lines that are whole now; the error is that of the stream below.
func (m *Marked) Write(p []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.line = append(m.line, p...)
	var pass []byte
	for {
		line, rest, ended := bytes.Cut(m.line, []byte("\n"))
		if !ended && len(line) < maxWaits {
			break
		}
		if !ended {
			line, rest = line[:maxWaits], line[maxWaits:]
		}
		pass, m.line = m.add(pass, line), rest
	}
	m.line = bytes.Clone(m.line)
	return len(p), m.pass(pass)
}

// Flush passes on what waits, as a line.
func (m *Marked) Flush() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.line) == 0 {
		return nil
	}
	pass := m.add(nil, m.line)
	m.line = nil
	return m.pass(pass)
}

func (m *Marked) add(pass, line []byte) []byte {
	if bytes.HasPrefix(line, m.prefix) {
		pass = append(pass, m.mark()...)
	}
	return append(append(pass, line...), '\n')
}

func (m *Marked) pass(lines []byte) error {
	if len(lines) == 0 {
		return nil
	}
	_, err := m.out.Write(lines)
	return err
}
