package comms

import (
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"
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

// indentedHeading reports whether Markdown shows s as a heading that this
// grammar takes for text.
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

// forbidden reports whether r may not stand in COMMS.md. The joiners U+200C and
// U+200D are let through: Persian, Indic scripts and emoji cannot do without.
func forbidden(r rune) bool {
	switch r {
	case '\t', '\n', '\u200c', '\u200d':
		return false
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
}

// checkText judges the characters of one line: at most one finding a rule, for a
// binary file has nothing else.
func (f *findings) checkText(l line) {
	badUTF8, badRune := false, false
	for i := 0; i < len(l.text); {
		if c := l.text[i]; c >= ' ' && c < 0x7f {
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(l.text[i:])
		switch {
		case r == utf8.RuneError && n == 1 && !badUTF8:
			badUTF8 = true
			f.add(l.num, i+1, ruleUTF8, "save COMMS.md as UTF-8", "byte 0x%02x is not UTF-8", l.text[i])
		case forbidden(r) && !badRune:
			badRune = true
			f.add(l.num, i+1, ruleControl, "delete the character; it is invisible, so retype the line if you cannot find it",
				"the invisible character %U may not stand here", r)
		}
		i += n
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
