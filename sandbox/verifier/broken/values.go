package broken

import (
	"path"
	"slices"
	"strings"

	"git-ward/internal/pattern"
)

// Tests compare what they get with values in their text. Where these are others, tests fail
// which the code under test answers. One that still holds is decided by something else, such
// as work that replaced what compares.

// A value is a number, or a string of one line; a word is one without a blank, which no
// message is. The patterns are the places where a text can be seen to compare one, in
// languages of C's or Python's shape. What else is in the text stays as it is: another path
// or port would have a test fail for another reason.
const (
	aNumber = `\b[0-9][0-9_]*(?:\.[0-9]+)?\b`
	aString = `"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'`
	value   = `(` + aNumber + `|` + aString + `)`
	aWord   = `(` + aNumber + `|"(?:[^"\\\n ]|\\.)*"|'(?:[^'\\\n ]|\\.)*')`
	// A truth is a value where values have no types: with a string in its place nothing is it.
	aBool  = `\b([tT]rue|[fF]alse)\b`
	behind = `(?m)(?:,|\)(?:\.\w+)*\.\w+\()[ \t\n]*`
	closes = `(?:,[ \t\n]*(?:` + aString + `))?,?[ \t\n]*[)\]}]+[;,]?[ \t]*\r?$`
	is     = `(?:[=!]==?|[ \t]-(?:eq|ne)|\[[ \t][^\n]*[ \t]=|\btest[ \t][^\n]*[ \t]=)`
)

// lastOf is the last of a table's row, or of a call that ends a line, before a message. A call
// counts where it is part of one that compares: what another gets may be a path or a mode.
var (
	lastOf     = pattern.New(behind + aWord + closes)
	lastOfBool = pattern.New(behind + aBool + closes)
)

// comparing is a call's name that says that it compares, in the runners of tests that there are.
var comparing = pattern.New(`(?i)assert|expect|equal|same|should|compare|match|contain|(?:^|[._])to(?:be|have|throw|return)|(?:^|[._])(?:eql?|n?eq|ne|is|cmp)!?$`)

// maxCall bounds how far before a value its calls are looked for, in bytes.
const maxCall = 4 << 10

// compares reports whether what stands at a place is no argument, or one of a call that compares.
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

// callee is what a bracket calls, with what that is a method of; "" for a bracket of another kind.
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
	// A call that compares, as C has it, says 0: that stays.
	ofCall = `,[ \t]*` + aWord + `\)[ \t]*[=!]=[ \t]*(0)\b`
	zeros  = pattern.New(ofCall)
	// A shell's commands have words, of which the one that they end with is no such value.
	shellValue = pattern.New(`(?m)[ \t]([0-9]+|'[^'\n/ ]*'|"[^"$\n/ ]*")(?:[ \t;)\]]|$)`)
	shellEnded = pattern.New(`\b(?:exit|return)[ \t]+$`)
	// A loop might go on for ever with another value.
	loops = pattern.New(`(?m)^[^\n]*\b(?:while|until|for|loop)\b[^\n]*$`)
)

// Other is a file whose tests compare with other values.
type Other struct {
	Text string
	// Tests are those of which the own text is changed, or what stands beside all of them, by name,
	// and whether surely in what it compares, and not in what it compares with that.
	Tests map[string]bool
}

// OtherValues is a test, or a program that checks, that compares with other values. ok is
// false where no value can be seen.
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

// aLength is what stands in a call before its third argument, a number: a string, or something else.
var aLength = pattern.New(`,[ \t]*(?:("(?:[^"\\\n]|\\.)+")|[^,()"\n]+)[ \t]*,[ \t]*$`)

// lengths are where calls that say 0 compare only so much of two things, `strncmp(s, "two", 2)`: at to.
// With another length they may hold as well, so that it stays, and the string at from, if there is one,
// has another first letter.
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

// untyped reports whether the texts with such an end are in Python, or one of JavaScript's kind.
func untyped(ext string) bool { return languages[ext].tests != nil && languages[ext].ends != nil }

// operators is how many of compared begin the list that have an operator for it.
const operators = 2

// asserts reports whether a value is the last that a statement's call is given behind what
// another call gave, or all that one is given of a chain of calls which begins the line.
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

// within reports whether a place lies in one of the parts of a text, which are in its order.
func within(parts [][]int, at int) bool {
	i, found := slices.BinarySearchFunc(parts, at, func(part []int, at int) int { return part[0] - at })
	return found || i > 0 && at < parts[i-1][1]
}

// other is another value of the same length. The n-th changes otherwise than the one before:
// what goes in and what comes out may be the same.
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

// turnDown changes a number's digit: to a smaller one, where there is one that leaves it a number.
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

// OtherLines is a text that has another letter or digit in each of its lines; ok is false where
// none can be changed.
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
