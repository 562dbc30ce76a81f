package symbols

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strconv"
	"strings"
)

// module is a Go module of the repository.
type module struct{ name, dir string }

// moduleOf is the name on a go.mod's module line.
func moduleOf(data []byte) string {
	for line := range strings.Lines(string(data)) {
		if words := strings.Fields(line); len(words) >= 2 && words[0] == "module" {
			return strings.Trim(words[1], `"`)
		}
	}
	return ""
}

func (b *Builder) module(p, name string) {
	b.modules = append(b.modules, module{name, path.Dir(p)})
	// The longest name first: modules lie within modules.
	slices.SortFunc(b.modules, func(x, y module) int { return cmp.Compare(len(y.name), len(x.name)) })
}

// goFolder is the directory of a package of this repository.
func (b *Builder) goFolder(importPath string) string {
	for _, m := range b.modules {
		if rest, ok := strings.CutPrefix(importPath, m.name); ok && (rest == "" || rest[0] == '/') {
			return path.Join(m.dir, rest)
		}
	}
	return ""
}

// readGo reads a Go file; one with syntax errors as far as it goes.
func readGo(f *File, data []byte) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, "", data, parser.SkipObjectResolution)
	if err != nil {
		f.Trouble = "it has syntax errors"
	}
	if file == nil {
		return
	}
	line := func(n ast.Node) int { return set.Position(n.Pos()).Line }
	for _, spec := range file.Imports {
		if to, err := strconv.Unquote(spec.Path.Value); err == nil {
			f.edge(to)
		}
	}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv != nil && len(d.Recv.List) == 1 {
				f.symbol(Receiver(d.Recv.List[0].Type)+"."+d.Name.Name, "method", line(d))
			} else {
				f.symbol(d.Name.Name, "func", line(d))
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.TypeSpec:
					f.symbol(s.Name.Name, "type", line(s))
				case *ast.ValueSpec:
					for _, name := range s.Names {
						f.symbol(name.Name, d.Tok.String(), line(name))
					}
				}
			}
		}
	}
}

// Receiver is the name of a method's type, by its receiver's; "?" for what is no such type.
func Receiver(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.StarExpr:
		return Receiver(t.X)
	case *ast.IndexExpr:
		return Receiver(t.X)
	case *ast.IndexListExpr:
		return Receiver(t.X)
	case *ast.ParenExpr:
		return Receiver(t.X)
	case *ast.Ident:
		return t.Name
	}
	return "?"
}
