package comms

import "strings"

// part is a section of the document, or the preamble.
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

// layout has the byte offsets of the parts and entries in src. Code that changes or compares documents
// uses them, so that everything else stays byte-identical.
type layout struct {
	src   string
	sound bool // each part occurs once and in order, so that offsets are valid
	parts [numParts]section
}

// section is one part; line 0 means that the document has none.
type section struct {
	line       int // of its heading
	start, end int // from its heading to the next section's heading
	entries    []entry
}

// entry is one `### ` entry with the blank lines below it.
type entry struct {
	line       int
	start, end int
	id         int // 0 if malformed
}

// raw returns the entry from its heading through its last non-blank line, with a final LF.
func (l *layout) raw(e entry) string {
	s := strings.TrimRight(l.src[e.start:e.end], " \t\r\n")
	// Keep the last line whole, with its trailing spaces.
	end := e.start + len(s)
	if i := strings.IndexByte(l.src[end:e.end], '\n'); i >= 0 {
		return l.src[e.start : end+i+1]
	}
	return l.src[e.start:e.end] + "\n"
}

// head returns the section up to its first entry, without trailing blank lines.
func (l *layout) head(p part) string {
	s := l.parts[p]
	end := s.end
	if len(s.entries) > 0 {
		end = s.entries[0].start
	}
	return strings.TrimRight(l.src[s.start:end], " \t\r\n")
}
