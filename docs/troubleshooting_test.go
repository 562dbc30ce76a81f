package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// said is a message's heading in troubleshooting.md: its words in backticks, alone on a line.
var said = regexp.MustCompile("(?m)^`([^`]+)`\n: ")

// formatVerb is where a message has a value.
var formatVerb = regexp.MustCompile(`%(\[\d\])?[-+#0-9.]*[a-zA-Z]`)

// TestMessagesAreWards holds each message that troubleshooting.md explains against the strings
// of Ward's own source, where ... stands for a value.
func TestMessagesAreWards(t *testing.T) {
	text, err := os.ReadFile("troubleshooting.md")
	if err != nil {
		t.Fatal(err)
	}
	explained := said.FindAllStringSubmatch(string(text), -1)
	if len(explained) < 20 {
		t.Fatalf("only %d messages are explained", len(explained))
	}
	literals := sourceStrings(t)
	for _, m := range explained {
		if !strings.Contains(literals, m[1]) {
			t.Errorf("no message of Ward's has the words %q", m[1])
		}
	}
}

// sourceStrings are the strings of all shipped Go files, a line each, their values as "...".
func sourceStrings(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if text, err := strconv.Unquote(lit.Value); err == nil {
					all.WriteString(formatVerb.ReplaceAllString(text, "...") + "\n")
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}
