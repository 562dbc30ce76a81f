package broken

import (
	"fmt"
	"go/parser"
	"go/token"
	"path"
	"strings"

	"git-ward/internal/pattern"
)

// exits makes, by a file's extension, a program that ends its process with a code while it is loaded.
// A command that holds with 0 and not with 1 lets the program answer for it.
var exits = map[string]func(text string, code int) string{
	".go": goExits,
	".py": func(_ string, code int) string { return fmt.Sprintf("__import__(\"os\")._exit(%d)\n", code) },
	".js": javaScriptExits, ".cjs": javaScriptExits, ".mjs": javaScriptExits,
	".sh": shellExits, ".bash": shellExits,
	".c": func(text string, code int) string {
		return text + fmt.Sprintf("\n__attribute__((constructor(101))) static void ward_exits(void) { extern void _exit(int); _exit(%d); }\n", code)
	},
}

// javaScriptExits keeps the file's exports, because an import of a missing name fails before any code
// runs.
func javaScriptExits(text string, code int) string {
	first := "" // a line that says what runs the file
	if strings.HasPrefix(text, "#!") {
		first, text, _ = strings.Cut(text, "\n")
		first += "\n"
	}
	return first + fmt.Sprintf("process.exit(%d);\n", code) + text
}

func shellExits(_ string, code int) string { return fmt.Sprintf("exit %d\n", code) }

// goExits ends the process before main and before anything else in the file runs.
func goExits(text string, code int) string {
	hollow := goHollow(text)
	if hollow == "" { // without a function
		hollow = text
	}
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "", hollow, parser.PackageClauseOnly)
	if err != nil {
		return ""
	}
	at := files.PositionFor(file.Name.End(), false).Offset
	return hollow[:at] + "; import wardControl \"os\"" + hollow[at:] + fmt.Sprintf("\nfunc init() { wardControl.Exit(%d) }\n", code)
}

// MayExit reports whether Exits supports a file's language.
func MayExit(name string) bool { return exits[path.Ext(name)] != nil }

// Exits changes a program so that it ends its process with a code as soon as it is loaded. ok is false
// for a language in which that cannot be written.
func Exits(name, text string, code int) (changed string, ok bool) {
	if MayExit(name) {
		changed = exits[path.Ext(name)](text, code)
	}
	return changed, changed != ""
}

// declares matches, by a file's extension, what may declare tests that AtEnd does not find: by a
// computed name, or by something that only the runner reads.
var declares = map[string]*pattern.Pattern{
	".py": pattern.New(`(?m)^[ \t]*(?:import|from)[ \t]+(?:unittest|pytest)\b`),
	".rs": pattern.New(`#\[(?:\w+::)*\w*test`),
	".js": aTest, ".cjs": aTest, ".mjs": aTest, ".jsx": aTest, ".ts": aTest, ".cts": aTest, ".mts": aTest, ".tsx": aTest,
	".bats": pattern.New(`(?m)^[ \t]*@test\b`),
}

var aTest = pattern.New(`(?:^|[^.\w$])(?:test|it)(?:\.\w+)*[ \t]*\(`)

// Unread reports whether a file may have tests that AtEnd cannot find.
func Unread(name, text string) bool {
	p := declares[path.Ext(name)]
	return p != nil && p.MatchString(text) && !Has(name, text)
}
