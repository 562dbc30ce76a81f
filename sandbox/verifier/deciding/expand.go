package deciding

import (
	"path"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"git-ward/internal/pattern"
)

// What stands in a word for what no text says.
const (
	unknown = "\x01"
	given   = "\x02" // what its caller gives to it
	unclear = unknown + given
)

// braces are chk{1,2} and chk{1..9}, which the shell takes apart.
var braces = pattern.New(`\{[^{}]*(?:,|\.\.)[^{}]*\}`)

// maxValues bounds how many values a word is taken to have.
const maxValues = 32

// expand is what a word may come to: its literal parts, the values that the same
// text gives to its variables, its own directory. What is not known is unknown.
func (s *shell) expand(w *syntax.Word, depth int) []string {
	if w == nil {
		return []string{""}
	}
	return s.parts(w.Parts, depth)
}

func (s *shell) parts(parts []syntax.WordPart, depth int) []string {
	all := []string{""}
	for _, part := range parts {
		var next []string
		for _, end := range s.part(part, depth) {
			for _, begin := range all {
				if len(next) < maxValues {
					next = append(next, begin+end)
				}
			}
		}
		all = next
	}
	return all
}

func (s *shell) part(part syntax.WordPart, depth int) []string {
	if s.expanded++; depth > 6 || s.expanded > maxSteps { // X="$X a", a hundred times
		return []string{unknown}
	}
	switch p := part.(type) {
	case *syntax.Lit:
		return []string{strings.ReplaceAll(braces.ReplaceAllString(p.Value, unknown), `\`, "")}
	case *syntax.SglQuoted:
		return []string{p.Value}
	case *syntax.DblQuoted:
		return s.parts(p.Parts, depth)
	case *syntax.ParamExp:
		return s.variable(p, depth)
	case *syntax.CmdSubst:
		return s.substitution(p, depth)
	}
	return []string{unknown}
}

// variable is what a parameter may hold.
func (s *shell) variable(p *syntax.ParamExp, depth int) []string {
	if p.Param == nil || p.Length || p.Excl {
		return []string{unknown}
	}
	var values []string
	switch name := p.Param.Value; name {
	case "0", "BASH_SOURCE":
		if s.self == "" {
			return []string{unknown}
		}
		values = []string{s.self}
		if p.Exp != nil && (p.Exp.Op == syntax.RemSmallSuffix || p.Exp.Op == syntax.RemLargeSuffix) {
			values = []string{path.Dir(s.self)}
		}
		return values
	case "@", "*", "1", "2", "3", "4", "5", "6", "7", "8", "9":
		return []string{given}
	case "PWD":
		return []string{"."}
	case "HOME", "TMPDIR":
		return []string{"/elsewhere"}
	default:
		for _, w := range s.vars[name] {
			values = append(values, s.expand(w, depth+1)...)
		}
	}
	if p.Exp != nil {
		switch p.Exp.Op {
		case syntax.DefaultUnset, syntax.DefaultUnsetOrNull, syntax.AssignUnset, syntax.AssignUnsetOrNull:
			values = append(values, s.expand(p.Exp.Word, depth+1)...)
		default:
			return []string{unknown}
		}
	}
	if len(values) == 0 {
		return []string{unknown}
	}
	return values[:min(len(values), maxValues)]
}

// substitution is what the few commands print that scripts find themselves with.
func (s *shell) substitution(p *syntax.CmdSubst, depth int) []string {
	var calls []*syntax.CallExpr
	for _, st := range p.Stmts {
		syntax.Walk(st, func(n syntax.Node) bool {
			if c, ok := n.(*syntax.CallExpr); ok && len(c.Args) > 0 {
				calls = append(calls, c)
				return false
			}
			return true
		})
	}
	if len(calls) == 0 {
		return []string{unknown}
	}
	last := func(c *syntax.CallExpr) []string { return s.expand(c.Args[len(c.Args)-1], depth+1) }
	switch name := calls[0].Args[0].Lit(); name {
	case "dirname":
		var dirs []string
		for _, v := range last(calls[0]) {
			dirs = append(dirs, path.Dir(v))
		}
		return dirs
	case "pwd", "git":
		return []string{"."}
	case "cd", "realpath", "readlink":
		if len(calls[0].Args) > 1 {
			return last(calls[0])
		}
	}
	return []string{unknown}
}
