package house

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	sleep = regexp.MustCompile(`\btime\.Sleep\(`)
	// namedSleep is one whose length is a constant or a parameter: its name is explained
	// where it is declared.
	namedSleep = regexp.MustCompile(`\btime\.Sleep\((?:\d+ \* )?[a-zA-Z]\w*\)$`)
)

// goFiles calls look with each Go file of the tree but this room's own.
func goFiles(t *testing.T, look func(path string, text []byte)) {
	t.Helper()
	for _, path := range files(t) {
		if !strings.HasSuffix(path, ".go") || strings.HasPrefix(path, "internal/house/") {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		look(path, text)
	}
}

// TestWaits: a wait says why nothing tells when it is over, on its line or the one above.
func TestWaits(t *testing.T) {
	goFiles(t, func(path string, text []byte) {
		before := ""
		for i, line := range strings.Split(string(text), "\n") {
			reason := strings.Contains(line, "//") || strings.HasPrefix(strings.TrimSpace(before), "//")
			if sleep.MatchString(line) && !reason && !namedSleep.MatchString(line) {
				t.Errorf("%s:%d waits and does not say why: wait for an event, or say what tells nobody", path, i+1)
			}
			before = line
		}
	})
}

// timeCalls are the ways in which a test asks the machine's clock, by what they count as.
var timeCalls = map[string]string{
	"time.Sleep":     "sleeps",
	"time.AfterFunc": "timers", "time.NewTimer": "timers", "time.NewTicker": "timers", "time.After": "timers", "time.Tick": "timers",
	"context.WithTimeout": "deadlines", "context.WithTimeoutCause": "deadlines", "context.WithDeadline": "deadlines",
	"SetDeadline": "deadlines", "SetReadDeadline": "deadlines", "SetWriteDeadline": "deadlines", "time.Now().Add": "deadlines",
}

// clocksLeft is how many tests still ask the clock outside of testing/synctest. A
// number here may only fall: wait by internal/await, hold by internal/failpoint, or let
// synctest's clock run.
var clocksLeft = map[string]int{"sleeps": 28, "timers": 6, "deadlines": 40}

// testFiles calls look with each file of tests, parsed.
func testFiles(t *testing.T, look func(path string, text []byte, set *token.FileSet, file *ast.File)) {
	t.Helper()
	goFiles(t, func(path string, text []byte) {
		if !strings.HasSuffix(path, "_test.go") {
			return
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, text, 0)
		if err != nil {
			t.Fatal(err)
		}
		look(path, text, set, file)
	})
}

// bubbleBodies are the functions that nobody names but a call of synctest.Test, as
// `directory name`: their clock is the test's own.
func bubbleBodies(t *testing.T) map[string]bool {
	t.Helper()
	within, named := map[string]int{}, map[string]int{}
	testFiles(t, func(path string, text []byte, set *token.FileSet, file *ast.File) {
		count := func(n ast.Node, in map[string]int) {
			ast.Inspect(n, func(n ast.Node) bool {
				if id, ok := n.(*ast.Ident); ok {
					in[filepath.Dir(path)+" "+id.Name]++
				}
				return true
			})
		}
		count(file, named)
		ast.Inspect(file, func(n ast.Node) bool {
			if f, ok := n.(*ast.FuncDecl); ok {
				named[filepath.Dir(path)+" "+f.Name.Name]-- // where it is declared
			}
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			if sel, ok := call.Fun.(*ast.SelectorExpr); ok && sel.Sel.Name == "Test" {
				if from, ok := sel.X.(*ast.Ident); ok && from.Name == "synctest" {
					count(call, within)
				}
			}
			return true
		})
	})
	bodies := map[string]bool{}
	for name, n := range within {
		if n == named[name] {
			bodies[name] = true
		}
	}
	return bodies
}

// TestClocksFall: no new test makes its verdict depend on the machine's speed (TEST-2).
func TestClocksFall(t *testing.T) {
	found := map[string]int{}
	bubbles := bubbleBodies(t)
	testFiles(t, func(path string, text []byte, set *token.FileSet, file *ast.File) {
		ast.Inspect(file, func(n ast.Node) bool {
			if f, ok := n.(*ast.FuncDecl); ok && f.Recv == nil && bubbles[filepath.Dir(path)+" "+f.Name.Name] {
				return false
			}
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			var name bytes.Buffer
			printer.Fprint(&name, set, call.Fun)
			if name.String() == "synctest.Test" {
				return false
			}
			kind := timeCalls[name.String()]
			if sel, ok := call.Fun.(*ast.SelectorExpr); ok && kind == "" {
				kind = timeCalls[sel.Sel.Name]
			}
			// The one bound of all waits is no expectation of a test's.
			if kind != "" && !bytes.Contains(text[call.Pos()-1:call.End()-1], []byte("await.Deadline(")) {
				found[kind]++
				if testing.Verbose() {
					t.Logf("%s: %s", set.Position(call.Pos()), name.String())
				}
			}
			return true
		})
	})
	for kind, left := range clocksLeft {
		switch n := found[kind]; {
		case n > left:
			t.Errorf("%d %s in tests, and %d were left: a test waits for a condition, not for a time (go test -v says where)", n, kind, left)
		case n < left:
			t.Errorf("%d %s are left in tests: write that number into clocksLeft, so that it only falls", n, kind)
		}
	}
}
