package symbols

import (
	"bytes"

	"mvdan.cc/sh/v3/syntax"
)

// maxShell bounds a shell program that is parsed, in bytes: its parser calls itself for
// each thing within another.
const maxShell = 256 << 10

// shellByLine is for what is no shell to the parser.
var shellByLine = lines(`^(?:function +)?([\w-]+) *\(\)`, ``, ``, `^(?:\.|source) +["']?([^"'$\s]+)`)

// readShell reads a shell program.
func readShell(f *File, data []byte) {
	if len(data) > maxShell {
		f.Trouble = "it is larger than what is parsed of the shell"
		return
	}
	program, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(bytes.NewReader(data), "")
	if err != nil {
		f.Trouble = "it has syntax errors"
		shellByLine(f, data)
		return
	}
	for _, s := range program.Stmts {
		if c, ok := s.Cmd.(*syntax.CallExpr); ok && len(c.Args) == 0 {
			f.assigned(c.Assigns)
		}
		if c, ok := s.Cmd.(*syntax.DeclClause); ok {
			f.assigned(c.Args)
		}
	}
	syntax.Walk(program, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.FuncDecl:
			f.symbol(n.Name.Value, "func", int(n.Pos().Line()))
		case *syntax.CallExpr:
			if len(n.Args) > 1 && (n.Args[0].Lit() == "." || n.Args[0].Lit() == "source") {
				if name := plain(n.Args[1]); name != "" {
					f.edge(name)
				}
			}
		}
		return true
	})
}

// assigned notes what is set at the top of a program.
func (f *File) assigned(list []*syntax.Assign) {
	for _, a := range list {
		if a.Name != nil && !a.Naked {
			f.symbol(a.Name.Value, "var", int(a.Pos().Line()))
		}
	}
}

// plain is a word without expansions, "" for any other.
func plain(w *syntax.Word) string {
	text := ""
	for _, part := range w.Parts {
		switch p := part.(type) {
		case *syntax.Lit:
			text += p.Value
		case *syntax.SglQuoted:
			text += p.Value
		case *syntax.DblQuoted:
			if len(p.Parts) != 1 {
				return ""
			}
			l, ok := p.Parts[0].(*syntax.Lit)
			if !ok {
				return ""
			}
			text += l.Value
		default:
			return ""
		}
	}
	return text
}
