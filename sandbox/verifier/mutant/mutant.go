// Package mutant makes small changes to Go source, one at a time, each of which a test
// of the changed line should notice (LOOP-11). It reads and writes text only.
package mutant

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
)

// Mutant is one change to a file.
type Mutant struct {
	Line  int    // of the file as it was, from 1
	Words string // "< became <="

	src      []byte // the file, shared by all: a large one has very many mutants
	at, size int    // what of it goes
	with     string // what comes in its place
}

// Text is the changed file's whole content.
func (m Mutant) Text() []byte {
	return slices.Concat(m.src[:m.at], []byte(m.with), m.src[m.at+m.size:])
}

// opposite is what each operator becomes: what compiles as well, and holds otherwise.
var opposite = map[token.Token]token.Token{
	token.EQL: token.NEQ, token.NEQ: token.EQL,
	token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR,
	token.LAND: token.LOR, token.LOR: token.LAND,
	token.ADD: token.SUB, token.SUB: token.ADD, token.MUL: token.QUO, token.QUO: token.MUL, token.REM: token.MUL,
	token.AND: token.OR, token.OR: token.AND, token.SHL: token.SHR, token.SHR: token.SHL,
	token.INC: token.DEC, token.DEC: token.INC,
	token.ADD_ASSIGN: token.SUB_ASSIGN, token.SUB_ASSIGN: token.ADD_ASSIGN,
}

// Of returns the mutants of the wanted lines, in the file's order. A file that is not Go has
// none.
func Of(src []byte, wanted func(line int) bool) []Mutant {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "", src, parser.SkipObjectResolution)
	if err != nil {
		return nil
	}
	m := &maker{src: src, files: files, wanted: wanted}
	ast.Inspect(file, m.visit)
	slices.SortStableFunc(m.all, func(a, b Mutant) int { return a.Line - b.Line })
	return m.all
}

// maker walks a file.
type maker struct {
	src    []byte
	files  *token.FileSet
	wanted func(int) bool
	all    []Mutant
}

func (m *maker) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.ImportSpec, *ast.Field: // tags, array sizes, and paths are no behaviour of a line
		return false
	case *ast.BinaryExpr:
		m.operator(n.OpPos, n.Op, text(n.X) || text(n.Y))
	case *ast.IncDecStmt:
		m.operator(n.TokPos, n.Tok, false)
	case *ast.AssignStmt:
		m.operator(n.TokPos, n.Tok, len(n.Rhs) == 1 && text(n.Rhs[0]))
	case *ast.UnaryExpr:
		if n.Op == token.NOT {
			m.replace(n.OpPos, 1, "", "! left out")
		}
	case *ast.BasicLit:
		if v, err := strconv.ParseInt(n.Value, 0, 32); n.Kind == token.INT && err == nil {
			m.replace(n.Pos(), len(n.Value), strconv.FormatInt(v+1, 10), fmt.Sprintf("%s became %d", n.Value, v+1))
		}
	case *ast.Ident:
		if other := map[string]string{"true": "false", "false": "true"}[n.Name]; other != "" {
			m.replace(n.Pos(), len(n.Name), other, n.Name+" became "+other)
		}
	}
	return true
}

// text reports whether an expression is a text: there + has no opposite.
func text(x ast.Expr) bool {
	switch x := x.(type) {
	case *ast.BasicLit:
		return x.Kind == token.STRING
	case *ast.BinaryExpr:
		return x.Op == token.ADD && (text(x.X) || text(x.Y))
	}
	return false
}

func (m *maker) operator(at token.Pos, op token.Token, text bool) {
	if other, ok := opposite[op]; ok && !(text && (op == token.ADD || op == token.ADD_ASSIGN)) {
		m.replace(at, len(op.String()), other.String(), op.String()+" became "+other.String())
	}
}

func (m *maker) replace(at token.Pos, size int, with, words string) {
	if p := m.files.PositionFor(at, false); m.wanted(p.Line) {
		m.all = append(m.all, Mutant{p.Line, words, m.src, p.Offset, size, with})
	}
}

// Pick takes at most n elements of a list, evenly spread.
func Pick[T any](all []T, n int) []T {
	if len(all) <= n {
		return all
	}
	picked := make([]T, n)
	for i := range picked {
		picked[i] = all[i*len(all)/n]
	}
	return picked
}
