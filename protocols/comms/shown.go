package comms

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

const ruleAgentText = "comms/agent-text"

// People read COMMS.md rendered. There an unclosed comment, <details> or fence, a line of dashes or a
// heading in a list item hides or reorders everything after it, and pairs of dollars, tildes, carets or
// colons turn a sentence into a formula, struck-out text or a picture. This file has no list of such
// syntax, because dialects of Markdown extend it. Instead, a text is either plain prose, or it becomes
// a code block as a whole by four spaces before each line, which is rendered literally (CommonMark 4.4).

// asText returns the text unchanged if it is plain prose, else as a code block.
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

// shown reports whether Markdown renders a text below a heading or a blank line literally.
func shown(text string) bool {
	code, prose, fresh := true, true, true
	var numbers numbering
	for line := range strings.SplitSeq(text, "\n") {
		blank := isBlank(line)
		if !blank {
			code = code && strings.HasPrefix(line, codeIndent)
			prose = prose && proseLine(line, fresh, &numbers)
		}
		fresh = blank
	}
	return code || prose && !crossed(text)
}

// crossed reports whether both prose and code have a dollar, or both have a tilde. Some dialects pair
// these to a formula or to struck-out text.
func crossed(text string) bool {
	var words, code strings.Builder
	for i, part := range strings.Split(text, "`") {
		[]*strings.Builder{&words, &code}[i%2].WriteString(part)
	}
	return slices.ContainsFunc([]string{"$", "~"}, func(mark string) bool {
		return strings.Contains(words.String(), mark) && strings.Contains(code.String(), mark)
	})
}

// proseLine reports whether a line is plain words or a list item of plain words; fresh says that it
// follows a blank line. It allows known beginnings, because the set of those that begin a block in
// some dialect is unknown.
func proseLine(line string, fresh bool, numbers *numbering) bool {
	s := strings.TrimLeft(line, " ")
	column := func() int { return len(line) - len(s) }
	if rest, ok := strings.CutPrefix(s, "- "); ok {
		numbers.item(column(), 2, 0)
		s, fresh = strings.TrimLeft(rest, " "), false
		for _, box := range []string{"[ ] ", "[x] "} {
			s = strings.TrimPrefix(s, box)
		}
	}
	if digits := len(s) - len(strings.TrimLeft(s, "0123456789")); digits > 0 && len(s) > digits && (s[digits] == '.' || s[digits] == ')') {
		rest := s[digits+1:]
		if rest == "" {
			return false
		}
		if rest[0] == ' ' {
			if n, err := strconv.Atoi(s[:digits]); err != nil || !numbers.item(column(), digits+2, n) {
				return false
			}
			return proseLine(strings.Repeat(" ", column()+digits+1)+rest, false, numbers)
		}
	} else if fresh {
		numbers.cut(column())
	}
	words := strings.TrimLeft(s, "(\"'")
	words = strings.TrimPrefix(strings.TrimPrefix(words, "`"), "**")
	first, size := utf8.DecodeRuneInString(words)
	return size > 0 && (inWord(first) || first >= utf8.RuneSelf || strings.ContainsRune("/.$~", first)) && plain([]rune(s))
}

// numbering is the stack of list items that a line may continue, outermost first. Markdown renumbers
// lists: it would show items 1 and 3 as 1 and 2.
type numbering []struct{ content, number int }

// cut pops the items whose content begins right of column, and returns the number of the outermost.
func (l *numbering) cut(column int) (number int) {
	for len(*l) > 0 && (*l)[len(*l)-1].content > column {
		number = (*l)[len(*l)-1].number
		*l = (*l)[:len(*l)-1]
	}
	return number
}

// item pushes an item and reports whether Markdown shows it with its own number; a dash has number 0.
func (l *numbering) item(column, width, number int) bool {
	before := l.cut(column)
	*l = append(*l, struct{ content, number int }{column + width, number})
	return number == 0 || number == before+1
}

// plain reports whether every dialect of Markdown renders a line literally. Every character except
// letters, digits and spaces has a meaning in some dialect; the cases below are those where it has
// none, outside of code.
func plain(s []rune) bool {
	code, emphasis, bracket, word := false, 0, false, 0
	at := func(i int) rune {
		if i < 0 || i >= len(s) {
			return ' '
		}
		return s[i]
	}
	for i := 0; i < len(s); i++ {
		c, before, after := s[i], at(i-1), at(i+1)
		ok := !code || !strings.ContainsRune("<\t|&\\", c)
		switch {
		case c == '`': // which is part of an address before it
			begun := string(s[word:i])
			ok = after != '`' && (code || !strings.Contains(begun, "://") && !strings.Contains(begun, "www."))
			code = !code
		case code, c >= utf8.RuneSelf, inWord(c), strings.ContainsRune(" .,;?!'\"()/@#>-", c):
		case c == '$': // $5: what ends a formula is not before a digit
			ok = '0' <= after && after <= '9'
		case c == '~': // ~/x and ~5: what ends a stroke is not behind a space
			ok = before == ' ' && (after == '/' || '0' <= after && after <= '9')
		case c == '_':
			ok = inWord(before) && inWord(after)
		case c == '%':
			ok = after != c && !inWord(after) // %41 in an address
		case c == '=', c == '+': // C++, a == b: what begins a mark is not before a space
			ok = after != c || at(i+2) == ' '
		case c == ':':
			ok = !emojiCode(s[i+1:])
		case c == '*' && before == ' ' && after == ' ':
		case c == '*': // emphasis of whole words, of which nothing is lost but that
			run := 1
			if after == c {
				run, i, after = 2, i+1, at(i+2)
			}
			if emphasis == 0 {
				emphasis, ok = run, (before == ' ' || before == '(') && (inWord(after) || after == '`')
			} else {
				ok = emphasis == run && before != ' ' && !inWord(after) && after != c
				emphasis = 0
			}
		case c == '[': // [limits]: no picture, link, note or list of contents
			bracket, ok = true, !bracket && i > 0 && (inWord(before) || before == ' ' || before == '(') && inWord(after)
		case c == ']':
			bracket, ok = false, bracket && !strings.ContainsRune("([:", after)
		default:
			ok = false
		}
		if !ok {
			return false
		}
		if c == ' ' {
			word = i + 1
		}
	}
	return !code && emphasis == 0 && !bracket
}

func inWord(c rune) bool {
	return unicode.IsLetter(c) || unicode.IsDigit(c)
}

// emojiCode reports whether the text after a colon is the rest of an emoji code: a word up to the next
// colon. Two digits are a time.
func emojiCode(s []rune) bool {
	n := slices.IndexFunc(s, func(c rune) bool { return !inWord(c) && !strings.ContainsRune("_+-", c) })
	return n > 0 && s[n] == ':' && (n > 2 || slices.ContainsFunc(s[:n], func(c rune) bool { return !unicode.IsDigit(c) }))
}

// Unlaid reverses the indentation for Markdown, for callers that show the text as it was.
func Unlaid(text string) string {
	for line := range strings.SplitSeq(text, "\n") {
		if !isBlank(line) && !strings.HasPrefix(line, codeIndent) {
			return text
		}
	}
	return strings.TrimPrefix(strings.ReplaceAll("\n"+text, "\n"+codeIndent, "\n"), "\n")
}

// checkShown requires this of new entries. The line with the directive's hash above a report's text is
// Ward's own, and not checked.
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
