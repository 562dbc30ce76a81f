package diag

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"sync"
	"unicode/utf16"
	"unicode/utf8"
)

// Screen is a stream that a person reads. It cleans what is written (Clean), but keeps line
// ends and tabs. Every command's output passes through one, so text that nobody cleaned can at
// most look odd (GATE-7).
//
// A rune may come in two writes; its first part waits for the rest, or for Flush.
// It may be used by several goroutines.
type Screen struct {
	under io.Writer

	mu   sync.Mutex
	held []byte // the beginning of a rune, or a carriage return
	err  error  // the first of the stream below
}

// NewScreen is a Screen that writes to w.
func NewScreen(w io.Writer) *Screen { return &Screen{under: w} }

// Under returns the stream that the Screen writes to.
func (s *Screen) Under() io.Writer { return s.under }

// Write cleans p and writes it. It returns len(p), or the error of the stream below.
func (s *Screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(p)
	if len(s.held) > 0 {
		p = append(s.held, p...)
		s.held = nil
	}
	end := len(p) - unfinished(p)
	if end < len(p) {
		s.held = bytes.Clone(p[end:])
	}
	return n, s.put(p[:end])
}

// Flush writes a rune's first bytes that still wait for the rest. It returns the first error
// of any write, because callers that print line by line check none.
func (s *Screen) Flush() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	held := s.held
	s.held = nil
	s.put(held)
	return s.err
}

func (s *Screen) put(p []byte) (err error) {
	if len(p) == 0 {
		return nil
	}
	defer func() {
		if s.err == nil {
			s.err = err
		}
	}()
	if plain(p) {
		_, err := s.under.Write(p)
		return err
	}
	var out bytes.Buffer
	p = bytes.ReplaceAll(p, []byte("\r\n"), []byte("\n"))
	for len(p) > 0 {
		i := bytes.IndexAny(p, "\n\t")
		if i < 0 {
			i = len(p)
		}
		out.WriteString(Clean(string(p[:i])))
		if i < len(p) {
			out.WriteByte(p[i])
			i++
		}
		p = p[i:]
	}
	_, err = s.under.Write(out.Bytes())
	return err
}

// plain is the common case: ASCII that Clean would leave as it is.
func plain(p []byte) bool {
	return !slices.ContainsFunc(p, func(c byte) bool { return (c < ' ' && c != '\n' && c != '\t') || c > '~' })
}

// unfinished is the length of what, at the end of p, may go on in the next write: the
// beginning of a rune, or a carriage return.
func unfinished(p []byte) int {
	if len(p) > 0 && p[len(p)-1] == '\r' {
		return 1
	}
	for n := 1; n < utf8.UTFMax && n <= len(p); n++ {
		if utf8.RuneStart(p[len(p)-n]) {
			if !utf8.FullRune(p[len(p)-n:]) {
				return n
			}
			return 0
		}
	}
	return 0
}

// EscapeJSON escapes in a JSON text what a terminal would interpret: control characters beyond
// ASCII, which encoders leave raw, and all that Clean escapes. The value stays the same,
// unlike with CleanJSON.
func EscapeJSON(text []byte) []byte {
	if plain(text) {
		return text
	}
	var out bytes.Buffer
	for s, i := string(text), 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r < 0x7f || r != utf8.RuneError && printable(s, i, r, n) || r == utf8.RuneError && n == 3:
			out.WriteString(s[i : i+n])
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&out, `\u%04x\u%04x`, high, low)
		default: // an invalid byte is RuneError
			fmt.Fprintf(&out, `\u%04x`, r)
		}
		i += n
	}
	return out.Bytes()
}

// JSONLines is a log of JSON lines for a terminal: it applies EscapeJSON to each line, which
// must come in one Write.
type JSONLines struct{ Out io.Writer }

// Write returns len(p), or the error of the stream below.
func (l JSONLines) Write(p []byte) (int, error) {
	_, err := l.Out.Write(EscapeJSON(p))
	return len(p), err
}
