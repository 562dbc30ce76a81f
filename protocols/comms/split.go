package comms

import (
	"strings"

	"git-ward/internal/diag"
)

// splitter walks the lines of a document and fills its layout.
type splitter struct {
	*layout
	f      *findings
	at     part
	titled bool           // the first line that is not blank was seen
	loose  [numParts]bool // text before the first entry was reported
}

// split finds sections and entries in one pass over src.
func split(src string, f *findings) layout {
	s := &splitter{layout: &layout{src: src, sound: true}, f: f}
	for l := range lines(src, 0, len(src), 1) {
		s.title(l)
		switch level(l.text) {
		case 2:
			s.section(l)
		case 3:
			s.entry(l)
		default:
			s.text(l)
		}
	}
	s.close(len(src))
	s.missing()
	return *s.layout
}

// title asks for `# COMMS` on the first line that is not blank.
func (s *splitter) title(l line) {
	if s.titled || l.blank() {
		return
	}
	s.titled = true
	// A byte order mark has its own finding.
	if strings.TrimRight(strings.TrimPrefix(l.text, "\ufeff"), " \t") != "# COMMS" {
		s.f.add(l.num, 1, ruleStructure, `put "# COMMS" on the first line`, "the document does not start with # COMMS")
	}
}

// section reads a `## ` line.
func (s *splitter) section(l line) {
	name := strings.TrimRight(l.text, " \t")
	p := partNamed(name)
	if p == preamble {
		s.sound = false
		near := diag.Nearest(name[:min(len(name), 40)], headings[1:])
		hint := indentHint
		if near != "" {
			hint = `did you mean "` + near + `"? Else ` + indentHint
		}
		s.f.add(l.num, 1, ruleStructure, hint, "%s is not a section of COMMS.md", quote(name))
		// Parse a misspelt section as the intended one; otherwise each of its entries would be a
		// finding.
		if p = partNamed(near); p <= s.at {
			return
		}
	}
	s.open(p, l)
}

// open starts section p, unless it stands there already.
func (s *splitter) open(p part, l line) {
	s.closeEntry(l.start)
	if first := s.parts[p].line; first != 0 {
		s.sound = false
		s.f.add(l.num, 1, ruleStructure, "move its entries to the first one and delete this heading",
			"a second %s; the first is line %d", headings[p], first)
		s.at = p
		return
	}
	for later := p + 1; later < numParts; later++ {
		if s.parts[later].line != 0 {
			s.sound = false
			s.f.add(l.num, 1, ruleStructure, "the order is Directives, Reports, Questions",
				"%s must stand above %s", headings[p], headings[later])
			break
		}
	}
	s.close(l.start)
	s.at = p
	s.parts[p] = section{line: l.num, start: l.start}
}

// close ends the open section, and its last entry, at a byte offset.
func (s *splitter) close(end int) {
	open := &s.parts[s.at]
	open.end = end
	s.closeEntry(end)
}

func (s *splitter) closeEntry(end int) {
	if es := s.parts[s.at].entries; len(es) > 0 && es[len(es)-1].end == 0 {
		es[len(es)-1].end = end
	}
}

// entry parses a `### ` line. One that does not begin like an entry of its section is a finding, and
// remains text of the entry above.
func (s *splitter) entry(l line) {
	word := strings.TrimLeft(l.text[3:], " \t")
	if s.at != preamble && len(word) > 1 && word[0]&^0x20 == letters[s.at] && word[1] == '-' {
		s.closeEntry(l.start)
		open := &s.parts[s.at]
		open.entries = append(open.entries, entry{line: l.num, start: l.start})
		return
	}
	where := "above " + headings[directives]
	if s.at != preamble {
		where = "in " + headings[s.at]
	}
	hint := "entries belong below " + headings[directives]
	if s.at != preamble {
		hint = `the form here is "` + forms[s.at] + `"`
	}
	s.f.add(l.num, 1, headRules[s.at], hint+"; "+indentHint, "%s may not stand %s", quote(l.text), where)
}

// text reads any other line: one finding a section for text before its entries.
func (s *splitter) text(l line) {
	if s.at == preamble || l.blank() || s.loose[s.at] || len(s.parts[s.at].entries) > 0 {
		return
	}
	s.loose[s.at] = true
	s.f.add(l.num, 1, ruleStructure, `start an entry ("`+forms[s.at]+`") above it, or move the text above `+headings[directives],
		"text below %s belongs to no entry", headings[s.at])
}

// missing reports sections that the document must have.
func (s *splitter) missing() {
	if !s.titled {
		s.f.add(0, 0, ruleStructure, `put "# COMMS" on the first line`, "the document is empty")
	}
	for _, p := range []part{directives, reports} {
		if s.parts[p].line == 0 {
			s.sound = false
			s.f.add(0, 0, ruleStructure, `add a line "`+headings[p]+`"; the order is Directives, Reports, Questions`,
				"%s is missing", headings[p])
		}
	}
}
