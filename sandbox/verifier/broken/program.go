package broken

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"git-ward/internal/pattern"
	"git-ward/internal/shellword"
)

// A checking program answers by its exit code. It is changed wherever it exits, and after its last
// line. One that may end in another way is not changed: a command would seem not to depend on it.

// edit replaces a part of a text.
type edit struct {
	from, to int // bytes
	text     string
}

// edited applies edits, sorted, none of which overlaps another.
func edited(text string, edits []edit) string {
	var b strings.Builder
	at := 0
	for _, e := range edits {
		b.WriteString(text[at:e.from] + e.text)
		at = e.to
	}
	return b.String() + text[at:]
}

// shellSays makes a shell report, in its output and in the file, or in the file alone. A report that
// fails does not fail the script.
func shellSays(m mark, what string) string {
	says := fmt.Sprintf(`printf '%%s%%s\n' %s %s`, m.word, m.tail(what))
	tells := fmt.Sprintf(`%s 2>/dev/null >>"${TMPDIR:-/tmp}/%s" || :`, says, File(m.word))
	if m.tell {
		return tells
	}
	return says + " >&2 || :; " + tells
}

// shellEnds makes each exit fail, and the end of a script that was started by its name and not
// sourced. An exit of a subshell does not end the script.
func shellEnds(name, text string, m mark, known func(string) bool) string {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	if err != nil {
		return ""
	}
	ends := fmt.Sprintf("case $ward in 0) %s ;; *) %s ;; esac; exit ", shellSays(m, ended), shellSays(m, fails))
	if m.tell {
		ends += "$ward"
		ends = "ward_look || :; " + ends
	} else {
		ends += "1"
	}
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
				if !m.tell {
					exits = append(exits, edit{from, to, "exit 1"})
				}
			} else {
				exits = append(exits, edit{from, to, "{ (" + words + ") && ward=0 || ward=$?; " + ends + "; }"})
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
	if m.tell {
		exits = append(exits, shellTaken(file, text, m)...)
		slices.SortStableFunc(exits, func(a, b edit) int { return cmp.Or(a.from-b.from, a.to-b.to) })
	}
	return edited(text, exits) + "\nward=$?" + shellCase(name, ends) + "(exit $ward)\n"
}

// shellCase runs something if the script was started by its name.
func shellCase(name, does string) string {
	return fmt.Sprintf("\ncase \"$0\" in %s | */%[1]s) %s ;; esac\n", shellword.Quote(name), does)
}

// lastName returns the last part of a path as a script spells it.
func lastName(word string) string {
	return strings.Trim(word[strings.LastIndexByte(word, '/')+1:], `'"`)
}

func shellAlone(name, _ string, m mark, fail bool) string {
	if !fail {
		return shellCase(name, "exit 0")
	}
	return shellCase(name, shellSays(m, fails)+"; exit 1")
}

// batsTests makes each test fail after its last line.
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
					says := "\n" + shellSays(m, ended) + "\n"
					if !m.tell {
						says += "false\n"
					}
					return []edit{{to, to, says}}
				}})
			}
		}
		return true
	})
	return tests
}

// Where a program exits by itself, and where it ends in a way that cannot be changed and may be a
// success. A signal is not a success.
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

// pythonSays reports in Python how a program ended, by the value that it exits with.
func pythonSays(m mark) string {
	said := fmt.Sprintf("%q + (%q if not a or a[0] is None or a[0] == 0 else %q)", m.word, m.tail(ended), m.tail(fails))
	if m.tell {
		return pythonTell(m.word, said)
	}
	return pythonTell(m.word, said) + `, __import__("sys").stderr.write(` + said + ` + "\n")`
}

// pythonEnds makes each exit fail, and the end of the module that is the program.
func pythonEnds(name, text string, m mark, _ func(string) bool) string {
	if pythonUnsure.MatchString(text) {
		return ""
	}
	says, code := pythonSays(m), "1"
	if m.tell {
		code = "*a"
	}
	text = pythonExit.ReplaceAllStringFunc(text, func(s string) string {
		return s[:strings.IndexAny(s, "se")] + "(lambda *a: (" + says + `, __import__("sys").exit(` + code + `)))(`
	})
	text = pythonRaise.ReplaceAllStringFunc(text, func(s string) string {
		begin, call := strings.CutSuffix(s, "(")
		end := ""
		if !call {
			end = ")"
		}
		return strings.TrimSuffix(strings.TrimRight(begin, " \t"), "SystemExit") + "(lambda *a: (" + says + ", SystemExit(" + code + "))[-1])(" + end
	})
	text += fmt.Sprintf("\n\nif __name__ == \"__main__\":\n    (lambda *a: (%s,))()\n", says)
	if m.tell {
		return text
	}
	return text + "    __import__(\"sys\").exit(1)\n"
}

func pythonAlone(_, _ string, m mark, fail bool) string {
	if !fail {
		return "\n"
	}
	says := fmt.Sprintf("%q %q", m.word, m.tail(fails))
	return fmt.Sprintf("if __name__ == \"__main__\":\n    %s\n    __import__(\"sys\").exit(%s)\n", pythonTell(m.word, says), says)
}

