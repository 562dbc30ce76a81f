package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var (
	formatVerb = regexp.MustCompile(`%%|%(?:\[(\d+)\])?[-+#0-9.]*[a-zA-Z]`)
	// wantsPath is what stands before a directory's place in a command to paste.
	wantsPath = regexp.MustCompile(`(?:--bare |--git-dir=|git -C |git ward clone |git clone --bare |next: cd |safe\.directory |chmod 600 )$`)
)

// TestPastedPaths: a command that is printed for somebody to paste quotes its directory for the
// shell, so that it holds for one with blanks, too.
func TestPastedPaths(t *testing.T) {
	found := 0
	goFiles(t, func(path string, text []byte) {
		if strings.HasSuffix(path, "_test.go") {
			return
		}
		bad, all := unquoted(t, path, string(text))
		found += all
		for _, b := range bad {
			t.Errorf("%s: diag.Word quotes a directory in a command", b)
		}
	})
	if found < 30 {
		t.Errorf("only %d directories in commands were found", found)
	}
	if bad, _ := unquoted(t, "x.go", "package x\nvar _ = f(w, \"git -C %s gc, then git ward status --bare %[1]s\", dir)\n"); len(bad) != 2 {
		t.Errorf("of two directories that are not quoted, these were found: %v", bad)
	}
}

// unquoted are the places of a file where a command has a directory as it is, and how many
// directories commands have there in all.
func unquoted(t *testing.T, path, text string) (bad []string, all int) {
	t.Helper()
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, text, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		for i, arg := range call.Args {
			lit, ok := arg.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				continue
			}
			format, err := strconv.Unquote(lit.Value)
			if err != nil {
				t.Fatal(err)
			}
			next := i
			for _, at := range formatVerb.FindAllStringSubmatchIndex(format, -1) {
				if format[at[0]:at[1]] == "%%" {
					continue
				}
				if next++; at[2] >= 0 {
					n, _ := strconv.Atoi(format[at[2]:at[3]])
					next = i + n
				}
				if next >= len(call.Args) || !wantsPath.MatchString(format[:at[0]]) {
					continue
				}
				if all++; !quotes(call.Args[next]) {
					bad = append(bad, files.Position(lit.Pos()).String())
				}
			}
		}
		return true
	})
	return bad, all
}

// quotes reports whether an argument is a call of diag.Word.
func quotes(arg ast.Expr) bool {
	call, ok := arg.(*ast.CallExpr)
	if !ok {
		return false
	}
	switch f := call.Fun.(type) {
	case *ast.SelectorExpr:
		return f.Sel.Name == "Word"
	case *ast.Ident:
		return f.Name == "Word"
	}
	return false
}
