package broken

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"strconv"
	"strings"

	"git-ward/internal/pattern"
	"git-ward/internal/shellword"
)

// Loading makes a program report, while it is loaded, whether its process was started for it
// (PROOF-1). Any other process that loads it may be running tests.
type Loading struct {
	Word string // which is in no text but this
	ID   int    // of the program
	Ends bool   // the program that its process was started for ends with 0 then, and does nothing
}

// loading says how one language's programs do that. They write the line of a Loading to the file of
// File.
type loading struct {
	starts func(text string) bool // false: no process is started for such a text
	says   func(name, text string, l Loading) string
}

var loadings = map[string]loading{
	".go": {goStarts, goLoads},
	".py": {func(text string) bool { return strings.HasPrefix(text, "#!") || strings.Contains(text, "__main__") }, pythonLoads},
	".js": javaScriptLoading, ".cjs": javaScriptLoading, ".mjs": javaScriptLoading,
	".sh": shellLoading, ".bash": shellLoading,
	".c": {cMain.MatchString, cLoads},
}

var (
	javaScriptLoading = loading{func(text string) bool {
		return strings.HasPrefix(text, "#!") || strings.Contains(text, "process.") || strings.Contains(text, "console.")
	}, javaScriptLoads}
	shellLoading = loading{func(string) bool { return true }, shellLoads}
)

// What a program reports about the process that loaded it.
const (
	main = "main" // what it was started for
	part = "part"
)

// head precedes the process's number in what a program reports.
func (l Loading) head() string { return ":load:" + strconv.Itoa(l.ID) + ":" }

// MayLoad reports whether Loads supports a file's language.
func MayLoad(name string) bool { return loadings[path.Ext(name)].says != nil }

// MayStart reports whether a process may be started for a program. A wrong no costs only the proof.
func MayStart(name, text string) bool { return MayLoad(name) && loadings[path.Ext(name)].starts(text) }

// Loads changes a program so that it reports as soon as it is loaded.
func Loads(name, text string, l Loading) (changed string, ok bool) {
	if MayLoad(name) {
		changed = loadings[path.Ext(name)].says(path.Base(name), text, l)
	}
	return changed, changed != ""
}

// Loaded lists the programs that an output reports, and those whose processes were started for them.
// outside says that each program was loaded by such processes only.
func Loaded(word, output string) (loaded, started map[int]bool, outside bool) {
	loaded, started = map[int]bool{}, map[int]bool{}
	own, all := map[string]bool{}, map[string]bool{} // processes
	for {
		_, rest, more := strings.Cut(output, word+":load:")
		if !more {
			break
		}
		output = rest
		line, _, _ := strings.Cut(rest, "\n")
		fields := strings.Split(strings.TrimSpace(line), ":")
		id, err := strconv.Atoi(fields[0])
		if err != nil || len(fields) != 3 {
			continue
		}
		loaded[id], all[fields[1]] = true, true
		if fields[2] == main {
			started[id], own[fields[1]] = true, true
		}
	}
	return loaded, started, len(own) > 0 && len(own) == len(all)
}

func goStarts(text string) bool {
	file, err := parser.ParseFile(token.NewFileSet(), "", text, parser.SkipObjectResolution)
	if err != nil || file.Name.Name != "main" {
		return false
	}
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "main" {
			return true
		}
	}
	return false
}

// goLoads reports before main, and also in a test binary, which does not run the program's main.
func goLoads(_, text string, l Loading) string {
	starts := goStarts(text)
	if l.Ends {
		text = goHollow(text)
	}
	file, err := parser.ParseFile(token.NewFileSet(), "", text, parser.PackageClauseOnly)
	if err != nil || text == "" {
		return ""
	}
	at := int(file.Name.End() - file.FileStart)
	what, ends := fmt.Sprintf("wardWhat := %q", part), ""
	if starts {
		what += fmt.Sprintf("\n\tif !wardTesting.Testing() {\n\t\twardWhat = %q\n\t}", main)
	} else {
		what += "\n\t_ = wardTesting.Testing"
	}
	if l.Ends {
		ends = fmt.Sprintf("if wardWhat == %q {\n\t\twardOS.Exit(0)\n\t}", main)
	}
	return text[:at] + `; import (wardFmt "fmt"; wardOS "os"; wardTesting "testing")` + text[at:] + fmt.Sprintf(`
func init() {
	%s
	if wardF, wardE := wardOS.OpenFile(wardOS.TempDir()+"/"+%q, wardOS.O_APPEND|wardOS.O_CREATE|wardOS.O_WRONLY, 0666); wardE == nil {
		_, _ = wardFmt.Fprintf(wardF, "%%s%%s%%d:%%s\n", %q, %q, wardOS.Getpid(), wardWhat)
		_ = wardF.Close()
	}
	%s
}
`, what, File(l.Word), l.Word, l.head(), ends)
}

