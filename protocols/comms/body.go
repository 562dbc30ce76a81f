package comms

import "strings"

// bodyReader parses the lines below a directive's heading.
type bodyReader struct {
	d    *Directive
	f    *findings
	goal strings.Builder
	keys map[string]int  // option -> its line
	open bool            // the last criterion may continue
	text strings.Builder // of that criterion; a builder, so that 80,000 lines take linear time
}

// readBody fills d from the lines below its heading.
func readBody(r *entryReader, d *Directive) {
	b := &bodyReader{d: d, f: r.f, keys: map[string]int{}}
	for l := range r.body() {
		b.line(l)
	}
	b.endCriterion()
	d.Goal = trimBlankLines(b.goal.String())
}

func (b *bodyReader) line(l line) {
	if b.open && continues(l.text) {
		b.text.WriteByte(' ')
		b.text.WriteString(strings.TrimSpace(l.text))
		return
	}
	b.endCriterion()
	it, isItem := parseItem(l.text)
	switch {
	case !isItem:
	case it.box != notBox:
		if b.criterion(l, it) {
			return
		}
	case it.indent == 0:
		if b.option(l, it) {
			return
		}
	}
	b.goal.WriteString(l.text)
	b.goal.WriteByte('\n')
}

// continues reports whether a line below a criterion belongs to it. As in Markdown lists, the
// indentation decides.
func continues(s string) bool {
	if !strings.HasPrefix(s, "  ") && !strings.HasPrefix(s, "\t") || isBlank(s) {
		return false
	}
	_, isItem := parseItem(strings.TrimLeft(s, " \t"))
	return !isItem
}

// box says whether a list item has a check box.
type box int

const (
	notBox  box = iota
	badBox      // looks like a check box to a person, but is malformed
	goodBox     // `- [ ] text`
)

// item is one list item.
type item struct {
	indent int
	marker byte
	text   string // after the marker, blanks and check box
	col    int    // column of text, from 1
	box    box
}

// parseItem parses `- text`. It also parses items with `*` and `+`, so that they can be reported.
func parseItem(s string) (item, bool) {
	rest := strings.TrimLeft(s, " ")
	it := item{indent: len(s) - len(rest)}
	if it.indent > 3 || rest == "" || !strings.ContainsRune("-*+", rune(rest[0])) {
		return it, false
	}
	it.marker = rest[0]
	text := strings.TrimLeft(rest[1:], " \t")
	it.box = boxOf(s, text)
	if it.box != notBox {
		_, text, _ = strings.Cut(text, "]")
		text = strings.TrimLeft(text, " \t")
	} else if len(text) == len(rest)-1 {
		return it, false // "-word" is no list item
	}
	it.text, it.col = text, len(s)-len(text)+1
	return it, true
}

// boxOf classifies a list item by its line s and its text.
func boxOf(s, text string) box {
	after, found := cutMark(text)
	switch {
	case !found, strings.HasPrefix(after, "("), strings.HasPrefix(after, "["):
		return notBox // such as a link with the text x
	case isBlank(after):
		return badBox
	}
	for _, start := range []string{"- [ ] ", "- [x] ", "- [X] "} {
		if strings.HasPrefix(s, start) {
			return goodBox
		}
	}
	return badBox
}

// cutMark cuts off a leading check box, in any form that people write.
func cutMark(text string) (after string, found bool) {
	for _, mark := range []string{"[ ]", "[x]", "[X]", "[]"} {
		if after, found = strings.CutPrefix(text, mark); found {
			return after, true
		}
	}
	return "", false
}

// criterion parses `- [ ] text`; if it returns false, the line belongs to the goal.
func (b *bodyReader) criterion(l line, it item) bool {
	if it.box == badBox {
		b.f.add(l.num, 1, ruleCriterion, "write \"- [ ] text (`command`)\", starting at column 1; "+indentHint,
			"%s is not quite an acceptance criterion", quote(l.text))
		return false
	}
	b.d.Criteria = append(b.d.Criteria, Criterion{Line: l.num})
	b.open = true
	b.text.WriteString(strings.TrimSpace(it.text))
	return true
}

// endCriterion parses the command after the criterion's last line.
func (b *bodyReader) endCriterion() {
	if !b.open {
		return
	}
	b.open = false
	c := &b.d.Criteria[len(b.d.Criteria)-1]
	c.Text = b.text.String()
	b.text.Reset()
	command, found := trailingCommand(c.Text)
	c.Command = command
	if found && command == "" {
		b.f.add(c.Line, 0, ruleCriterion, "put the command between two single backticks; inside it write $(...) for backticks",
			"the command at the end of this criterion is empty")
	}
}

// trailingCommand returns the command in backticks at the end of a criterion. It must be at the end, so
// that a person sees which command the verifier runs.
func trailingCommand(s string) (command string, found bool) {
	s = strings.TrimSuffix(s, ".")
	s, parenthesis := strings.CutSuffix(s, ")")
	s, closed := strings.CutSuffix(s, "`")
	at := strings.LastIndexByte(s, '`')
	if !closed || at < 0 || parenthesis && !strings.HasSuffix(s[:at], "(") {
		return "", false
	}
	return strings.TrimSpace(s[at+1:]), true
}
