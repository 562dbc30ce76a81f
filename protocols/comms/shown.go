package comms

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

const ruleAgentText = "comms/agent-text"

// People read COMMS.md rendered, where a comment or a <details> that nobody closes, a fence, a
// line of dashes or a heading within a list item hides or reorders all that follows, and where
// two dollars, tildes, carets or colons make of a sentence a formula, a line through it or a
// picture. There is no list here of what Markdown knows, which some dialect will always add to:
// a text either has nothing in it but prose, or it is a block of code as a whole, by four
// spaces before each line, which shows whatever stands there as it stands (CommonMark 4.4).

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

// crossed reports whether a price or a directory of prose has its like in code, which some
// dialects take for the other end of a formula or a stroke.
func crossed(text string) bool {
	var words, code strings.Builder
	for i, part := range strings.Split(text, "`") {
		[]*strings.Builder{&words, &code}[i%2].WriteString(part)
	}
	return slices.ContainsFunc([]string{"$", "~"}, func(mark string) bool {
		return strings.Contains(words.String(), mark) && strings.Contains(code.String(), mark)
	})
}

// proseLine reports whether a line, fresh below a blank one or not, is words, or an item of a
// list of words. What may begin it is listed, since what begins a block is not to be known.
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

// numbering are the items of lists that a line may go on with, the outer ones first: Markdown
// counts for itself, and shows items 1 and 3 as 1 and 2.
type numbering []struct{ content, number int }

// cut ends the items that do not go as far to the right, and says the number of the outermost.
func (l *numbering) cut(column int) (number int) {
	for len(*l) > 0 && (*l)[len(*l)-1].content > column {
		number = (*l)[len(*l)-1].number
		*l = (*l)[:len(*l)-1]
	}
	return number
}

// item begins one, and reports whether it is shown with its number; 0 is that of a dash.
func (l *numbering) item(column, width, number int) bool {
	before := l.cut(column)
	*l = append(*l, struct{ content, number int }{column + width, number})
	return number == 0 || number == before+1
}

// plain reports whether a line says in each dialect of Markdown what it says as text. What is
// no letter, digit or space has a meaning in some of them; listed is where it has none, outside
// of code.
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

// emojiCode reports whether what is behind a colon makes a picture of it: a word up to the
// next one. Two digits are a time.
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
