package symbols

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"git-ward/internal/pattern"
)

// readPython reads a Python file statement by statement, as Python's own lexer divides it:
// strings, brackets, comments and continued lines are what they are, and blanks at a
// line's beginning say what it belongs to. Every def and class is found, at any depth.
func readPython(f *File, data []byte) {
	r := &pythonReader{file: f, text: string(data), line: 1}
	for r.statement() {
		r.declare()
	}
}

// pythonReader is a place in a Python file, and the statement before it.
type pythonReader struct {
	file   *File
	text   string
	at     int
	line   int // of at, from 1
	indent int // columns, of the statement
	first  int // line that the statement begins on
	// flat is the statement without what is in strings and brackets, whole is it with
	// what is in brackets.
	flat, whole strings.Builder
	scopes      []pythonScope
	follows     bool // the statement stands behind a semicolon, on the line of the one before
}

// pythonScope is a def or class that statements belong to.
type pythonScope struct {
	indent int
	name   string // with those around it: K.m
	class  bool
}

// statement reads the next one; false is the end of the file.
func (r *pythonReader) statement() bool {
	r.flat.Reset()
	r.whole.Reset()
	if !r.follows {
		r.margin()
	}
	r.follows, r.first = false, r.line
	depth := 0
	for r.at < len(r.text) {
		c := r.text[r.at]
		switch {
		case c == '\n' && depth == 0:
			r.newline()
			return true
		case c == '\n':
			r.newline()
			r.whole.WriteByte(' ')
		case c == ';' && depth == 0:
			r.at++
			r.follows = true
			return true
		case c == '#':
			r.skip(strings.IndexByte(r.text[r.at:], '\n'))
		case c == '\\' && strings.HasPrefix(r.text[r.at:], "\\\n") || c == '\\' && strings.HasPrefix(r.text[r.at:], "\\\r\n"):
			r.skip(strings.IndexByte(r.text[r.at:], '\n'))
			r.newline()
			r.put(' ', depth)
		case c == '"' || c == '\'':
			r.put('"', depth)
			r.quoted(r.prefix())
		case strings.IndexByte("([{", c) >= 0:
			r.put(c, depth)
			depth++
			r.at++
		case strings.IndexByte(")]}", c) >= 0:
			depth = max(0, depth-1)
			r.put(c, depth)
			r.at++
		default:
			r.put(c, depth)
			r.at++
		}
	}
	return r.flat.Len() > 0
}

// margin reads the blanks at the beginning of a line.
func (r *pythonReader) margin() {
	r.indent = 0
	for ; r.at < len(r.text); r.at++ {
		switch r.text[r.at] {
		case ' ':
			r.indent++
		case '\t':
			r.indent = r.indent/8*8 + 8
		case '\f', '\r':
			r.indent = 0
		case '\n':
			r.line++
			r.indent = 0
		default:
			if strings.HasPrefix(r.text[r.at:], "\ufeff") {
				r.at += 2
				continue
			}
			return
		}
	}
}

func (r *pythonReader) newline() { r.at, r.line = r.at+1, r.line+1 }

// skip goes n bytes on, to the end for a negative n.
func (r *pythonReader) skip(n int) {
	if n < 0 {
		n = len(r.text) - r.at
	}
	r.at += n
}

// maxStatement bounds what is kept of one statement, in bytes: names stand at its
// beginning.
const maxStatement = 4096

func (r *pythonReader) put(c byte, depth int) {
	if depth == 0 && r.flat.Len() < maxStatement {
		r.flat.WriteByte(c)
	}
	if r.whole.Len() < maxStatement {
		r.whole.WriteByte(c)
	}
}

// prefix reports whether the letters before a quote make it a string with fields, and
// whether one without escapes.
func (r *pythonReader) prefix() (fields bool) {
	for i := r.at - 1; i >= 0 && i >= r.at-3; i-- {
		switch r.text[i] {
		case 'f', 'F', 't', 'T':
			fields = true
		case 'r', 'R', 'b', 'B', 'u', 'U':
		default:
			return fields && !letterBefore(r.text, i+1)
		}
	}
	return fields
}

// letterBefore reports whether a name goes on before a place: then the letters there
// belong to it.
func letterBefore(text string, at int) bool {
	c, _ := utf8.DecodeLastRuneInString(text[:at])
	return at > 0 && (c == '_' || unicode.IsLetter(c) || unicode.IsDigit(c))
}

// quoted skips a string. One that is not closed ends with its line.
func (r *pythonReader) quoted(fields bool) {
	mark := r.text[r.at : r.at+1]
	if long := strings.Repeat(mark, 3); strings.HasPrefix(r.text[r.at:], long) {
		mark = long
	}
	r.at += len(mark)
	for r.at < len(r.text) {
		switch c := r.text[r.at]; {
		case strings.HasPrefix(r.text[r.at:], mark):
			r.at += len(mark)
			return
		case c == '\\' && r.at+1 < len(r.text):
			if r.at++; r.text[r.at] == '\n' {
				r.line++
			}
			r.at++
		case c == '\n' && len(mark) == 1:
			return
		case c == '\n':
			r.newline()
		case fields && strings.HasPrefix(r.text[r.at:], "{{"):
			r.at += 2
		case fields && c == '{':
			r.field(mark, 0)
		default:
			r.at++
		}
	}
}

