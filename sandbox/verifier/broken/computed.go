package broken

import (
	"strings"

	"git-ward/internal/pattern"
)

// A test may compare with what it computes, `assertEqual(double(n), n + n)`. The only value to put
// there is one that nothing equals.

var (
	// compareCall matches a statement's call, or the last of a chain of calls, up to its bracket.
	compareCall = pattern.New(`(?m)^[ \t]*(?:await[ \t]+)?(?:\w+\([^\n]*\)(?:\.\w+)*\.)?[\w.]+\(`)
	// pythonEquals matches a statement that asserts that two things are equal, up to the second one.
	pythonEquals = pattern.New(`(?m)^[ \t]*assert[ \t]+([^\n=!<>]*[^\n=!<> \t])[ \t]*==[ \t]*`)
	// otherParts matches what a condition has besides one comparison.
	otherParts = pattern.New(`\b(?:and|or|not|if|else|in|is|for|lambda)\b|[=!<>]=`)
	onlyValue  = pattern.New(`^(?:` + value + `)$`)
	lastValue  = pattern.New(value + `$`)
	named      = pattern.New(`^(?:\*|\.\.\.|\w+[ \t]*=[^=>])`)
)

// standIn replaces a computed value where a call compares by itself.
const standIn = "7"

// computed finds the comparisons with a computed value: the second argument of a call whose name says
// that it compares, each argument of the last call of a chain, and in Python what follows `==`.
func (s *script) computed(text string) (list []Comparison) {
	add := func(from, to int, c Comparison) {
		c.unlike, c.stands = edit{from, to, s.nothing}, standIn
		list = append(list, c)
	}
	for _, m := range compareCall.Regexp().FindAllStringIndex(text, -1) {
		open := m[1] - 1
		args := arguments(text, m[1], s.comment)
		if len(args) == 0 || !comparing.MatchString(callee(text, m[0], open)) {
			continue
		}
		at := min(1, len(args)-1)
		if len(args) > 3 || len(args) == 3 && !onlyValue.MatchString(args[2].of(text)) || !args[at].isComputed(text) {
			continue
		}
		from, to := args[at].from, args[at].to
		if only, truth := aloneWith(text, from, standIn); only != nil {
			add(from, to, Comparison{only: only, truth: truth, whether: func(made bool) []edit {
				if !made {
					return []edit{{from, to, s.throws}}
				}
				return []edit{{from, to, strings.Replace(s.makes, "%", text[from:to], 1)}}
			}})
		}
	}
	if s != python {
		return list
	}
	for _, m := range pythonEquals.Regexp().FindAllStringSubmatchIndex(text, -1) {
		line, _, _ := strings.Cut(text[m[1]:], "\n")
		args := arguments(text, m[1], s.comment)
		if len(args) == 0 || args[0].to > m[1]+len(line) || otherParts.MatchString(text[m[2]:m[3]]+" "+args[0].of(text)) ||
			!args[0].isComputed(text) || lastValue.MatchString(text[m[2]:m[3]]) {
			continue
		}
		from, to := args[0].from, args[0].to
		add(from, to, Comparison{whether: func(equal bool) []edit {
			form := s.is[0]
			if equal {
				form = s.isNot[0]
			}
			return []edit{{m[3], to, " " + strings.Replace(form, "%", text[from:to], 1)}}
		}})
	}
	return list
}

// argument is a part of a text.
type argument struct{ from, to int }

func (p argument) of(text string) string { return text[p.from:p.to] }

// isComputed reports whether an argument is positional and is not a literal.
func (p argument) isComputed(text string) bool {
	return p.from < p.to && !onlyValue.MatchString(p.of(text)) && !named.MatchString(p.of(text))
}

// arguments splits a text at its commas, from a place to the bracket that closes it, or to the line's
// end where no bracket is open. It returns nil where a string or a bracket does not end.
func arguments(text string, at int, comment byte) (args []argument) {
	line := text[at-1] != '(' // it ends with the line
	depth, from := 0, at
	add := func(to int) {
		p := argument{from, to}
		for p.from < p.to && strings.IndexByte(" \t\r\n", text[p.from]) >= 0 {
			p.from++
		}
		for p.from < p.to && strings.IndexByte(" \t\r\n", text[p.to-1]) >= 0 {
			p.to--
		}
		if p.from < p.to {
			args = append(args, p)
		}
		from = to + 1
	}
	for at < len(text) {
		next := skipText(text, at, comment)
		if next > at && text[at] == comment {
			if line && depth == 0 {
				add(at)
				return args
			}
			return nil // a comment within arguments
		}
		if next > at {
			at = next
			continue
		}
		switch c := text[at]; {
		case strings.IndexByte("([{", c) >= 0:
			depth++
		case strings.IndexByte(")]}", c) >= 0:
			if depth == 0 {
				add(at)
				return args
			}
			depth--
		case c == ',' && depth == 0, c == '\n' && depth == 0 && line:
			add(at)
			if c == '\n' {
				return args
			}
		}
		at++
	}
	if line && depth == 0 {
		add(len(text))
		return args
	}
	return nil
}