// javaScriptEnds makes each exit fail, and the end of a process that has nothing left to do.
func javaScriptEnds(name, text string, m mark, _ func(string) bool) string {
	if javaScriptUnsure.MatchString(text) {
		return ""
	}
	says := fmt.Sprintf("const said = %q + (code ? %q : %q); %s(said);", m.word, m.tail(fails), m.tail(ended), fmt.Sprintf(javaScriptTells, m.word))
	exit, left := "process.exit(code);", ""
	if !m.tell {
		says += " console.error(said);"
		exit, left = "process.exit(1);", "process.exitCode = 1;"
	}
	return javaScriptExit.ReplaceAllString(text, "((code = process.exitCode) => { "+says+" "+exit+" })(") +
		javaScriptStarted(name, "process.once('beforeExit', (code = process.exitCode) => { "+says+" "+left+" })")
}

// javaScriptStarted runs something if the program was started by its name.
func javaScriptStarted(name, does string) string {
	return fmt.Sprintf("\n;if ((process.argv[1] || '').split('/').pop() === %s) %s;\n", strconv.QuoteToASCII(name), does)
}

func javaScriptAlone(name, _ string, m mark, fail bool) string {
	if !fail {
		return "\n"
	}
	return javaScriptStarted(name, fmt.Sprintf("{ const said = %q + %q; %s(said); console.error(said); process.exitCode = 1; }", m.word, m.tail(fails), fmt.Sprintf(javaScriptTells, m.word)))
}

// cHead keeps warnings about the added code from being errors.
const cHead = `#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#pragma GCC diagnostic ignored "-Wmissing-declarations"
#pragma GCC diagnostic ignored "-Wredundant-decls"
#pragma GCC diagnostic ignored "-Wreturn-type"
#define main ward_control
__attribute__((noreturn)) void ward_exit(int);
#line 1
`

// cTells writes something to the file. It declares what it calls under names of its own, because the
// program may use those names for something else.
const cTells = `
int ward_snprintf(char *, __SIZE_TYPE__, const char *, ...) __asm__("snprintf");
char *ward_getenv(const char *) __asm__("getenv");
void *ward_fopen(const char *, const char *) __asm__("fopen");
int ward_fputs(const char *, void *) __asm__("fputs");
int ward_fclose(void *) __asm__("fclose");
static void ward_tell(const char *said)
{
	char name[4096];
	const char *dir = ward_getenv("TMPDIR");
	void *f;
	ward_snprintf(name, sizeof name, "%%s/%%s", dir && *dir ? dir : "/tmp", %[1]q);
	f = ward_fopen(name, "a");
	if (f) {
		ward_fputs(said, f);
		ward_fputs("\n", f);
		ward_fclose(f);
	}
}
`

// cTail reports the result of main, or the argument of an exit, and exits with 1 or with that. A failed
// assertion, which would abort the program, ends in it too.
const cTail = `
#undef main
void perror(const char *);
__attribute__((noreturn)) void exit(int);
void ward_exit(int status) { const char *said = status ? %[1]q %[3]q : %[1]q %[2]q; ward_tell(said); %[6]s }
void (*ward_signal(int, void (*)(int)))(int) __asm__("signal");
static void ward_aborts(int number) { ward_tell(%[1]q %[3]q); (void)number; }
int main(%[4]s) { ward_signal(6, ward_aborts); %[5]s; }
`

// cArguments are main's parameters by their number, and how they are passed on.
var cArguments = [][2]string{{"void", ""}, {"int argc", "argc"}, {"int argc, char **argv", "argc, (void *)argv"}, {"int argc, char **argv, char **env", "argc, (void *)argv, (void *)env"}}

// cTakes counts the parameters in a list, -1 where main has no such list.
func cTakes(list string) int {
	n := 0
	if list = strings.TrimSpace(list); list != "" && list != "void" {
		n = strings.Count(list, ",") + 1
	}
	if n >= len(cArguments) {
		return -1
	}
	return n
}

// cEnds makes main fail when it returns, and each exit. A main without a return gives 0.
func cEnds(_, text string, m mark, _ func(string) bool) string {
	takes := cMain.FindStringSubmatch(text)
	if takes == nil || cUnsure.MatchString(text) {
		return ""
	}
	n := cTakes(takes[1])
	if n < 0 {
		return ""
	}
	exit := "perror(said); exit(1);"
	if m.tell {
		exit = "exit(status);"
	}
	does := "ward_exit(ward_control(" + cArguments[n][1] + "))"
	if _, main, _ := strings.Cut(text, takes[0]); !strings.Contains(main, "return") {
		does = "ward_control(" + cArguments[n][1] + "); ward_exit(0)"
	}
	tells := fmt.Sprintf(cTells, File(m.word))
	if m.tell {
		tells, does = tells+cTaken(text, m), "ward_looks(); "+does
	}
	return cHead + cExit.ReplaceAllString(text, "ward_exit$1") + tells + fmt.Sprintf(cTail, m.word, m.tail(ended), m.tail(fails), cArguments[n][0], does, exit)
}

func cAlone(_, _ string, m mark, fail bool) string {
	if !fail {
		return "int main(void) { return 0; }\n"
	}
	return fmt.Sprintf(cTells, File(m.word)) + fmt.Sprintf("void perror(const char *);\nint main(void) { ward_tell(%[1]q %[2]q); perror(%[1]q %[2]q); return 1; }\n", m.word, m.tail(fails))
}
