package verifier

import (
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"strings"

	"git-ward/protocols/symbols"
)

// exported lists a Go file's package and exported declarations, one a line, without bodies and without
// the values of variables; a method has its type. It is empty for a file that is not Go. Of a file with
// syntax errors it lists what could be read.
func exported(src []byte) (list []string) {
	set := token.NewFileSet()
	file, _ := parser.ParseFile(set, "", src, parser.SkipObjectResolution)
	if file == nil || !ast.FileExports(file) {
		return nil
	}
	ast.Inspect(file, func(n ast.Node) bool { // else the printer says by a comment that something was left out
		switch n := n.(type) {
		case *ast.StructType:
			n.Incomplete = false
		case *ast.InterfaceType:
			n.Incomplete = false
		}
		return true
	})
	list = append(list, "package "+file.Name.Name)
	add := func(node any) {
		var b strings.Builder
		if printer.Fprint(&b, set, node) == nil {
			list = append(list, strings.Join(strings.Fields(b.String()), " "))
		}
	}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv != nil && len(d.Recv.List) > 0 && !ast.IsExported(symbols.Receiver(d.Recv.List[0].Type)) {
				continue
			}
			d.Body = nil
			add(d)
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if v, ok := spec.(*ast.ValueSpec); ok && d.Tok == token.VAR {
					v.Values = nil
				}
				if d.Tok != token.IMPORT {
					add(&ast.GenDecl{Tok: d.Tok, Specs: []ast.Spec{spec}})
				}
			}
		}
	}
	return list
}
