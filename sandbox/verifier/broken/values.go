package broken

import (
	"path"
	"slices"
	"strings"

	"git-ward/internal/pattern"
)

// Tests compare results with values in their text. If those values are changed, a test fails whose
// results come from the code under test. If it still passes, something else decides it, such as work
// that replaced the assertion.

// A value is a number, or a string of one line; a word is a string without a blank, which a message is
// not. The patterns match the places where a text visibly compares one, in languages like C or Python.
// The rest of the text stays as it is: another path or port would fail the test for another reason.
const (
	aNumber = `\b[0-9][0-9_]*(?:\.[0-9]+)?\b`
	aString = `"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'`
	value   = `(` + aNumber + `|` + aString + `)`
	aWord   = `(` + aNumber + `|"(?:[^"\\\n ]|\\.)*"|'(?:[^'\\\n ]|\\.)*')`
	// In an untyped language a truth is a value, too: nothing equals the string in its place.
	aBool  = `\b([tT]rue|[fF]alse)\b`
	behind = `(?m)(?:,|\)(?:\.\w+)*\.\w+\()[ \t\n]*`
	closes = `(?:,[ \t\n]*(?:` + aString + `))?,?[ \t\n]*[)\]}]+[;,]?[ \t]*\r?$`
	is     = `(?:[=!]==?|[ \t]-(?:eq|ne)|\[[ \t][^\n]*[ \t]=|\btest[ \t][^\n]*[ \t]=)`
)

// lastOf matches the last value of a table's row, or of a call that ends a line, before a message. A call
// counts only as part of one that compares: an argument of another may be a path or a mode.
var (
	lastOf     = pattern.New(behind + aWord + closes)
	lastOfBool = pattern.New(behind + aBool + closes)
)

// comparing matches the name of a call that says that it compares, in known test runners.
var comparing = pattern.New(`(?i)assert|expect|equal|same|should|compare|match|contain|(?:^|[._])to(?:be|have|throw|return)|(?:^|[._])(?:eql?|n?eq|ne|is|cmp)!?$`)

// maxCall bounds how far before a value its calls are looked for, in bytes.
const maxCall = 4 << 10

// compares reports whether the text at a place is not an argument, or is one of a call that compares.
func compares(text string, at int) bool {
	least, depth, args := max(0, at-maxCall), 0, false
	for i := at - 1; i >= least; i-- {
		switch c := text[i]; {
		case strings.IndexByte(")]}", c) >= 0:
			depth++
		case strings.IndexByte("([{", c) >= 0 && depth > 0:
			depth--
		case c == '(':
			name := callee(text, least, i)
			if comparing.MatchString(name) {
				return true
			}
			args = args || name != ""
			if !args { // a row
				return true
			}
		case (c == '[' || c == '{') && !args:
			return true
		case c == '{': // of a block, in which the call is a statement
			return false
		}
	}
	return !args
}

// callee returns the function that a bracket calls, with its receiver; "" for another bracket.
func callee(text string, least, bracket int) string {
	from := bracket
	for depth := 0; from > least; from-- {
		switch c := text[from-1]; {
		case c == ')':
			depth++
		case c == '(' && depth > 0:
			depth--
		case depth > 0, c == '.', c == '_', c == '!' && from == bracket, 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		default:
			return text[from:bracket]
		}
	}
	return text[from:bracket]
}

var (
	compared = []*pattern.Pattern{
		pattern.New(is + `[ \t]*` + value),
		pattern.New(value + `[ \t]*[=!]==?`),
		lastOf,
		saysZero[0],
		saysZero[1],
	}
	saysZero = []*pattern.Pattern{zeros, pattern.New(`![ \t]*\w+\([^\n]*,[ \t]*` + aWord + `\)`)}
	// A comparing call of C's returns 0 for equal, which stays.
	ofCall = `,[ \t]*` + aWord + `\)[ \t]*[=!]=[ \t]*(0)\b`
	zeros  = pattern.New(ofCall)
	// A shell command's arguments are words; this one is quoted or a number. The exit code after exit or
	// return is not a value that a test compares with.
	shellValue = pattern.New(`(?m)[ \t]([0-9]+|'[^'\n/ ]*'|"[^"$\n/ ]*")(?:[ \t;)\]]|$)`)
	shellEnded = pattern.New(`\b(?:exit|return)[ \t]+$`)
	// With another value a loop might never end.
	loops = pattern.New(`(?m)^[^\n]*\b(?:while|until|for|loop)\b[^\n]*$`)
)

