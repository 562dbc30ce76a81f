package broken

import (
	"path"
	"strings"

	"git-ward/internal/pattern"
)

// A test that compares with no value asserts a truth, or that something throws. A word before the
// condition makes the assertion fail: `assert even(4)` becomes `assert 0 and even(4)`. If such a test
// still comes to its end, the assertion was replaced. Only statements of the test's own body count,
// because a test that comes to its end has reached them.
var (
	pythonAsks = pattern.New(`^(assert[ \t]+|(?:with[ \t]+)?(?:self\.assert(?:True|Raises)|pytest\.raises)\()`)
	pythonNots = pattern.New(`^(self\.assertFalse\()`)
	cAsks      = pattern.New(`^(assert\()`)
	ecmaAsks   = pattern.New(`^((?:await[ \t]+)?assert(?:\.ok|\.throws|\.rejects)?\()`)
	// otherwise matches what binds looser than the word that is put before it.
	otherwise  = pattern.New(`\b(?:or|if)\b|\\$`)
	cOtherwise = pattern.New(`\|\||\?|[^;]$`)
)

// NoTruths returns a test in which each assertion of a truth value fails. ok is false if the test
// has no such assertion.
func NoTruths(name, text string) (o Other, ok bool) {
	asks, nots, other, word, not := ecmaAsks, (*pattern.Pattern)(nil), (*pattern.Pattern)(nil), "0, ", ""
	switch ext := path.Ext(name); {
	case ext == ".c":
		asks, other, word = cAsks, cOtherwise, "(volatile int){0} && " // a constant would have what follows left out
	case !untyped(ext):
		return o, false
	case ext == ".py":
		asks, nots, other, word, not = pythonAsks, pythonNots, otherwise, "0 and ", "1 or "
	}
	o = Other{text, map[string]bool{}}
	var edits []edit
	tests := inFile(name, text)
	if m := cMain.Regexp().FindStringIndex(text); m != nil && path.Ext(name) == ".c" { // of a program that checks
		body, _, _ := strings.Cut(text[m[1]:], "\n}")
		tests = []test{{from: m[1], to: m[1] + len(body)}}
	}
	for _, t := range tests {
		at := t.from
		if path.Ext(name) != ".c" {
			at, _, _ = scriptOf(name).begin(text, t.from)
		}
		if at < 0 {
			continue
		}
		body := text[at:t.to]
		at += len(body) - len(strings.TrimLeft(body, " \t\n"))
		indent := text[strings.LastIndexByte(text[:at], '\n')+1 : at]
		for from := at; from < t.to; {
			line, _, _ := strings.Cut(text[from:t.to], "\n")
			for p, put := range map[*pattern.Pattern]string{asks: word, nots: not} {
				if p == nil || other != nil && other.MatchString(line) {
					continue
				}
				if m := p.FindStringSubmatch(line); m != nil {
					edits = append(edits, edit{from + len(m[1]), from + len(m[1]), put})
					o.Tests[t.name] = true
				}
			}
			from += len(line)
			next := strings.Index(text[from:t.to], "\n"+indent)
			if next < 0 {
				break
			}
			from += next + 1 + len(indent)
		}
	}
	o.Text = edited(text, edits)
	return o, len(edits) > 0
}
