package broken

import (
	"fmt"
	"slices"

	"git-ward/internal/pattern"
)

// JavaScript declares a test with a name: by a call, or by what a call with rows returns, such as the
// test.each(rows)("name", ...) of several runners.

var (
	javaScriptRows = pattern.New("(?:^|[^.\\w$])((?:test|it)(?:\\.\\w+)*\\.each)[ \t]*[(`]")
	javaScriptName = pattern.New("^[ \t\n]*\\([ \t\n]*(\"[^\"\n]*\"|'[^'\n]*'|`[^`$]*`)")
)

// declared is the place in a text where a test is declared. Its rows may contain functions; none of
// those tells the runner that the test is done.
type declared struct {
	from, end int
	quoted    string
	rows      bool
}

func (d declared) name() string { return d.quoted[1 : len(d.quoted)-1] }

func javaScriptDeclared(text string) (all []declared) {
	for _, m := range javaScriptTest.Regexp().FindAllStringSubmatchIndex(text, -1) {
		all = append(all, declared{m[4], m[5], text[m[6]:m[7]], false})
	}
	for _, m := range javaScriptRows.Regexp().FindAllStringSubmatchIndex(text, -1) {
		end := closing(text, m[1], len(text)) + 1
		if text[m[1]-1] == '`' {
			end = skipText(text, m[1]-1, '/')
		}
		if name := javaScriptName.Regexp().FindStringSubmatchIndex(text[end:]); name != nil && end > m[1] {
			all = append(all, declared{m[2], end, text[end+name[2] : end+name[3]], true})
		}
	}
	slices.SortFunc(all, func(a, b declared) int { return a.from - b.from })
	return all
}

// javaScriptTests wraps the function that declares each test.
func javaScriptTests(text string) (tests []test) {
	all := javaScriptDeclared(text)
	for i, d := range all {
		to := len(text)
		if i+1 < len(all) {
			to = all[i+1].from
		}
		tests = append(tests, test{d.name(), d.from, to, func(how How, m mark) (edits []edit) {
			if how == Tell {
				edits = javaScriptLoops(d.name(), text, d.end, to, m)
			}
			given := fmt.Sprintf(", %d, %q", m.id, map[How]string{End: "end", Tell: "tell"}[how])
			if d.rows {
				given += ", true"
			}
			return append(edits, edit{d.from, d.from, "wardControl("}, edit{d.end, d.end, given + ")"})
		}})
	}
	return tests
}