// Other is a file whose tests compare with changed values.
type Other struct {
	Text string
	// Tests are the names of those whose own text, or what stands beside all of them, is changed. The
	// value says whether the change is surely in an expected value, and not in an input.
	Tests map[string]bool
}

// OtherValues changes the values that a test, or a checking program, compares with. ok is false where
// no value can be found.
func OtherValues(name, text string) (o Other, ok bool) {
	shapes := compared
	switch ext := path.Ext(name); ext {
	case ".sh", ".bash", ".bats":
		shapes = append(slices.Clip(shapes), shellValue)
	default:
		if _, known := languages[ext]; !known {
			return o, false
		}
		if untyped(ext) {
			shapes = append(slices.Clip(shapes), lastOfBool)
		}
	}
	looping := loops.Regexp().FindAllStringIndex(text, -1)
	stays := map[int]bool{} // by where it begins
	for _, m := range zeros.Regexp().FindAllStringSubmatchIndex(text, -1) {
		stays[m[4]] = true
	}
	var found []edit
	sure := map[int]bool{} // by where it begins
	for _, e := range lengths(text) {
		if stays[e.to] = true; e.text != "" && !within(looping, e.from) {
			e.to = e.from + len(e.text)
			found = append(found, e)
		}
	}
	columns, rows := []column(nil), []*tableRow(nil)
	if path.Ext(name) == ".go" {
		columns, rows = goColumns(text)
	}
	inRow := func(at int) bool { // of what is one of a row's values, the row says more
		return slices.ContainsFunc(rows, func(r *tableRow) bool { return r.from < at && at < r.to })
	}
	for i, shape := range shapes {
		for _, m := range shape.Regexp().FindAllStringSubmatchIndex(text, -1) {
			from, to := m[2], m[3]
			if !stays[from] && !within(looping, from) && (shape != lastOf && shape != lastOfBool || compares(text, from) && !inRow(from)) && !(shape == shellValue && shellEnded.MatchString(text[max(0, from-len("return   ")):from])) {
				found = append(found, edit{from, to, ""})
				sure[from] = sure[from] || i < operators || asserts(text, from)
			}
		}
	}
	compares := map[int][]string{} // a column of a table, by where a value begins: the tests that ask for it
	for _, c := range columns {
		found = append(found, edit{c.from, c.to, ""})
		compares[c.from] = append(compares[c.from], c.test)
	}
	for n, r := range rows {
		if !r.known {
			found = append(found, r.others(text, n)...)
		}
	}
	slices.SortStableFunc(found, func(a, b edit) int { return a.from - b.from })
	var edits []edit
	end := 0
	for _, e := range found { // a string may have in it what looks like another value
		if e.from >= end {
			if end = e.to; e.text == "" {
				e.text = other(text[e.from:e.to], len(edits))
			}
			edits = append(edits, e)
		}
	}
	o = Other{edited(text, edits), map[string]bool{}}
	tests := inFile(name, text)
	if len(tests) == 0 {
		tests = []test{{to: len(text)}}
	}
	for _, e := range edits {
		inside := slices.ContainsFunc(tests, func(t test) bool { return t.from <= e.from && e.to <= t.to })
		for _, t := range tests { // a table beside the tests may be any test's
			if (!inside || t.from <= e.from && e.to <= t.to) && text[e.from:e.to] != e.text {
				o.Tests[t.name] = o.Tests[t.name] || inside && sure[e.from] || slices.Contains(compares[e.from], t.name)
			}
		}
	}
	return o, o.Text != text
}

// aLength matches what precedes a call's third argument: a string, or something else.
var aLength = pattern.New(`,[ \t]*(?:("(?:[^"\\\n]|\\.)+")|[^,()"\n]+)[ \t]*,[ \t]*$`)

