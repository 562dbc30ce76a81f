package broken

import (
	"go/ast"
	"path"
	"slices"
	"strings"

	"git-ward/internal/pattern"
)

// acts matches, by a file's extension, text that does something and does not only hold values.
var acts = map[string]*pattern.Pattern{
	".py": pattern.New(`(?m)^[ \t]*(?:async[ \t]+)?(?:def|class|if|for|while|with|try)\b|\blambda\b`),
	".js": ecmaActs, ".mjs": ecmaActs, ".cjs": ecmaActs, ".jsx": ecmaActs, ".ts": ecmaActs, ".mts": ecmaActs, ".cts": ecmaActs, ".tsx": ecmaActs,
	".sh": shellActs, ".bash": shellActs,
	".c": pattern.New(`\)[ \t\n]*\{`),
}

var (
	ecmaActs  = pattern.New(`\bfunction\b|=>|\bclass\b|\)[ \t\n]*\{`)
	shellActs = pattern.New(`(?m)^[ \t]*[^\s#=]+(?:[ \t]|$)`)
)

// Values reports whether a program's text only holds values, such as those that tests compare with.
// A text in an unknown language may do anything, so it does not.
func Values(name, text string) bool {
	if path.Ext(name) != ".go" {
		p := acts[path.Ext(name)]
		return p != nil && aValue.MatchString(text) && !p.MatchString(text)
	}
	_, file, _ := goFile(text)
	if file == nil {
		return false
	}
	does, has := false, false
	ast.Inspect(file, func(n ast.Node) bool {
		switch n.(type) {
		case *ast.FuncDecl, *ast.FuncLit:
			does = true
		case *ast.ImportSpec:
			return false
		case *ast.BasicLit:
			has = true
		}
		return true
	})
	return has && !does
}

// aValue is a value in a text.
var aValue = pattern.New(value)

var firstWord = pattern.New(`^["'.]*\w+`)

// begins returns the first word of a line.
func begins(line string) string {
	return firstWord.Regexp().FindString(strings.TrimSpace(line))
}

// Restates reports whether a text of values changes what it said before, rather than only adding to
// it: a line is gone or changed, or a new line begins as an old one does.
func Restates(before, now string) bool {
	begun := map[string]bool{}
	for line := range strings.Lines(before) {
		begun[begins(line)] = true
	}
	delete(begun, "")
	lines := strings.Split(now, "\n")
	for line := range strings.Lines(before) {
		at := 0
		for ; at < len(lines) && strings.TrimSpace(lines[at]) != strings.TrimSpace(line); at++ {
			if begun[begins(lines[at])] {
				return true
			}
		}
		if at == len(lines) {
			return true
		}
		lines = lines[at+1:]
	}
	for _, line := range lines {
		if begun[begins(line)] {
			return true
		}
	}
	return false
}

var (
	givesValue = pattern.New(`(?m)^[^=:\n"']*?([A-Za-z_]\w*)[^\w=:\n"']*[=:]`)
	aName      = pattern.New(`[A-Za-z_]\w*`)
)

// Asks reports whether a test's text names a file as a module, or something that the file gives a
// value to.
func Asks(test, name, values string) bool {
	names := map[string]bool{strings.TrimSuffix(path.Base(name), path.Ext(name)): true}
	for _, m := range givesValue.FindAllStringSubmatch(values, -1) {
		names[m[1]] = true
	}
	return slices.ContainsFunc(aName.FindAllString(test, -1), func(word string) bool { return names[word] })
}

// Names reports whether a test's text contains a name.
func Names(test, name string) bool { return slices.Contains(aName.FindAllString(test, -1), name) }
