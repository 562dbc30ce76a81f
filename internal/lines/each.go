package lines

import (
	"bytes"
	"io"
	"strings"
	"sync"
)

// maxWaits bounds an unfinished line, in bytes; a longer one continues in a new line.
const maxWaits = 16 << 10

// maxTaken is how far before its end, in bytes, a line that is too long is first cut: a part that the
// function removes, such as a secret, is seldom longer.
const maxTaken = 256

// maxOpen bounds what is left out after a line in which a secret of several lines begins, in bytes, with
// at least minOpen for each line: a text may contain the begin of a key and no end.
const maxOpen, minOpen = 64 << 10, 64

// leftOut replaces the rest of a line that can be cut nowhere.
const leftOut = "[the rest of a line is left out: cut in two, it would show a part of what is taken out of it]"

// Each passes on whole lines, each mapped by a function. Every write below ends at a line's
// end, so that output of others on the same stream stands between lines.
type Each struct {
	out io.Writer
	do  func(line string) string

	mu   sync.Mutex
	line []byte // the present one, without its end
	left bool   // the rest of the present one is left out
	open string // a line of which the function takes out whatever follows, too; "" for none
	from int    // bytes since that
}

// NewEach makes one for a function that maps a line without its end to one line. It is safe
// for concurrent use, and calls the function for one line at a time. If the function would
// remove following lines together with this one, such as those of a key, they are left out.
func NewEach(out io.Writer, do func(line string) string) *Each { return &Each{out: out, do: do} }

// Write passes on all lines that are complete. Its error is that of the stream below.
func (e *Each) Write(p []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.line = append(e.line, p...)
	var pass []byte
	for len(e.line) > 0 {
		line, rest, ended := bytes.Cut(e.line, []byte("\n"))
		switch {
		case e.left: // of the line before
			e.left = !ended
		case ended:
			pass = e.add(pass, line)
		case len(line) < maxWaits:
			rest = line
		default:
			pass, rest = e.addCut(pass, line)
		}
		if e.line = rest; !ended && len(rest) < maxWaits {
			break
		}
	}
	e.line = bytes.Clone(e.line)
	return len(p), e.pass(pass)
}

// addCut adds the begin of a line that waits too long, and returns the rest.
func (e *Each) addCut(pass, line []byte) (added, rest []byte) {
	if at := e.cut(string(line[:maxWaits])); at > 0 {
		return e.add(pass, line[:at]), line[at:]
	}
	e.left = true
	return e.add(pass, []byte(leftOut)), nil
}

// cut returns where to cut an unfinished line; 0 for nowhere. The function must map the two parts to what
// it maps the whole line to, apart from what it puts before every line, so that no cut divides a part
// that it removes. The steps grow, so that a line costs few calls.
func (e *Each) cut(line string) int {
	whole, mark := e.do(line), e.do("")
	for back := maxTaken; back < len(line); back *= 2 {
		if at := len(line) - back; whole == e.do(line[:at])+strings.TrimPrefix(e.do(line[at:]), mark) {
			return at
		}
	}
	return 0
}

// Flush passes on an incomplete line as a line. Later writes begin a new text.
func (e *Each) Flush() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	var pass []byte
	if len(e.line) > 0 {
		pass = e.add(nil, e.line)
	}
	e.line, e.left, e.open = nil, false, ""
	return e.pass(pass)
}

// add adds the mapped line, or nothing within a secret that an earlier line began.
func (e *Each) add(pass, line []byte) []byte {
	text := string(line)
	if e.open != "" {
		e.from += max(len(text), minOpen)
		ends := !e.opens(e.open + "\n" + text)
		if !ends && e.from <= maxOpen {
			return pass
		}
		if e.open = ""; ends {
			return pass
		}
	}
	made := e.do(text)
	if last := text[max(0, len(text)-maxWaits):]; made != text && e.opens(last) {
		e.open, e.from = last, 0
	}
	return append(append(pass, made...), '\n')
}

// opens reports whether the function removes whatever follows a text.
func (e *Each) opens(text string) bool {
	const next = "\n."
	return !strings.HasSuffix(e.do(text+next), next)
}

func (e *Each) pass(lines []byte) error {
	if len(lines) == 0 {
		return nil
	}
	_, err := e.out.Write(lines)
	return err
}
