package lines

import (
	"bytes"
	"io"
)

// Marked passes on what is written to it, with a mark before each line that begins with a
// prefix: who reads the stream takes such lines for another's.
type Marked struct {
	out          io.Writer
	prefix, mark []byte
	line         []byte // the beginning of a line that may become one of them
	within       bool   // the rest of the present line is none
}

// NewMarked is one for a prefix, which is not empty. It is for one writer at a time.
func NewMarked(out io.Writer, prefix, mark string) *Marked {
	return &Marked{out: out, prefix: []byte(prefix), mark: []byte(mark)}
}

// Write passes bytes on, as soon as they are known to be no beginning of such a line; the error
// is that of the stream below.
func (m *Marked) Write(p []byte) (int, error) {
	var pass []byte
	for rest := p; len(rest) > 0; {
		if m.within {
			end := bytes.IndexByte(rest, '\n') + 1
			if m.within = end == 0; m.within {
				end = len(rest)
			}
			pass, rest = append(pass, rest[:end]...), rest[end:]
			continue
		}
		n := min(len(rest), len(m.prefix)-len(m.line))
		m.line, rest = append(m.line, rest[:n]...), rest[n:]
		switch {
		case !bytes.HasPrefix(m.prefix, m.line): // it is read once more, as it may hold an end
			m.line, rest = nil, append(m.line, rest...)
			m.within = true
		case len(m.line) == len(m.prefix):
			pass = append(append(pass, m.mark...), m.line...)
			m.line, m.within = nil, true
		}
	}
	if len(pass) == 0 {
		return len(p), nil
	}
	if _, err := m.out.Write(pass); err != nil {
		return 0, err
	}
	return len(p), nil
}
