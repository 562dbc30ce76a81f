package comms

import (
	"fmt"
	"iter"
	"strings"

	"git-ward/internal/diag"
)

// line is one line of the document.
type line struct {
	text       string // without its line end
	num        int    // from 1
	start, end int    // byte offsets; end is before LF, and after the CR of a CRLF
	crlf       bool
}

func (l line) blank() bool { return isBlank(l.text) }

func isBlank(s string) bool { return strings.Trim(s, " \t\r") == "" }

// lines yields the lines of src[from:to], numbered from num on.
func lines(src string, from, to, num int) iter.Seq[line] {
	return func(yield func(line) bool) {
		for at := from; at < to; num++ {
			end, next := to, to
			if i := strings.IndexByte(src[at:to], '\n'); i >= 0 {
				end, next = at+i, at+i+1
			}
			l := line{text: src[at:end], num: num, start: at, end: end}
			if next > end {
				l.text, l.crlf = strings.CutSuffix(l.text, "\r")
			}
			if !yield(l) {
				return
			}
			at = next
		}
	}
}

// level is how many `#` start the line when it is a heading of this grammar: 2
// or 3, else 0. No space is asked for after them: `###D-2: x` read as text would
// silently make D-2 a part of D-1.
func level(s string) int {
	n := 0
	for n < len(s) && s[n] == '#' {
		n++
	}
	if n == 2 || n == 3 {
		return n
	}
	return 0
}

// indentedHeading reports whether s is a heading in Markdown, but text in this grammar.
func indentedHeading(s string) bool {
	rest := strings.TrimLeft(s, " ")
	indent := len(s) - len(rest)
	n := level(rest)
	return 1 <= indent && indent <= 3 && n > 0 && (len(rest) == n || rest[n] == ' ' || rest[n] == '\t')
}

// conflictMarker reports whether a merge left this line behind.
func conflictMarker(s string) bool {
	return strings.HasPrefix(s, "<<<<<<< ") || strings.HasPrefix(s, ">>>>>>> ")
}

// checkText checks the characters of one line. It adds at most one finding per rule, because a binary
// file would fill the list.
func (f *findings) checkText(l line) {
	for at, seen := 0, map[string]bool{}; len(seen) < 2; {
		h, found := diag.FindHidden(l.text[at:], true)
		if !found {
			break
		}
		rule, hint, message := ruleControl, "delete it; nobody sees it, so retype the line if you cannot find it", h.What+" may not stand here"
		if h.What == diag.NotUTF8 {
			rule, hint, message = ruleUTF8, "save COMMS.md as UTF-8", fmt.Sprintf("byte 0x%02x is not UTF-8", l.text[at+h.At])
		}
		if !seen[rule] {
			seen[rule] = true
			f.add(l.num, at+h.At+1, rule, hint, "%s", message)
		}
		at += h.At + h.Size
	}
	if conflictMarker(l.text) {
		f.add(l.num, 1, ruleConflict, "resolve the conflict: keep both sides' entries and delete the marker lines",
			"a merge left a conflict marker")
	}
	if indentedHeading(l.text) {
		f.add(l.num, 1, ruleStructure, "start the heading at column 1; "+indentHint, "this heading is indented")
	}
}

// trimBlankLines cuts blank lines off both ends, and the last line end.
func trimBlankLines(s string) string {
	s = strings.TrimRight(s, " \t\r\n")
	for {
		i := strings.IndexByte(s, '\n')
		if i < 0 || !isBlank(s[:i]) {
			return s
		}
		s = s[i+1:]
	}
}
