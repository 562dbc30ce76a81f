package house

import (
	"go/ast"
	"go/token"
	"strconv"
	"testing"
)

// TestProgramsAreWritten: a test writes a program with gittest. Between fork and exec another
// test's child would have the file open for writing, and to run it would fail as "text file busy".
func TestProgramsAreWritten(t *testing.T) {
	testFiles(t, func(path string, _ []byte, set *token.FileSet, file *ast.File) {
		for _, place := range programsWritten(file) {
			t.Errorf("%s writes a program: gittest.Program does it while no child starts", set.Position(place))
		}
	})
}

// programsWritten are the calls of os.WriteFile whose mode lets somebody execute the file.
func programsWritten(file *ast.File) (places []token.Pos) {
	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) != 3 {
			return true
		}
		sel, ok := call.Fun.(*ast.SelectorExpr)
		if !ok || sel.Sel.Name != "WriteFile" {
			return true
		}
		mode, ok := call.Args[2].(*ast.BasicLit)
		if !ok {
			return true
		}
		if bits, err := strconv.ParseUint(mode.Value, 0, 32); err == nil && bits&0o111 != 0 {
			places = append(places, call.Pos())
		}
		return true
	})
	return places
}