// maxFields bounds strings within fields within strings.
const maxFields = 8

// field skips a field of a string, whose own strings may have its marks (Python 3.12).
func (r *pythonReader) field(mark string, level int) {
	brackets, format := 0, false
	for r.at++; r.at < len(r.text); {
		switch c := r.text[r.at]; {
		case c == '}' && brackets == 0:
			r.at++
			return
		case c == '\n' && len(mark) == 1:
			return
		case c == '\n':
			r.newline()
		case format && strings.HasPrefix(r.text[r.at:], mark):
			return // it is not closed
		case format && c == '{' && level < maxFields:
			r.field(mark, level+1)
		case !format && (c == '"' || c == '\''):
			r.quoted(false)
		case c == ':' && brackets == 0:
			format = true
			r.at++
		case strings.IndexByte("([{", c) >= 0:
			brackets++
			r.at++
		case strings.IndexByte(")]}", c) >= 0:
			brackets--
			r.at++
		default:
			r.at++
		}
	}
}

const pythonName = `[\pL_][\pL\pN_]*`

var (
	pythonDef    = pattern.New(`^(?:async\s+)?def\s+(` + pythonName + `)`)
	pythonClass  = pattern.New(`^class\s+(` + pythonName + `)`)
	pythonType   = pattern.New(`^type\s+(` + pythonName + `)\s*(?:\[\])?\s*=`)
	pythonTarget = pattern.New(`^\(?\s*(` + pythonName + `(?:\s*,\s*` + pythonName + `)*)\s*,?\s*\)?\s*(?::[^=]*)?=(?:[^=]|$)`)
	pythonNoted  = pattern.New(`^(` + pythonName + `)\s*:\s*[^\s=]`)
	pythonImport = pattern.New(`^import\s+(.+)`)
	pythonFrom   = pattern.New(`^from\s+(\.*)\s*([\pL\pN_.]*)\s*import\b\s*\(?([^)]*)`)
)

// pythonWords begin statements that have a colon and are no declarations.
var pythonWords = map[string]bool{"if": true, "elif": true, "else": true, "for": true, "while": true, "try": true, "except": true, "finally": true, "with": true,
	"match": true, "case": true, "lambda": true, "return": true, "print": true, "assert": true, "del": true, "yield": true, "raise": true, "async": true, "not": true}

// declare notes what the statement declares or imports.
func (r *pythonReader) declare() {
	text := strings.TrimSpace(r.flat.String())
	if text == "" {
		return
	}
	for n := len(r.scopes); n > 0 && r.indent <= r.scopes[n-1].indent; n-- {
		r.scopes = r.scopes[:n-1]
	}
	switch {
	case r.define(text), r.imports(text):
		return
	}
	if n := len(r.scopes); n > 0 && !r.scopes[n-1].class {
		return // names within a function are nobody else's
	}
	if m := pythonType.FindStringSubmatch(text); m != nil {
		r.note(m[1], "type")
		return
	}
	for m := pythonTarget.FindStringSubmatch(text); m != nil; m = pythonTarget.FindStringSubmatch(text) {
		for name := range strings.SplitSeq(m[1], ",") {
			r.note(strings.TrimSpace(name), "var")
		}
		text = strings.TrimSpace(text[strings.IndexByte(text, '=')+1:])
	}
	if m := pythonNoted.FindStringSubmatch(text); m != nil && !pythonWords[m[1]] && !strings.Contains(text, "=") {
		r.note(m[1], "var")
	}
}

// define notes a def or class, and what follows belongs to it.
func (r *pythonReader) define(text string) bool {
	kind, m := "func", pythonDef.FindStringSubmatch(text)
	if m == nil {
		kind, m = "type", pythonClass.FindStringSubmatch(text)
	}
	if m == nil {
		return false
	}
	if n := len(r.scopes); n > 0 && r.scopes[n-1].class && kind == "func" {
		kind = "method"
	}
	r.scopes = append(r.scopes, pythonScope{r.indent, r.note(m[1], kind), kind == "type"})
	return true
}

// note notes a name with those around it.
func (r *pythonReader) note(name, kind string) string {
	if n := len(r.scopes); n > 0 {
		name = r.scopes[n-1].name + "." + name
	}
	r.file.symbol(name, kind, r.first)
	return name
}

// imports notes what an import needs: modules, and the names of a package's own that may
// be modules.
func (r *pythonReader) imports(text string) bool {
	if m := pythonImport.FindStringSubmatch(text); m != nil {
		for part := range strings.SplitSeq(m[1], ",") {
			if words := strings.Fields(part); len(words) > 0 {
				r.file.edge(words[0])
			}
		}
		return true
	}
	m := pythonFrom.FindStringSubmatch(strings.TrimSpace(r.whole.String()))
	if m == nil {
		return false
	}
	if m[2] != "" {
		r.file.edge(m[1] + m[2])
		return true
	}
	for part := range strings.SplitSeq(m[3], ",") {
		if words := strings.Fields(part); len(words) > 0 {
			r.file.edge(m[1] + words[0])
		}
	}
	return true
}
