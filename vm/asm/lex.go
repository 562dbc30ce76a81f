package asm

import "strings"

// token is a word, a string or a stray comma of one line; col counts bytes from 1.
type token struct {
	text   string // of a string: without its quotes and escapes
	col    int
	quoted bool
	bad    string // what is wrong with it, "" when nothing is
}

// lexer splits one line.
type lexer struct {
	src string
	pos int
}

const spaces = " \t"

// split returns the words of a line and its comment, which starts with `#`. A
// single comma behind an argument is dropped.
func split(src string, tokens []token) (words []token, comment string) {
	l := lexer{src: src}
	words = tokens[:0]
	for {
		l.skip()
		switch {
		case l.pos == len(src):
			return words, ""
		case src[l.pos] == '#':
			return words, strings.TrimRight(src[l.pos:], spaces)
		case src[l.pos] == '"':
			words = append(words, l.quoted())
		case src[l.pos] == ',':
			words = append(words, token{text: ",", col: l.pos + 1, bad: "a comma without an argument before it"})
			l.pos++
			continue
		default:
			words = append(words, l.word())
		}
		if len(words) > 1 {
			l.comma()
		}
	}
}

func (l *lexer) skip() {
	for l.pos < len(l.src) && (l.src[l.pos] == ' ' || l.src[l.pos] == '\t') {
		l.pos++
	}
}

// comma drops the one comma that may follow an argument.
func (l *lexer) comma() {
	l.skip()
	if l.pos < len(l.src) && l.src[l.pos] == ',' {
		l.pos++
	}
}

func (l *lexer) word() token {
	start := l.pos
	if n := strings.IndexAny(l.src[start:], " \t,#\""); n >= 0 {
		l.pos += n
	} else {
		l.pos = len(l.src)
	}
	return token{text: l.src[start:l.pos], col: start + 1}
}

// escapes are what may follow a backslash in a string.
var escapes = map[byte]byte{'"': '"', '\\': '\\', 'n': '\n', 't': '\t'}

func (l *lexer) quoted() token {
	t := token{col: l.pos + 1, quoted: true}
	var b strings.Builder
	for l.pos++; l.pos < len(l.src); l.pos++ {
		switch c := l.src[l.pos]; c {
		case '"':
			l.pos++
			t.text = b.String()
			return t
		case '\\':
			l.pos++
			if l.pos == len(l.src) {
				break
			}
			plain, ok := escapes[l.src[l.pos]]
			if !ok {
				t.bad = "a string knows the escapes \\\" \\\\ \\n \\t only"
			}
			b.WriteByte(plain)
		default:
			b.WriteByte(c)
		}
	}
	l.pos = len(l.src)
	t.text, t.bad = b.String(), "a string without its closing quote"
	return t
}
