package broken

import (
	"cmp"
	"path"
	"slices"
	"strconv"
	"strings"

	"git-ward/internal/pattern"
)

// Comparison is a place where a test compares a result with a value in its text. The text alone does
// not show whether the test asks for that value: a run with another value there does.
type Comparison struct {
	Test, Value string // its test's name, and the value
	Line        int
	unlike      edit              // makes it another
	whether     func(bool) []edit // what comes of it, whatever is compared
	only        func(string) edit // the test does nothing but compare this; nil for an operator
	truth       bool              // it is a call's truth that is asked for, and not whether it fails
	stands      string            // for Value, which the text computes, in only, or itself; "" for a value
}

// Comparisons finds those of a file's tests, in Go, Python, JavaScript and TypeScript, or of a checking
// program, in C, too, where they are operators.
func Comparisons(name, text string, checks bool) (list []Comparison) {
	switch ext := path.Ext(name); {
	case checks && ext == ".c":
		list = cComparisons(text)
	case !MayTest(name):
		return nil
	case ext == ".go":
		list = append(goComparisons(text), goRowComparisons(text)...)
	case ext == ".py":
		list = append(python.comparisons(text), append(python.computed(text), pythonRows(text)...)...)
	default:
		if languages[ext].ends == nil {
			return nil
		}
		list = append(ecma.comparisons(text), ecma.computed(text)...)
	}
	looping, tests, end := loops.Regexp().FindAllStringIndex(text, -1), inFile(name, text), 0
	if checks {
		tests = []test{{to: len(text)}}
	}
	slices.SortStableFunc(list, func(a, b Comparison) int { return a.unlike.from - b.unlike.from })
	var found []Comparison
	for _, c := range list {
		i := slices.IndexFunc(tests, func(t test) bool { return t.from <= c.unlike.from && c.unlike.to <= t.to })
		c.Value = text[c.unlike.from:c.unlike.to]
		if c.stands == "" {
			c.unlike.text = other(c.Value, len(found))
		}
		if i < 0 && c.Test == "" || c.unlike.from < end || c.unlike.text == c.Value || within(looping, c.unlike.from) {
			continue
		}
		if c.Test == "" {
			c.Test = tests[i].name
		}
		if checks && c.only != nil { // it has no body to begin with
			continue
		}
		end, c.Line = c.unlike.to, 1+strings.Count(text[:c.unlike.from], "\n")
		if c.only != nil {
			at, before, after := scriptOf(name).begin(text, tests[i].from)
			if at < 0 {
				continue
			}
			statement := c.only
			c.only = func(tested string) edit { return edit{at, at, before + statement(tested).text + after} }
		}
		found = append(found, c)
	}
	return found
}

// scriptOf returns the language of a file. For Go it only says where a test begins.
func scriptOf(name string) *script {
	switch path.Ext(name) {
	case ".go":
		return &script{begin: goBody}
	case ".py":
		return python
	}
	return ecma
}

// Others returns the text with another value in some of its comparisons.
func Others(text string, some ...Comparison) string {
	var edits []edit
	for _, c := range some {
		edits = append(edits, c.unlike)
	}
	slices.SortFunc(edits, func(a, b edit) int { return a.from - b.from })
	return goOthers(text, edited(text, edits))
}

// Far gives the comparison a value that is not near its own.
func (c Comparison) Far(text string) string {
	far := c.unlike
	if c.stands != "" {
		return Others(text, c)
	}
	far.text = unlikes(c.Value)[2]
	return edited(text, []edit{far})
}

// Whether makes the comparison come out equal or unequal, or makes a call that compares, or leaves it
// out.
func (c Comparison) Whether(text string, equal bool) string { return edited(text, c.whether(equal)) }

// Calls reports whether the comparison is a call. Any call may compare: Only shows what it asks for.
func (c Comparison) Calls() bool { return c.only != nil }

// Truth reports whether the test asks for such a call's result. Then the function may be the work's, and
// a stub of it proves nothing.
func (c Comparison) Truth() bool { return c.truth }

// Only makes texts whose test does nothing but compare, with the same value and then with others, some
// near to it and some far. Only a test that asks for the value fails with each of them.
func (c Comparison) Only(text string) (same string, others []string) {
	value := cmp.Or(c.stands, c.Value)
	for _, tested := range unlikes(value) {
		others = append(others, edited(text, []edit{c.only(tested)}))
	}
	return edited(text, []edit{c.only(value)}), others
}