// pythonFirst matches what has to stand first in a module: comments, the docstring and imports from
// __future__.
var pythonFirst = pattern.New(`\A(?:[ \t]*(?:#[^\n]*)?\n)*(?:[rRuU]?(?:"""(?s:.*?)"""|'''(?s:.*?)'''|"[^"\n]*"|'[^'\n]*')[ \t]*\n)?(?:[ \t]*(?:#[^\n]*)?\n|from __future__ import (?:\([^)]*\))?[^\n(]*\n)*`)

// pythonLoads decides by the call stack: above a program's module stands only what starts a module.
func pythonLoads(_, text string, l Loading) string {
	first, ends := pythonFirst.Regexp().FindString(text), ""
	if l.Ends {
		ends = "    if f is None:\n        os._exit(0)\n"
	}
	return first + fmt.Sprintf(`def ward_loads():
    import os, sys
    f = sys._getframe(1).f_back
    while f is not None and f.f_code.co_filename.rsplit("/", 1)[-1] in ("<frozen runpy>", "runpy.py"):
        f = f.f_back
    with open((os.environ.get("TMPDIR") or "/tmp") + %q, "a") as file:
        file.write("%%s%%s%%d:%%s\n" %% (%q, %q, os.getpid(), %q if f is None else %q))
%s
ward_loads()
del ward_loads
`, "/"+File(l.Word), l.Word, l.head(), main, part, ends) + text[len(first):]
}

// javaScriptLoads decides by node's arguments. A module finds its own path in the stack of an error.
func javaScriptLoads(_, text string, l Loading) string {
	first, ends := "", ""
	if strings.HasPrefix(text, "#!") {
		first, text, _ = strings.Cut(text, "\n")
		first += "\n"
	}
	if s := strings.TrimSpace(text); strings.HasPrefix(s, "'use strict'") || strings.HasPrefix(s, `"use strict"`) {
		first += "'use strict';"
	}
	if l.Ends {
		ends = fmt.Sprintf("if (what === %q) process.exit(0);", main)
	}
	return first + fmt.Sprintf(`((at) => {
	const fs = typeof require === 'function' ? require('fs') : process.getBuiltinModule('fs');
	let own = typeof require === 'function' && require.main === module;
	if (typeof require !== 'function') try {
		own = at.includes('file://' + fs.realpathSync(process.argv[1]) + ':');
	} catch (e) {}
	const what = own ? %[4]q : %[5]q;
	try {
		fs.appendFileSync((process.env.TMPDIR || '/tmp') + '/%[1]s', %[2]q + %[3]q + process.pid + ':' + what + '\n');
	} catch (e) {}
	%[6]s
})(new Error().stack.split('\n')[1]);`, File(l.Word), l.Word, l.head(), main, part, ends) + text
}

// shellLoads decides by the name that the shell was started with, if that file has this text: a test
// of the same name may source the script.
func shellLoads(name, text string, l Loading) string {
	first, ends := "", ""
	if strings.HasPrefix(text, "#!") {
		first, text, _ = strings.Cut(text, "\n")
		first += "\n"
	}
	if l.Ends {
		ends = "; exit 0"
	}
	says := func(what string) string {
		return fmt.Sprintf(`printf '%%s%%s%%s:%s\n' %s %s "$$" 2>/dev/null >>"${TMPDIR:-/tmp}/%s" || :`, what, l.Word, l.head(), File(l.Word))
	}
	return first + fmt.Sprintf("case \"$0\" in %s | */%[1]s) if grep -q %[2]s \"$0\"; then %[3]s%[4]s; else %[5]s; fi ;; *) %[5]s ;; esac\n",
		shellword.Quote(name), File(l.Word), says(main), ends, says(part)) + text
}

// cLoads reports as main begins, and from a file without a main before that.
func cLoads(_, text string, l Loading) string {
	tells := fmt.Sprintf(cTells, File(l.Word)) + fmt.Sprintf(`int ward_getpid(void) __asm__("getpid");
static void ward_loads(const char *what)
{
	char said[256];
	ward_snprintf(said, sizeof said, "%%s%%s%%d:%%s", %q, %q, ward_getpid(), what);
	ward_tell(said);
}
`, l.Word, l.head())
	n := -1
	takes := cMain.FindStringSubmatch(text)
	if takes != nil {
		n = cTakes(takes[1])
	}
	if n < 0 {
		return text + tells + fmt.Sprintf("__attribute__((constructor(101))) static void ward_loaded(void) { ward_loads(%q); }\n", part)
	}
	does := "return ward_control(" + cArguments[n][1] + ")"
	if l.Ends {
		does = "return 0"
	} else if _, body, _ := strings.Cut(text, takes[0]); !strings.Contains(body, "return") {
		does = "ward_control(" + cArguments[n][1] + "); return 0"
	}
	return cHead + text + tells + fmt.Sprintf("#undef main\nint main(%s) { ward_loads(%q); if (0) ward_control(%s); %s; }\n", cArguments[n][0], main, cArguments[n][1], does)
}
