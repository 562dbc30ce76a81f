package broken

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"git-ward/internal/pattern"
)

// How a Python test gets its rows: from pytest's parameters above it, or from a loop over a list that
// stands in the loop or beside the test under a name.
var (
	pythonGiven = pattern.New(`parametrize\([ \t\n]*["']([\w, \t]+)["'][ \t\n]*,[ \t\n]*([\[(])`)
	pythonOver  = pattern.New(`(?m)^[ \t]+for[ \t]+\(?([\w, \t]+?)\)?[ \t]+in[ \t]+(?:([\[(])|(\w+)[ \t]*:)`)
)

// pythonRows finds the comparisons with one row's value. The test recognizes the row by a value that
// no row has, and stops there. A row of pytest's is a call of its own, which fails; in a loop the
// process ends, because an exception in a subtest goes no further. A column is compared if a statement
// of the test asserts that something equals it.
func pythonRows(text string) (list []Comparison) {
	tests := inFile("test.py", text)
	for _, m := range pythonGiven.Regexp().FindAllStringSubmatchIndex(text, -1) {
		if i := slices.IndexFunc(tests, func(t test) bool { return t.from > m[4] }); i >= 0 {
			list = append(list, pythonColumns(text, tests[i], text[m[2]:m[3]], m[4], "raise AssertionError")...)
		}
	}
	for _, t := range tests {
		for _, m := range pythonOver.Regexp().FindAllStringSubmatchIndex(text[t.from:t.to], -1) {
			names, at := text[t.from+m[2]:t.from+m[3]], t.from+m[4]
			if m[4] < 0 {
				beside := regexp.MustCompile(`(?m)^` + text[t.from+m[6]:t.from+m[7]] + `[ \t]*=[ \t]*[\[(]`).FindStringIndex(text)
				if beside == nil {
					continue
				}
				at = beside[1] - 1
			}
			list = append(list, pythonColumns(text, t, names, at, "__import__('posix')._exit(1)")...)
		}
	}
	return list
}

// pythonColumns finds those in the list whose bracket opens at a place, by the names that the test
// gives to a row's values. stop is the statement that stops the test at one.
func pythonColumns(text string, t test, names string, at int, stop string) (list []Comparison) {
	columns := strings.FieldsFunc(names, func(r rune) bool { return strings.ContainsRune(", \t", r) })
	conditions := make([]int, len(columns))
	for i, name := range columns {
		conditions[i] = pythonAsked(text, t, name)
	}
	taken := map[string]bool{}
	var found []column
	for _, row := range pythonElements(text, at) {
		values := [][2]int{row}
		if len(columns) > 1 {
			open := strings.IndexAny(text[row[0]:row[1]], "([") // of a tuple, or of pytest.param
			if open < 0 {
				continue
			}
			values = pythonElements(text, row[0]+open)
		}
		for i, v := range values[:min(len(values), len(columns))] {
			said := text[v[0]:v[1]]
			taken[said] = true
			if cond := conditions[i]; cond >= 0 && aValueOnly.MatchString(said) {
				found = append(found, column{t.name, v[0], v[1], edit{cond, cond, ""}, columns[i]})
			}
		}
	}
	for _, c := range found {
		value := text[c.from:c.to]
		i := slices.IndexFunc(unlikes(value), func(v string) bool { return !taken[v] })
		if i < 0 {
			continue
		}
		mark := unlikes(value)[i]
		list = append(list, Comparison{Test: c.test, unlike: edit{from: c.from, to: c.to}, whether: func(equal bool) []edit {
			at := c.cond.from
			if equal {
				if strings.HasPrefix(text[at:], "assert") {
					at += len("assert")
					return []edit{{at, at, " 1 or"}}
				}
				return []edit{{at, at, "1 or "}}
			}
			indent := text[strings.LastIndexByte(text[:at], '\n')+1 : at]
			edits := []edit{{c.from, c.to, mark}, {at, at, fmt.Sprintf("if %s == %s: %s\n%s", c.asked, mark, stop, indent)}}
			slices.SortFunc(edits, func(a, b edit) int { return a.from - b.from })
			return edits
		}})
	}
	return list
}

// aValueOnly matches an element that is a literal and nothing else.
var aValueOnly = pattern.New(`^` + value + `$`)

// pythonElements lists the places of the elements between the bracket that opens at a place and its end.
func pythonElements(text string, open int) (list [][2]int) {
	from, depth := open+1, 0
	add := func(to int) {
		part := text[from:to]
		begin := from + len(part) - len(strings.TrimLeft(part, " \t\n"))
		if end := from + len(strings.TrimRight(part, " \t\n")); end > begin {
			list = append(list, [2]int{begin, end})
		}
		from = to + 1
	}
	for at := open + 1; at < len(text); {
		if next := skipText(text, at, '#'); next > at {
			if text[at] == '#' && strings.TrimSpace(text[from:at]) == "" {
				from = next
			}
			at = next
			continue
		}
		switch c := text[at]; {
		case strings.IndexByte("([{", c) >= 0:
			depth++
		case strings.IndexByte(")]}", c) >= 0 && depth == 0:
			add(at)
			return list
		case strings.IndexByte(")]}", c) >= 0:
			depth--
		case c == ',' && depth == 0:
			add(at)
		}
		at++
	}
	return nil
}

// pythonAsked returns where a test's statement begins that asserts that something equals a name; -1 for none.
func pythonAsked(text string, t test, name string) int {
	asserts := regexp.MustCompile(`(?m)^[ \t]+(?:assert\b[^\n]*(?:==[ \t]*(?:[\w.]*approx\()?` + name + `\b|[^\w.]` + name + `[ \t]*==)|self\.assert\w*Equal\([^\n]*[(,][ \t]*` + name + `[ \t]*[,)])`)
	all := asserts.FindAllStringIndex(text[t.from:t.to], -1)
	equal := slices.IndexFunc(all, func(m []int) bool { return !strings.Contains(text[t.from+m[0]:t.from+m[1]], "self.assertNot") })
	if equal < 0 {
		return -1
	}
	m := all[equal]
	line, behind, _ := strings.Cut(text[t.from+m[0]:t.to], "\n")
	// An input that has to come out again is not an expected value.
	before := pythonHead.ReplaceAllString(text[t.from:t.from+m[0]], "") + text[t.from+m[0]:t.from+m[1]]
	word := regexp.MustCompile(`\b` + name + `\b`)
	if otherwise.MatchString(line) || len(word.FindAllString(before, -1)) > 1 || word.MatchString(behind) {
		return -1
	}
	return t.from + m[0] + len(line) - len(strings.TrimLeft(line, " \t"))
}

// pythonHead matches the line in which a test or a loop declares names.
var pythonHead = pattern.New(`(?m)^[ \t]*(?:(?:async[ \t]+)?def\b[^\n]*|for\b.*?\bin\b)`)
