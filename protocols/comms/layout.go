package comms

import "strings"

// part is where in the document a line stands.
type part int

const (
	preamble part = iota
	directives
	reports
	questions
	numParts
)

// The grammar of each part: its heading, the letter of its entries, the form of
// their headings, and the rule for a heading of another form.
var (
	headings  = [numParts]string{"", "## Directives", "## Reports", "## Questions"}
	letters   = [numParts]byte{0, 'D', 'R', 'Q'}
	forms     = [numParts]string{"", "### D-<n>: <title>", "### R-<n> 2026-11-21T09:00:00Z <D-n or -> <STATUS>", "### Q-<n> 2026-11-21T09:00:00Z <D-n or ->"}
	headRules = [numParts]string{ruleStructure, ruleDirectiveHeading, ruleReportHeading, ruleQuestionHeading}
)

// partNamed is the part with this heading, or preamble.
func partNamed(heading string) part {
	for p := directives; p < numParts; p++ {
		if headings[p] == heading {
			return p
		}
	}
	return preamble
}

// layout is where the parts and entries of a document lie, in bytes of src. All
// that changes or compares documents works on it, so that what it does not mean
// to change stays byte-identical.
type layout struct {
	src   string
	sound bool // the parts stand once and in order: offsets can be trusted
	parts [numParts]section
}

// section is one part; line 0 means that the document has none.
type section struct {
	line       int // of its heading
	start, end int // from its heading to the next section's
	entries    []entry
}

// entry is one `### ` entry with the blank lines below it.
type entry struct {
	line       int
	start, end int
	id         int // 0 when it cannot be read
}

// raw is the entry from its heading through its last non-blank line, LF ended.
func (l *layout) raw(e entry) string {
	s := strings.TrimRight(l.src[e.start:e.end], " \t\r\n")
	// The last line is kept whole, the spaces at its end included.
	end := e.start + len(s)
	if i := strings.IndexByte(l.src[end:e.end], '\n'); i >= 0 {
		return l.src[e.start : end+i+1]
	}
	return l.src[e.start:e.end] + "\n"
}

// head is the section above its first entry, without blank lines at its end.
func (l *layout) head(p part) string {
	s := l.parts[p]
	end := s.end
	if len(s.entries) > 0 {
		end = s.entries[0].start
	}
	return strings.TrimRight(l.src[s.start:end], " \t\r\n")
}
