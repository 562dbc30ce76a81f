package forge

import (
	"strings"
	"unicode/utf8"

	"git-ward/internal/diag"
	"git-ward/internal/pattern"
)

// This file has no list of Markdown syntax to escape, because each forge extends Markdown. Instead,
// all of others' words are code: a block indented by four spaces, or a span within a line. A renderer
// finds no mention, reference, link, picture or HTML in code (CommonMark 4.4 and 6.1). No line of
// theirs begins at column 0, where forges and git look for commands and trailers.
//
// Some readers do not parse Markdown. A squash merge copies a body into a commit's message, where
// "closes #1" closes an issue, and a workflow that prints it obeys "::". For them, apart inserts a
// space between such a mark and what follows.

// indent makes a line part of a code block.
const indent = "    "

// more ends a text that did not fit.
const more = "..."

// Quote returns others' words as a Markdown code block of at most most bytes, without a final
// newline; "" for no words. The caller puts it below a blank line and not below a list, whose last
// item would absorb it.
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

// lineEnds converts CRLF and CR, which web forms and mail use, to LF, and a tab to four spaces, its
// meaning in Markdown.
var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\t", "    ")

// Span returns others' words as a Markdown code span of at most most bytes, the backticks not counted.
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

// Plain returns others' words on one line for places without Markdown, such as a status or a title,
// in at most most bytes. most must have room for the "..." of a cut.
func Plain(words diag.Untrusted, most int) string {
	text := diag.CutWord(strings.TrimSpace(words.Raw()), most)
	text = apart(diag.Clean(strings.Join(strings.Fields(lineEnds.Replace(text)), " ")))
	if len(text) > most {
		text = diag.CutWord(strings.TrimSuffix(text, more), most-len(more))
	}
	return strings.TrimSpace(text)
}

// Patterns that forges act on. inBraces matches two words in brackets, such as "[skip ci]".
var (
	ticket   = pattern.New(`(?i)(GH-)([0-9])`)
	inBraces = pattern.New(`\[([\pL\pN_]+[ _-][\pL\pN_]+\])`)
)

// apart inserts a space between a mark that forges act on, such as @ or #, and the name after it.
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

// calls reports whether sign, with before in front of it and next after it, refers to a person, an
// issue, a request or an address.
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
