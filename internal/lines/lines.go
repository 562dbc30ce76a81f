// Package lines processes streams of lines: it takes out lines with a prefix, by which a program reports
// to its parent in its output, maps lines, and bounds what is kept.
package lines

import (
	"bytes"
	"io"
	"sync"
)

// Taker passes on what is written to it, except lines that begin with a prefix. It is safe for
// concurrent use.
type Taker struct {
	out    io.Writer
	prefix []byte
	limit  int
	take   func(rest []byte) []byte

	mu    sync.Mutex
	line  []byte // the beginning of a line that may be one of them
	plain bool   // the rest of the present line is not
}

// NewTaker calls take for every complete line of at most limit bytes that begins with prefix,
// without the prefix and the line end, and passes on what take returns. Other bytes are passed
// on as soon as they cannot belong to such a line.
func NewTaker(out io.Writer, prefix string, limit int, take func(rest []byte) []byte) *Taker {
	return &Taker{out: out, prefix: []byte(prefix), limit: limit, take: take}
}

// Write passes bytes on. Its error is that of the stream below.
func (t *Taker) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var pass []byte
	for rest := p; len(rest) > 0; {
		piece, ended := rest, false
		if i := bytes.IndexByte(rest, '\n'); i >= 0 {
			piece, ended = rest[:i+1], true
		}
		rest = rest[len(piece):]
		pass = t.add(pass, piece, ended)
	}
	if len(pass) > 0 {
		if _, err := t.out.Write(pass); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

// add takes a piece of one line, and adds to pass what is to be passed on.
func (t *Taker) add(pass, piece []byte, ended bool) []byte {
	if t.plain {
		t.plain = !ended
		return append(pass, piece...)
	}
	t.line = append(t.line, piece...)
	n := min(len(t.line), len(t.prefix))
	switch {
	case !bytes.Equal(t.line[:n], t.prefix[:n]), len(t.line) > t.limit, ended && n < len(t.prefix):
		pass = append(pass, t.line...)
		t.line, t.plain = t.line[:0], !ended
	case ended:
		pass = append(pass, t.take(bytes.TrimSuffix(t.line[n:], []byte("\n")))...)
		t.line = t.line[:0]
	}
	return pass
}
