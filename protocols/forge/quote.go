package forge

import (
	"strings"
	"unicode/utf8"

	"git-ward/internal/diag"
	"git-ward/internal/pattern"
)

// There is no list here of what a forge's Markdown makes of a text, which each of them adds
// to: words of others are code as a whole, a block by four spaces before each line or a span
// in one line, and there a renderer sees no mention, reference, link, picture or HTML
// (CommonMark 4.4 and 6.1). Nor does a line of theirs begin at column 0, where forges and
// git look for commands and trailers.
//
// Some readers know no Markdown: a squash merge makes a body a commit's message, in which
// "closes #1" closes, and a workflow that prints it obeys "::". For them apart parts what
// calls something from what it calls.

// indent makes a line one of a block of code.
const indent = "    "

// more ends a text that did not fit.
const more = "..."

// Quote shows words of others in Markdown, as a block of at most so many bytes, without a
// line end behind it; "" for none. It has to stand below a blank line, and below no list: an
// item would take it for its own text.
func Quote(words diag.Untrusted, most int) string {
	if most < len(indent+more) {
		return ""
	}
	text := lineEnds.Replace(diag.CutWord(words.Raw(), most))
	var b strings.Builder
	room := most - len(indent+more)
	blank := false
	lines := strings.Split(strings.TrimRight(text, "\n "), "\n")
	for i, line := range lines {
		line = strings.TrimRight(apart(diag.Clean(line)), " ")
		if line == "" {
			blank = b.Len() > 0
			continue
		}
		if blank && b.Len() < room {
			b.WriteByte('\n')
		}
		if blank = false; b.Len()+len(indent+line+"\n") > room {
			b.WriteString(indent + diag.CutWord(line, max(0, most-b.Len()-len(indent+more))))
			if i < len(lines)-1 && !strings.HasSuffix(b.String(), more) {
				b.WriteString(more)
			}
			break
		}
		b.WriteString(indent + line + "\n")
	}
	return strings.TrimRight(b.String(), "\n")
}

// lineEnds makes the line ends of forms and mail git's, and a tab what Markdown takes it for.
var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\t", "    ")

// Span shows words of others within a line of Markdown, in so many bytes beside its marks.
func Span(words diag.Untrusted, most int) string {
	text := Plain(words, most)
	if text == "" {
		return "(nothing)"
	}
	fence := "`"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	if strings.HasPrefix(text, "`") || strings.HasSuffix(text, "`") {
		text = " " + text + " "
	}
	return fence + text + fence
}

// Plain shows words of others on one line where no Markdown is read, such as a status or a
// title, in at most so many bytes, of which there are more than a few.
func Plain(words diag.Untrusted, most int) string {
	text := diag.CutWord(strings.TrimSpace(words.Raw()), most)
	text = apart(diag.Clean(strings.Join(strings.Fields(lineEnds.Replace(text)), " ")))
	if len(text) > most {
		text = diag.CutWord(strings.TrimSuffix(text, more), most-len(more))
	}
	return strings.TrimSpace(text)
}

// The forms of a line that call something. "[skip ci]" and its like are two words in brackets.
var (
	ticket   = pattern.New(`(?i)(GH-)([0-9])`)
	inBraces = pattern.New(`\[([\pL\pN_]+[ _-][\pL\pN_]+\])`)
)

// apart puts a space between a sign that calls something and its name.
func apart(line string) string {
	if strings.HasPrefix(strings.TrimLeft(line, " "), "::") {
		line = strings.Replace(line, "::", ": :", 1)
	}
	line = ticket.ReplaceAllString(line, "$1 $2")
	line = inBraces.ReplaceAllString(line, "[ $1")
	var b strings.Builder
	for i, c := range line {
		b.WriteRune(c)
		if next, _ := utf8.DecodeRuneInString(line[i+utf8.RuneLen(c):]); calls(line[:i], c, next) {
			b.WriteByte(' ')
		}
	}
	return b.String()
}

// calls reports whether a sign with this behind it names a person, an issue, a request or an
// address.
func calls(before string, sign, next rune) bool {
	if next == utf8.RuneError || next == ' ' {
		return false
	}
	switch sign {
	case '@':
		return true
	case '#':
		return next != '#'
	case '!':
		return '0' <= next && next <= '9'
	case '/':
		return strings.HasSuffix(before, ":/")
	}
	return false
}
