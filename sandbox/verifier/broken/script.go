package broken

import (
	"fmt"
	"strings"

	"git-ward/internal/pattern"
)

// pythonTest is the line of a test, or of a class that may have some.
var pythonTest = pattern.New(`(?m)^([ \t]*)((?:async[ \t]+)?def[ \t]+(test\w*)[ \t]*\(|class[ \t]+(\w+)[ \t]*(\([^)\n]*\))?:)`)

// What a test is decorated with to fail at its end, or as it begins, with a word.
const (
	pythonFails  = `@(lambda f: __import__("functools").wraps(f)(lambda *a, **k: (f(*a, **k), 1 / 0)))`
	pythonBegins = `@(lambda f: __import__("functools").wraps(f)(lambda *a, **k: {}["%s"]))`
)

func pythonAtEnd(text string) string { return pythonDecorated(text, pythonFails) }

func pythonBegun(text, word string) string {
	return pythonDecorated(text, fmt.Sprintf(pythonBegins, word))
}

func pythonDecorated(text, decorator string) string {
	changed := pythonTest.ReplaceAllStringFunc(text, func(s string) string {
		if m := pythonTest.FindStringSubmatch(s); m[3] != "" {
			return m[1] + decorator + "\n" + s
		}
		return s
	})
	if changed == text {
		return ""
	}
	return changed
}

// pythonHollow is a module that has whatever name it is asked for, with one thing behind
// all of them: calling it, and asking it for names, gives the same thing again.
func pythonHollow(string) string {
	return `class Hollow:
    def __call__(self, *a, **k):
        return self

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return self


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return Hollow()
`
}

// pythonOnly takes a class with a base for one of unittest's, which pytest takes, too.
func pythonOnly(text string, fail bool) string {
	does := "pass"
	if fail {
		does = "1 / 0"
	}
	var b strings.Builder
	b.WriteString("import unittest\n")
	class, found := "", false
	for _, m := range pythonTest.FindAllStringSubmatch(text, -1) {
		indent, test, name, base := m[1], m[3], m[4], m[5]
		switch {
		case test == "":
			class = fmt.Sprintf("\n\nclass %s:\n", name)
			if strings.Trim(base, "() \t") != "" {
				class = fmt.Sprintf("\n\nclass %s(unittest.TestCase):\n", name)
			}
		case indent == "":
			found = true
			fmt.Fprintf(&b, "\n\ndef %s():\n    %s\n", test, does)
		default:
			found = true
			fmt.Fprintf(&b, "%s    def %s(self):\n        %s\n", class, test, does)
			class = ""
		}
	}
	if !found {
		return ""
	}
	if strings.Contains(text, "unittest.main(") {
		b.WriteString("\n\nif __name__ == \"__main__\":\n    unittest.main()\n")
	}
	return b.String()
}

// javaScriptTest is where a test is declared with a name, by whatever its runner calls it.
var javaScriptTest = pattern.New("(?m)(^|[^.\\w$])((?:test|it)(?:\\.\\w+)*)[ \t]*\\([ \t\n]*(\"[^\"\n]*\"|'[^'\n]*'|`[^`$]*`)")

// javaScriptFails hands each function that a test is declared with on as one that fails at
// its end. A function's declaration may stand behind its use.
const javaScriptFails = `
function wardControl(declare) {
	return (...given) => declare(...given.map((f) => typeof f !== 'function' ? f : async (...had) => { await f(...had); throw new Error('a control'); }));
}
`

func javaScriptAtEnd(text string) string {
	changed := javaScriptTest.ReplaceAllStringFunc(text, func(s string) string {
		m := javaScriptTest.FindStringSubmatch(s)
		return m[1] + "wardControl(" + m[2] + ")" + s[len(m[1])+len(m[2]):]
	})
	if changed == text {
		return ""
	}
	return changed + javaScriptFails
}

// javaScriptPackage takes a package into a file: what it gives has no path of its own.
var javaScriptPackage = pattern.New(`(?m)^(?:import\s[^;'"]*\sfrom\s*|(?:const|let|var)\s[^;'"=]*=\s*require\()['"][\w@][^'"\n]*['"]\)?[^\n]*$`)

// javaScriptOnly keeps what is taken of packages, the runner's among them.
func javaScriptOnly(text string, fail bool) string {
	tests := javaScriptTest.FindAllStringSubmatch(text, -1)
	if len(tests) == 0 {
		return ""
	}
	does := "{ if (had[0] && typeof had[0].end === 'function') had[0].end(); }" // tape waits for it
	if fail {
		does = "{ throw new Error('a control'); }"
	}
	var b strings.Builder
	for _, taken := range javaScriptPackage.FindAllString(text, -1) {
		b.WriteString(taken + "\n")
	}
	for _, m := range tests {
		declare, _, _ := strings.Cut(m[2], ".")
		fmt.Fprintf(&b, "%s(%s, (...had) => %s);\n", declare, m[3], does)
	}
	return b.String()
}

// rustTest is a test's attribute and its function, to the brace that opens it.
var rustTest = pattern.New(`(?m)^[ \t]*#\[(?:\w+::)*test(?:\([^)\n]*\))?\][^{};]*\bfn\s+\w+\s*\([^)]*\)[^{};]*\{`)

// rustFails is dropped last, and not where the process ends.
const rustFails = ` struct Control; impl Drop for Control { fn drop(&mut self) { panic!("a control") } } let _control = Control;`

func rustAtEnd(text string) string {
	changed := rustTest.ReplaceAllStringFunc(text, func(s string) string { return s + rustFails })
	if changed == text {
		return ""
	}
	return changed
}
