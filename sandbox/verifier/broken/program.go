package broken

import (
	"fmt"
	"slices"
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

// shellSays has a shell say something, on both of its parts.
const shellSays = `printf '%%s%%s\n' %s %s >&2`

// shellEnds has each exit fail, and the end of a script that was started by its name, and
// not read by another. An exit of a shell within the script's is no end of it.
func shellEnds(name, text string, m mark, known func(string) bool) string {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	if err != nil {
		return ""
	}
	says := fmt.Sprintf(shellSays+" || "+shellSays, m.word, m.tail(ended), m.word, m.tail(fails))
	var exits []edit
	var within [][]int // shells of their own
	sure := true
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n.(type) {
		case *syntax.Subshell, *syntax.CmdSubst, *syntax.ProcSubst:
			within = append(within, []int{int(n.Pos().Offset()), int(n.End().Offset())})
		}
		call, ok := n.(*syntax.CallExpr)
		if !ok || len(call.Args) == 0 {
			return true
		}
		words := text[call.Pos().Offset():call.End().Offset()]
		from, to := int(call.Pos().Offset()), int(call.End().Offset())
		switch call.Args[0].Lit() {
		case "exit":
			if slices.ContainsFunc(within, func(shell []int) bool { return shell[0] <= from && to <= shell[1] }) {
				exits = append(exits, edit{from, to, "exit 1"})
			} else {
				exits = append(exits, edit{from, to, "{ (" + words + ") && " + says + "; exit 1; }"})
			}
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
	return edited(text, exits) + "\nward=$?" + shellCase(name, "(exit $ward) && "+says+"; exit 1")
}

// shellCase does something where the script was started by its name.
func shellCase(name, does string) string {
	return fmt.Sprintf("\ncase \"$0\" in %s | */%[1]s) %s ;; esac\n", shellWord(name), does)
}

// lastName is the last part of a path as a script has it.
func lastName(word string) string {
	return strings.Trim(word[strings.LastIndexByte(word, '/')+1:], `'"`)
}

func shellAlone(name, _ string, m mark, fail bool) string {
	if !fail {
		return shellCase(name, "exit 0")
	}
	return shellCase(name, fmt.Sprintf(shellSays, m.word, m.tail(fails))+"; exit 1")
}

// shellWord is a name that a pattern of the shell fits, and no other does.
func shellWord(name string) string { return "'" + strings.ReplaceAll(name, "'", `'\''`) + "'" }

// batsTests fail behind their last line.
func batsTests(text string) (tests []test) {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBats)).Parse(strings.NewReader(text), "")
	if err != nil {
		return nil
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		if t, ok := n.(*syntax.TestDecl); ok {
			if body, ok := t.Body.Cmd.(*syntax.Block); ok {
				from, to := int(body.Lbrace.Offset()), int(body.Rbrace.Offset())
				name := text[t.Description.Pos().Offset():t.Description.End().Offset()]
				tests = append(tests, test{name, from, to, func(how How, m mark) []edit {
					if how == Pass {
						return []edit{{from + 1, from + 1, "\nreturn 0\n"}}
					}
					return []edit{{to, to, "\n" + fmt.Sprintf(shellSays, m.word, m.tail(ended)) + "\nfalse\n"}}
				}})
			}
		}
		return true
	})
	return tests
}

// Where a program's text ends it by itself, and where in a way that is not changed and may
// be a success. A signal is none.
var (
	pythonExit       = pattern.New(`(^|[^.\w])(?:sys\.)?exit\(`)
	pythonRaise      = pattern.New(`(?m)(^|[^.\w])raise[ \t]+SystemExit(?:\(|[ \t]*$)`)
	pythonUnsure     = pattern.New(`\b_exit\b|\bexec[lv]\w*\b|(?m:^[ \t]*from[ \t].*\bexit\b)`)
	javaScriptExit   = pattern.New(`\bprocess\.exit\(`)
	javaScriptUnsure = pattern.New(`\breallyExit\b`)
	cMain            = pattern.New(`\bmain[ \t\n]*\(([^()]*)\)[^;{]*\{`)
	cExit            = pattern.New(`\bexit([ \t]*\()`)
	cUnsure          = pattern.New(`\b(?:_exit|_Exit|quick_exit|atexit|on_exit|exec[lv]\w*)\b`)
)

// pythonSays is what says in Python what a program came to, by what its exit is given.
const pythonSays = `__import__("sys").stderr.write(%[1]q + (%[2]q if not a or a[0] is None or a[0] == 0 else %[3]q) + "\n")`

