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
	is      = `(?:[=!]==?|[ \t]-(?:eq|ne)|\[[ \t][^\n]*[ \t]=|\btest[ \t][^\n]*[ \t]=)`
)

var (
	compared = []*pattern.Pattern{
		pattern.New(is + `[ \t]*` + value),
		pattern.New(value + `[ \t]*[=!]==?`),
		// The last of a call that ends a line, before a message, or of a table's row.
		pattern.New(`(?m)(?:,|\)(?:\.\w+)*\.\w+\()[ \t\n]*` + aWord + `(?:,[ \t\n]*(?:` + aString + `))?,?[ \t\n]*[)\]}]+[;,]?[ \t]*\r?$`),
		pattern.New(ofCall),
		pattern.New(`![ \t]*\w+\([^\n]*,[ \t]*` + aWord + `\)`),
	}
	// A call that compares, as C has it, says 0: that stays.
	ofCall = `,[ \t]*` + aWord + `\)[ \t]*[=!]=[ \t]*(0)\b`
	zeros  = pattern.New(ofCall)
	// A shell's commands have words, of which the one that they end with is no such value.
	shellValue = pattern.New(`(?m)[ \t]([0-9]+|'[^'\n/ ]*'|"[^"$\n/ ]*")(?:[ \t;)\]]|$)`)
	shellEnded = pattern.New(`\b(?:exit|return)[ \t]+$`)
	// A loop might go on for ever with another value.
	loops = pattern.New(`(?m)^[^\n]*\b(?:while|until|for|loop)\b[^\n]*$`)
)

// OtherValues is a test, or a program that checks, that compares with other values. ok is
// false where no value can be seen.
func OtherValues(name, text string) (changed string, ok bool) {
	shapes := compared
	switch ext := path.Ext(name); ext {
	case ".sh", ".bash", ".bats":
		shapes = append(slices.Clip(shapes), shellValue)
	default:
		if _, known := languages[ext]; !known {
			return "", false
		}
	}
	looping := loops.Regexp().FindAllStringIndex(text, -1)
	stays := map[int]bool{} // by where it begins
	for _, m := range zeros.Regexp().FindAllStringSubmatchIndex(text, -1) {
		stays[m[4]] = true
	}
	var found []edit
	for _, shape := range shapes {
		for _, m := range shape.Regexp().FindAllStringSubmatchIndex(text, -1) {
			from, to := m[2], m[3]
			if !stays[from] && !within(looping, from) && !(shape == shellValue && shellEnded.MatchString(text[max(0, from-len("return   ")):from])) {
				found = append(found, edit{from, to, ""})
			}
		}
	}
	slices.SortStableFunc(found, func(a, b edit) int { return a.from - b.from })
	var edits []edit
	end := 0
	for _, e := range found { // a string may have in it what looks like another value
		if e.from >= end {
			e.text, end = other(text[e.from:e.to], len(edits)), e.to
			edits = append(edits, e)
		}
	}
	changed = edited(text, edits)
	return changed, changed != text
}

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