// lengths finds calls that compare only so many bytes, `strncmp(s, "two", 2)`; to is the place of the
// length. With another length they may hold as well, so the length stays, and the string at from, if
// there is one, gets another first letter.
func lengths(text string) (found []edit) {
	for _, shape := range saysZero {
		for _, at := range shape.Regexp().FindAllStringSubmatchIndex(text, -1) {
			line := strings.LastIndexByte(text[:at[2]], '\n') + 1
			m := aLength.Regexp().FindStringSubmatchIndex(text[line:at[2]])
			if m == nil || text[at[2]] == '"' || text[at[2]] == '\'' {
				continue
			}
			e := edit{to: at[2]}
			if m[2] >= 0 {
				if b := []byte(text[line+m[2] : line+m[3]]); turn(b, 1, 0) {
					e.from, e.text = line+m[2], string(b)
				}
			}
			found = append(found, e)
		}
	}
	return found
}

// untyped reports whether files with an extension are in Python or a language like JavaScript.
func untyped(ext string) bool { return languages[ext].tests != nil && languages[ext].ends != nil }

// operators is how many entries at the begin of compared have an operator.
const operators = 2

// asserts reports whether a value is the last argument of a statement's call, after another call's
// result, or the only argument of a call in a chain that begins the line.
func asserts(text string, at int) bool {
	depth, calls, open := 0, false, at-1
	for ; open >= 0; open-- {
		switch text[open] {
		case ')':
			depth++
			calls = true
		case '(':
			depth--
		}
		if depth < 0 {
			break
		}
	}
	if open < 0 {
		return false
	}
	begins := text[strings.LastIndexByte(text[:open], '\n')+1 : open]
	if strings.TrimSpace(text[open+1:at]) == "" {
		return statementChain.MatchString(begins)
	}
	return calls && statement.MatchString(begins)
}

// What may stand on a line before the arguments of its call.
var (
	statement      = pattern.New(`^[ \t]*(?:await[ \t]+)?[\w.!]+$`)
	statementChain = pattern.New(`^[ \t]*(?:await[ \t]+)?\w+\(.*\)(?:\.\w+)+$`)
)

// within reports whether a place lies in one of the sorted parts of a text.
func within(parts [][]int, at int) bool {
	i, found := slices.BinarySearchFunc(parts, at, func(part []int, at int) int { return part[0] - at })
	return found || i > 0 && at < parts[i-1][1]
}

// other makes another value of the same length. Each n changes in another way than the one before,
// because an input and its output may be equal.
func other(value string, n int) string {
	b := []byte(value)
	if quote := b[0]; quote == '"' || quote == '\'' {
		for i := len(b) - 2; i > 0 && !strings.ContainsAny(value, "%{"); i-- { // of a format each letter counts
			if b[i-1] != '\\' && turn(b, i, n) {
				break
			}
		}
		return string(b)
	}
	if 'A' <= b[0] {
		return `"` + value[:len(value)-2] + `"`
	}
	at := 0
	if b[0] == '1' && len(b) > 1 && '0' <= b[1] && b[1] <= '9' {
		at = 1 // 199 may be all that a byte has room for
	}
	turnDown(b, at, n)
	return string(b)
}

// turn changes a letter or a digit.
func turn(b []byte, i, n int) bool {
	for _, class := range []string{"0123456789", "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ"} {
		if at := strings.IndexByte(class, b[i]); at >= 0 {
			b[i] = class[(at+1+n%2)%len(class)]
			return true
		}
	}
	return false
}

// turnDown changes a digit to a smaller one, if one leaves the text a number.
func turnDown(b []byte, i, n int) {
	d, by := b[i]-'0', byte(1+n%2)
	least := byte(0)
	if i == 0 && len(b) > 1 && b[1] != '.' {
		least = 1 // with a 0 before it, it would be octal
	}
	switch {
	case d >= least+by:
		b[i] -= by
	case d > least:
		b[i]--
	case d == 0:
		b[i] += by
	default:
		b[i]++
	}
}

// OtherLines changes a letter or a digit in each line of a text. ok is false where no line can be
// changed.
func OtherLines(text string) (changed string, ok bool) {
	b, open := []byte(text), true
	for i, n := len(b)-1, 0; i >= 0; i-- {
		if b[i] == '\n' {
			open, n = true, n+1
		} else if open && turn(b, i, n) {
			open = false
		}
	}
	return string(b), string(b) != text
}