// pythonEnds has each exit fail, and the end of a module that is the program.
func pythonEnds(name, text string, m mark, _ func(string) bool) string {
	if pythonUnsure.MatchString(text) {
		return ""
	}
	says := fmt.Sprintf(pythonSays, m.word, m.tail(ended), m.tail(fails))
	text = pythonExit.ReplaceAllStringFunc(text, func(s string) string {
		return s[:strings.IndexAny(s, "se")] + "(lambda *a: (" + says + `, __import__("sys").exit(1)))(`
	})
	text = pythonRaise.ReplaceAllStringFunc(text, func(s string) string {
		begin, call := strings.CutSuffix(s, "(")
		end := ""
		if !call {
			end = ")"
		}
		return strings.TrimSuffix(strings.TrimRight(begin, " \t"), "SystemExit") + "(lambda *a: (" + says + ", SystemExit(1))[1])(" + end
	})
	return text + fmt.Sprintf("\n\nif __name__ == \"__main__\":\n    (lambda *a: %s)()\n    __import__(\"sys\").exit(1)\n", says)
}

func pythonAlone(_, _ string, m mark, fail bool) string {
	if !fail {
		return "\n"
	}
	return fmt.Sprintf("if __name__ == \"__main__\":\n    __import__(\"sys\").exit(%q %q)\n", m.word, m.tail(fails))
}

// javaScriptEnds has each exit fail, and the end of a process in which nothing is left to do.
func javaScriptEnds(name, text string, m mark, _ func(string) bool) string {
	if javaScriptUnsure.MatchString(text) {
		return ""
	}
	says := fmt.Sprintf("console.error(%q + (code ? %q : %q))", m.word, m.tail(fails), m.tail(ended))
	return javaScriptExit.ReplaceAllString(text, "((code = process.exitCode) => { "+says+"; process.exit(1); })(") +
		javaScriptStarted(name, "process.once('beforeExit', (code = process.exitCode) => { "+says+"; process.exitCode = 1; })")
}

// javaScriptStarted does something where the program was started by its name.
func javaScriptStarted(name, does string) string {
	return fmt.Sprintf("\n;if ((process.argv[1] || '').split('/').pop() === %s) %s;\n", strconv.QuoteToASCII(name), does)
}

func javaScriptAlone(name, _ string, m mark, fail bool) string {
	if !fail {
		return "\n"
	}
	return javaScriptStarted(name, fmt.Sprintf("{ console.error(%q + %q); process.exitCode = 1; }", m.word, m.tail(fails)))
}

// cHead has no warning of what stands around a program be an error.
const cHead = `#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#pragma GCC diagnostic ignored "-Wmissing-declarations"
#pragma GCC diagnostic ignored "-Wredundant-decls"
#pragma GCC diagnostic ignored "-Wreturn-type"
#define main ward_control
__attribute__((noreturn)) void ward_exit(int);
#line 1
`

// cTail ends with 1, and says what main gave, or an exit was given.
const cTail = `
#undef main
void perror(const char *);
__attribute__((noreturn)) void exit(int);
void ward_exit(int status) { perror(status ? %[1]q %[3]q : %[1]q %[2]q); exit(1); }
int main(%[4]s) { %[5]s; }
`

// cArguments are main's, by how many it takes, and how they are handed on.
var cArguments = [][2]string{{"void", ""}, {"int argc", "argc"}, {"int argc, char **argv", "argc, (void *)argv"}, {"int argc, char **argv, char **env", "argc, (void *)argv, (void *)env"}}

// cEnds has main fail when it returns, and each exit. A main without a return gives 0.
func cEnds(_, text string, m mark, _ func(string) bool) string {
	takes := cMain.FindStringSubmatch(text)
	if takes == nil || cUnsure.MatchString(text) {
		return ""
	}
	n := 0
	if list := strings.TrimSpace(takes[1]); list != "" && list != "void" {
		n = strings.Count(list, ",") + 1
	}
	if n >= len(cArguments) {
		return ""
	}
	does := "ward_exit(ward_control(" + cArguments[n][1] + "))"
	if _, main, _ := strings.Cut(text, takes[0]); !strings.Contains(main, "return") {
		does = "ward_control(" + cArguments[n][1] + "); ward_exit(0)"
	}
	return cHead + cExit.ReplaceAllString(text, "ward_exit$1") + fmt.Sprintf(cTail, m.word, m.tail(ended), m.tail(fails), cArguments[n][0], does)
}

func cAlone(_, _ string, m mark, fail bool) string {
	if !fail {
		return "int main(void) { return 0; }\n"
	}
	return fmt.Sprintf("void perror(const char *);\nint main(void) { perror(%q %q); return 1; }\n", m.word, m.tail(fails))
}