// unlikes lists values unlike one: smaller and greater, shorter and longer.
func unlikes(value string) []string {
	if n, err := strconv.ParseFloat(strings.ReplaceAll(value, "_", ""), 64); err == nil {
		form := func(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }
		return []string{form(n - 1), form(n + 1), form(2*n + 7)}
	}
	quote, inside := value[:1], value[1:len(value)-1]
	list := []string{other(value, 0), quote + inside + "x" + quote, quote + "x" + inside + quote}
	if len(inside) > 1 && !strings.Contains(inside, `\`) {
		list = append(list, quote+inside[1:]+quote, quote+inside[:len(inside)-1]+quote)
	}
	return list
}

// script is an untyped language whose comparisons are found by their shape.
type script struct {
	before, after *pattern.Pattern // an operator, and a value beside it
	isNot, is     [2]string        // a thing that nothing is, made of a value: behind what is compared, and before it
	makes, throws string           // a value, and what is none
	nothing       string           // what nothing is equal to
	comment       byte             // that a comment begins with
	begin         func(text string, from int) (at int, before, after string)
}

var python = &script{
	before: pattern.New(`([=!]=)[ \t]*` + value), after: pattern.New(value + `[ \t]*([=!]=)`),
	isNot: [2]string{"is not [%]", "[%] is not"}, is: [2]string{"is [%]", "[%] is"},
	makes: "[%].pop()", throws: "[].pop()", nothing: "object()", comment: '#', begin: pythonBody,
}

var ecma = &script{
	before: pattern.New(`([=!]==?)[ \t]*` + value), after: pattern.New(value + `[ \t]*([=!]==?)`),
	isNot: [2]string{"!== ([%])", "([%]) !=="}, is: [2]string{"=== ([%])", "([%]) ==="},
	makes: "(() => { return %; })()", throws: "(() => { throw new Error('no value'); })()", nothing: "Symbol()", comment: '/', begin: javaScriptBody,
}

// cComparisons finds operators, and calls with a string that return 0 for equal, as strcmp does. C has
// no value that is unequal to all others: where a comparison is to come out unequal, the process ends.
func cComparisons(text string) (list []Comparison) {
	stays := map[int]bool{} // by where it begins: a 0 that such a call says
	for side, shape := range []*pattern.Pattern{zeros, python.before, python.after} {
		for _, m := range shape.Regexp().FindAllStringSubmatchIndex(text, -1) {
			op, val := m[2:4], m[4:6]
			switch side {
			case 0:
				if text[m[2]] != '"' { // a length, as strncmp has, or what a call works on
					continue
				}
				op, val = []int{m[3] + strings.IndexAny(text[m[3]:], "=!")}, op
				stays[m[4]] = true
			case 2:
				op, val = val, op
			}
			if stays[val[0]] {
				continue
			}
			list = append(list, Comparison{unlike: edit{from: val[0], to: val[1]}, whether: func(equal bool) []edit {
				truth := []string{"1 || ", " || 1"}
				if text[op[0]] == '!' {
					truth = []string{"0 && ", " && 0"}
				}
				switch {
				case !equal:
					return []edit{{val[0], val[1], "(__builtin_trap(), " + text[val[0]:val[1]] + ")"}}
				case side == 2:
					return []edit{{m[0], m[0], truth[0]}}
				}
				return []edit{{m[1], m[1], truth[1]}}
			}})
		}
	}
	return list
}

func (s *script) comparisons(text string) (list []Comparison) {
	for side, shape := range []*pattern.Pattern{s.before, s.after} {
		for _, m := range shape.Regexp().FindAllStringSubmatchIndex(text, -1) {
			op, val := m[2:4], m[4:6]
			if side == 1 {
				op, val = val, op
			}
			of := func(form string) edit { return edit{m[0], m[1], strings.Replace(form, "%", text[val[0]:val[1]], 1)} }
			list = append(list, Comparison{unlike: edit{from: val[0], to: val[1]}, whether: func(equal bool) []edit {
				if equal == (text[op[0]] == '=') {
					return []edit{of(s.isNot[side])}
				}
				return []edit{of(s.is[side])}
			}})
		}
	}
	for _, m := range lastOf.Regexp().FindAllStringSubmatchIndex(text, -1) {
		if only, truth := alone(text, m[2], m[3]); only != nil {
			list = append(list, Comparison{unlike: edit{from: m[2], to: m[3]}, only: only, truth: truth, whether: func(made bool) []edit {
				if !made {
					return []edit{{m[2], m[3], s.throws}}
				}
				return []edit{{m[2], m[3], strings.Replace(s.makes, "%", text[m[2]:m[3]], 1)}}
			}})
		}
	}
	return list
}

// alone makes a statement that compares its argument with a value as the one at a place does: in the
// second argument of a call, or in the only one of a chain that begins with what is compared. It
// returns nil for another shape. truth: something asks whether the call's result is true.
func alone(text string, from, to int) (compares func(string) edit, truth bool) {
	return aloneWith(text, from, text[from:to])
}

// aloneWith is alone with another value there.
func aloneWith(text string, from int, value string) (compares func(string) edit, truth bool) {
	depth, commas, open := 0, 0, from-1
	for ; open >= 0; open-- {
		switch c := text[open]; {
		case strings.IndexByte(")]}", c) >= 0:
			depth++
		case strings.IndexByte("([{", c) >= 0:
			depth--
		case c == ',' && depth == 0:
			commas++
		}
		if depth < 0 {
			break
		}
	}
	if open < 0 || text[open] != '(' {
		return nil, false
	}
	line := text[strings.LastIndexByte(text[:open], '\n')+1 : open]
	begins, ends := strings.TrimSpace(line), value+")"
	switch {
	case commas == 1 && truths.MatchString(line):
		ends += strings.Repeat(")", strings.Count(begins, "("))
		return func(tested string) edit { return edit{text: begins + "(" + tested + ", " + ends} }, !statement.MatchString(line)
	case commas == 0 && strings.TrimSpace(text[open+1:from]) == "" && statementChain.MatchString(line):
		first, shut := strings.IndexByte(begins, '('), 0
		for depth, i := 0, first; i < len(begins) && shut == 0; i++ {
			if begins[i] == '(' {
				depth++
			} else if begins[i] == ')' {
				if depth--; depth == 0 {
					shut = i
				}
			}
		}
		return func(tested string) edit { return edit{text: begins[:first+1] + tested + begins[shut:] + "(" + ends} }, false
	}
	return nil, false
}

// truths matches what may stand on a line before the arguments of a call that compares: the call is a
// statement, or the argument of another.
var truths = pattern.New(`^[ \t]*(?:await[ \t]+)?(?:assert[ \t]+)?(?:[\w.!]+\()*[\w.!]+$`)

// pythonDef matches a function's head, up to its first statement.
var pythonDef = pattern.New(`^[ \t]*(?:async[ \t]+)?def[ \t]+\w+[ \t]*\([^()]*\)[^\n]*:[ \t]*(?:#[^\n]*)?\n(?:[ \t]*\n)*([ \t]+)`)

// pythonBody returns where a test's first statement begins, and the text around a statement put before
// it that is to be the last.
func pythonBody(text string, from int) (at int, before, after string) {
	m := pythonDef.Regexp().FindStringSubmatchIndex(text[from:])
	if m == nil {
		return -1, "", ""
	}
	return from + m[1], "", "\n" + text[from+m[2]:from+m[3]] + "return\n" + text[from+m[2]:from+m[3]]
}

// javaScriptFunction matches a test's name and its function, up to the brace.
var javaScriptFunction = pattern.New("^[\\w.]+[ \t]*\\([ \t\n]*(?:\"[^\"\n]*\"|'[^'\n]*'|`[^`$]*`)\\s*,\\s*(?:\\{[^{}]*\\}\\s*,\\s*)?(?:async\\s*)?(?:function\\b\\s*\\w*\\s*\\([^()]*\\)|(?:\\([^()]*\\)|\\w+)\\s*=>)\\s*\\{")

func javaScriptBody(text string, from int) (at int, before, after string) {
	m := javaScriptFunction.Regexp().FindStringIndex(text[from:])
	if m == nil {
		return -1, "", ""
	}
	return from + m[1], " ", "; return;\n"
}
