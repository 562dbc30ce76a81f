package comms

import "strings"

const ruleAgentText = "comms/agent-text"

// People read COMMS.md rendered, where a comment or a <details> that nobody closes, a fence, a
// line of dashes or a heading within a list item hides or reorders all that follows. There is
// no list here of what Markdown knows: a text either has nothing in it but prose, or it is a
// block of code as a whole, by four spaces before each line, which shows whatever stands there
// as it stands (CommonMark 4.4).

// asText lays a text out so.
func asText(text string) string {
	if shown(text) {
		return text
	}
	var b strings.Builder
	for line := range strings.SplitAfterSeq(text, "\n") {
		if !isBlank(line) {
			b.WriteString(codeIndent)
		}
		b.WriteString(line)
	}
	return b.String()
}

const codeIndent = "    "

// shown reports whether Markdown shows a text that stands below a heading or a blank line as
// it stands.
func shown(text string) bool {
	code, prose := true, true
	for line := range strings.SplitSeq(text, "\n") {
		if isBlank(line) {
			continue
		}
		code = code && strings.HasPrefix(line, codeIndent)
		prose = prose && proseLine(line)
	}
	return code || prose
}

// proseLine reports whether a line is words, or an item of a list of words. What may begin
// it is listed, since what begins a block is not to be known: the next dialect has more.
func proseLine(line string) bool {
	s := strings.TrimLeft(line, " ")
	if rest, ok := strings.CutPrefix(s, "- "); ok {
		s = strings.TrimLeft(rest, " ")
		for _, box := range []string{"[ ] ", "[x] "} {
			s = strings.TrimPrefix(s, box)
		}
	}
	if strings.ContainsAny(line, "<\t|&\\") || strings.Contains(line, "](") || strings.Contains(line, "$$") || strings.Contains(line, "![") {
		return false
	}
	words := strings.TrimPrefix(strings.TrimLeft(s, "(\"'"), "`")
	words = strings.TrimPrefix(words, "**")
	if words == "" {
		return false
	}
	c := words[0]
	digits := strings.TrimLeft(words, "0123456789")
	switch {
	case digits != words && (strings.HasPrefix(digits, ".") || strings.HasPrefix(digits, ")")):
		return digits != "." && digits != ")" && digits[1] != ' ' || proseLine(strings.TrimLeft(digits[1:], " ")) // an item of a list
	case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c >= 0x80, c == '/' || c == '.':
		return true
	}
	return false
}

// Unlaid is a text as it was before it was laid out for Markdown: for who shows it as text.
func Unlaid(text string) string {
	for line := range strings.SplitSeq(text, "\n") {
		if !isBlank(line) && !strings.HasPrefix(line, codeIndent) {
			return text
		}
	}
	return strings.TrimPrefix(strings.ReplaceAll("\n"+text, "\n"+codeIndent, "\n"), "\n")
}

// checkShown holds new entries to that. The line that says which directive a report answers
// is Ward's own, and stands above.
func (c *agentCheck) checkShown(p part, added []entry) {
	for _, e := range added {
		_, text, _ := strings.Cut(c.new.layout.raw(e), "\n")
		if rest, ok := strings.CutPrefix(text, "Directive: "); ok && p == reports {
			hash, below, _ := strings.Cut(rest, "\n")
			if validHash(hash) && (strings.HasPrefix(below, "\n") || !strings.HasPrefix(below, codeIndent)) {
				text = below
			}
		}
		if !shown(text) {
			c.f.add(e.line, 0, ruleAgentText, "put four spaces before each of its lines: that shows it as it stands",
				"the text of %s has more than words in it, which Markdown would show as something else", name(letters[p], e.id))
		}
	}
}
