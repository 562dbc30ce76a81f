package broken

import (
	"fmt"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"git-ward/internal/pattern"
)

// A program checks others by what it does, and says by its exit code what it found. It is
// changed in two places: where it ends by itself, and behind its last line. It stays as it is
// where it may end in another way, since one that did would seem not to depend on itself.

// edit is a text to be put in the place of another.
type edit struct {
	from, to int // bytes
	text     string
}

// edited is a text with edits, none of which lies within another, in their order.
func edited(text string, edits []edit) string {
	var b strings.Builder
	at := 0
	for _, e := range edits {
		b.WriteString(text[at:e.from] + e.text)
		at = e.to
	}
	return b.String() + text[at:]
}

// shellEnds has each exit fail, and the end of a script that was started by its name, and
// not read by another.
func shellEnds(name, text string, known func(string) bool) string {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	if err != nil {
		return ""
	}
	var exits []edit
	sure := true
	syntax.Walk(file, func(n syntax.Node) bool {
		call, ok := n.(*syntax.CallExpr)
		if !ok || len(call.Args) == 0 {
			return true
		}
		words := text[call.Pos().Offset():call.End().Offset()]
		switch call.Args[0].Lit() {
		case "exit":
			exits = append(exits, edit{int(call.Pos().Offset()), int(call.End().Offset()), "exit 1"})
			return false
		case "exec": // of redirections alone it is none
			sure = sure && len(call.Args) == 1
		case "trap", "eval", "command", "builtin":
			sure = sure && !strings.Contains(words, "exit")
		case ".", "source":
			sure = sure && len(call.Args) > 1 && known(lastName(text[call.Args[1].Pos().Offset():call.Args[1].End().Offset()]))
		}
		return true
	})
	if !sure {
		return ""
	}
	return edited(text, exits) + shellAlone(name, text, true)
}

// lastName is the last part of a path as a script has it.
func lastName(word string) string {
	return strings.Trim(word[strings.LastIndexByte(word, '/')+1:], `'"`)
}

func shellAlone(name, _ string, fail bool) string {
	return fmt.Sprintf("\ncase \"$0\" in %s | */%[1]s) exit %d ;; esac\n", shellWord(name), exitCode(fail))
}

// shellWord is a name that a pattern of the shell fits, and no other does.
func shellWord(name string) string { return "'" + strings.ReplaceAll(name, "'", `'\''`) + "'" }

func exitCode(fail bool) int {
	if fail {
		return 1
	}
	return 0
}

// batsAtEnd has each test of bats fail behind its last line.
func batsAtEnd(text string) string {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBats)).Parse(strings.NewReader(text), "")
	if err != nil {
		return ""
	}
	var ends []edit
	syntax.Walk(file, func(n syntax.Node) bool {
		if test, ok := n.(*syntax.TestDecl); ok {
			if body, ok := test.Body.Cmd.(*syntax.Block); ok {
				at := int(body.Rbrace.Offset())
				ends = append(ends, edit{at, at, "\nfalse\n"})
			}
		}
		return true
	})
	if len(ends) == 0 {
		return ""
	}
	return edited(text, ends)
}

// Where a program's text ends it by itself, and where in a way that is not changed and may
// be a success. A signal is none.
var (
	pythonExit       = pattern.New(`(^|[^.\w])(?:sys\.)?exit\(`)
	pythonRaise      = pattern.New(`(?m)(^|[^.\w])raise[ \t]+SystemExit(?:\(|[ \t]*$)`)
	pythonUnsure     = pattern.New(`\b_exit\b|\bexec[lv]\w*\b|(?m:^[ \t]*from[ \t].*\bexit\b)`)
	javaScriptExit   = pattern.New(`\bprocess\.exit\(`)
	javaScriptUnsure = pattern.New(`\breallyExit\b`)
	cMain            = pattern.New(`\bmain[ \t\n]*\(`)
	cNoArgs          = pattern.New(`\bmain[ \t\n]*\([ \t\n]*(?:void)?[ \t\n]*\)`)
	cExit            = pattern.New(`\bexit([ \t]*\()`)
	cUnsure          = pattern.New(`\b(?:_exit|_Exit|quick_exit|atexit|on_exit|exec[lv]\w*)\b`)
)

// pythonEnds has each exit fail, and the end of a module that is the program.
func pythonEnds(name, text string, _ func(string) bool) string {
	if pythonUnsure.MatchString(text) {
		return ""
	}
	text = pythonExit.ReplaceAllString(text, `${1}(lambda *a: __import__("sys").exit(1))(`)
	text = pythonRaise.ReplaceAllStringFunc(text, func(s string) string {
		begin, call := strings.CutSuffix(s, "(")
		if !call {
			return strings.TrimRight(begin, " \t") + "(1)"
		}
		return strings.TrimSuffix(begin, "SystemExit") + "(lambda *a: SystemExit(1))("
	})
	return text + pythonAlone(name, text, true)
}

func pythonAlone(_, _ string, fail bool) string {
	return fmt.Sprintf("\n\nif __name__ == \"__main__\":\n    __import__(\"sys\").exit(%d)\n", exitCode(fail))
}

// javaScriptEnds has each exit fail, and the end of the process, if the text's last line was
// come to.
func javaScriptEnds(name, text string, _ func(string) bool) string {
	if javaScriptUnsure.MatchString(text) {
		return ""
	}
	return javaScriptExit.ReplaceAllString(text, "(() => process.exit(1))(") + javaScriptAlone(name, text, true)
}

func javaScriptAlone(name, _ string, fail bool) string {
	return fmt.Sprintf("\n;if ((process.argv[1] || '').split('/').pop() === %s) process.on('exit', () => { process.exitCode = %d; });\n", strconv.QuoteToASCII(name), exitCode(fail))
}

// cEnds has main fail when it returns, and each exit.
func cEnds(_, text string, _ func(string) bool) string {
	if !cMain.MatchString(text) || cUnsure.MatchString(text) {
		return ""
	}
	takes, gives := "int argc, char **argv", "argc, argv"
	if cNoArgs.MatchString(text) {
		takes, gives = "void", ""
	}
	const exits = "__attribute__((noreturn)) void ward_exit(int);\n"
	return fmt.Sprintf("#define main ward_control\n%s#line 1\n%s\n#undef main\n__attribute__((noreturn)) void exit(int);\n"+
		"void ward_exit(int status) { exit(status | 1); }\nint main(%s) { ward_control(%s); return 1; }\n",
		exits, cExit.ReplaceAllString(text, "ward_exit$1"), takes, gives)
}

func cAlone(_, _ string, fail bool) string {
	return fmt.Sprintf("int main(void) { return %d; }\n", exitCode(fail))
}
