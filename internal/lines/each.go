package lines

import (
	"bytes"
	"io"
	"strings"
	"sync"
)

// maxWaits bounds a line that waits for its end, in bytes; a longer one goes on in a new line.
const maxWaits = 16 << 10

// maxTaken is the most that the function is known to take out of a line at one place, such as a
// secret, in bytes.
const maxTaken = 256

// Each passes on whole lines, as a function makes each of them. Each piece ends with a line, so
// that what others write to the same stream stands between lines.
type Each struct {
	out io.Writer
	do  func(line string) string

	mu   sync.Mutex
	line []byte // the present one, without its end
}

// NewEach is one for a function, which gets a line without its end, and makes one line of it. It is
// safe for concurrent use, and calls the function for one line at a time.
func NewEach(out io.Writer, do func(line string) string) *Each { return &Each{out: out, do: do} }

// Write passes on the lines that are whole now; the error is that of the stream below.
func (e *Each) Write(p []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.line = append(e.line, p...)
	var pass []byte
	for {
		line, rest, ended := bytes.Cut(e.line, []byte("\n"))
		if !ended && len(line) < maxWaits {
			break
		}
		if !ended {
			at := e.cut(string(line[:maxWaits]))
			line, rest = line[:at], line[at:]
		}
		pass, e.line = e.add(pass, line), rest
	}
	e.line = bytes.Clone(e.line)
	return len(p), e.pass(pass)
}

// cut is where a line that has no end is cut: where the function makes of what is before the cut
// what it makes of that with what follows, so that it knows nothing whole that would be cut in two.
func (e *Each) cut(line string) int {
	whole := e.do(line)
	for at := len(line) - maxTaken; at > 0; at -= maxTaken {
		if strings.HasPrefix(whole, e.do(line[:at])) {
			return at
		}
	}
	return len(line)
}

// Flush passes on what waits, as a line.
func (e *Each) Flush() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.line) == 0 {
		return nil
	}
	pass := e.add(nil, e.line)
	e.line = nil
	return e.pass(pass)
}

func (e *Each) add(pass, line []byte) []byte {
	return append(append(pass, e.do(string(line))...), '\n')
}

func (e *Each) pass(lines []byte) error {
	if len(lines) == 0 {
		return nil
	}
	_, err := e.out.Write(lines)
	return err
}
