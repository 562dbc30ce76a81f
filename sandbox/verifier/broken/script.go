package broken

import (
	"fmt"
	"strconv"
	"strings"

	"git-ward/internal/pattern"
)

// pythonTest is the line of a test, or of a class that may have some.
var pythonTest = pattern.New(`(?m)^([ \t]*)((?:async[ \t]+)?def[ \t]+(test\w*)[ \t]*\(|class[ \t]+(\w+)[ \t]*(\([^)\n]*\))?:)`)

// pythonWard makes what a test is decorated with to say what it came to and fail, or to do
// nothing. A test that waits is one still. What is skipped is no failure: pytest's own ways
// of it are no Exception.
const pythonWard = `def ward(word, id, runs):
    import functools, inspect, unittest

    def said(what):
        return AssertionError("%s:%d:%s" % (word, id, what))

    def around(f):
        @functools.wraps(f)
        def test(*a, **k):
            if runs:
                try:
                    f(*a, **k)
                except unittest.SkipTest:
                    raise
                except Exception as e:
                    raise said("fail") from e
                raise said("end")

        @functools.wraps(f)
        async def waits(*a, **k):
            if runs:
                try:
                    await f(*a, **k)
                except unittest.SkipTest:
                    raise
                except Exception as e:
                    raise said("fail") from e
                raise said("end")

        return waits if inspect.iscoroutinefunction(f) else test

    return around
`

// pythonTests are decorated by one call of one name, which is all that Python had before 3.9.
func pythonTests(text string) (tests []test) {
	for _, m := range pythonTest.Regexp().FindAllStringSubmatchIndex(text, -1) {
		if m[6] < 0 {
			continue // a class
		}
		at, indent := m[0], text[m[2]:m[3]]
		tests = append(tests, test{text[m[6]:m[7]], at, pythonEnd(text, at, len(indent)), func(how How, m mark) []edit {
			runs := map[bool]string{true: "True", false: "False"}[how == End]
			decorator := fmt.Sprintf("@eval('exec(code) or ward(word, id, runs)', dict(word=%q, id=%d, runs=%s, code=%s))\n", m.word, m.id, runs, strconv.QuoteToASCII(pythonWard))
			return []edit{{at, at, indent + decorator}}
		}})
	}
	return tests
}

// pythonEnd is where a function ends that begins somewhere with so much before it.
func pythonEnd(text string, from, indent int) int {
	at := from
	for line := range strings.Lines(text[from:]) {
		words := strings.TrimSpace(line)
		if at > from && words != "" && !strings.HasPrefix(words, ")") && len(line)-len(strings.TrimLeft(line, " \t")) <= indent {
			return at
		}
		at += len(line)
	}
	return len(text)
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
func pythonOnly(text string, c Change) string {
	var b strings.Builder
	b.WriteString("import unittest\n")
	class := ""
	var found []test
	for _, m := range pythonTest.FindAllStringSubmatch(text, -1) {
		indent, name, of, base := m[1], m[3], m[4], m[5]
		if name == "" {
			class = fmt.Sprintf("\n\nclass %s:\n", of)
			if strings.Trim(base, "() \t") != "" {
				class = fmt.Sprintf("\n\nclass %s(unittest.TestCase):\n", of)
			}
			continue
		}
		found = append(found, test{name: unlike(found, name)})
		does := "pass"
		if id, how := c.Of(found[len(found)-1].name); how == End {
			does = fmt.Sprintf("raise AssertionError(%q %q)", c.Word, mark{c.Word, id}.tail(fails))
		}
		if indent == "" {
			fmt.Fprintf(&b, "\n\ndef %s():\n    %s\n", name, does)
			continue
		}
		fmt.Fprintf(&b, "%s    def %s(self):\n        %s\n", class, name, does)
		class = ""
	}
	if found == nil {
		return ""
	}
	if strings.Contains(text, "unittest.main(") {
		b.WriteString("\n\nif __name__ == \"__main__\":\n    unittest.main()\n")
	}
	return b.String()
}

// javaScriptTest is where a test is declared with a name, by whatever its runner calls it.
var javaScriptTest = pattern.New("(?m)(^|[^.\\w$])((?:test|it)(?:\\.\\w+)*)[ \t]*\\([ \t\n]*(\"[^\"\n]*\"|'[^'\n]*'|`[^`$]*`)")

// javaScriptTests are handed on by another function than the one that declares them.
func javaScriptTests(text string) (tests []test) {
	all := javaScriptTest.Regexp().FindAllStringSubmatchIndex(text, -1)
	for i, m := range all {
		to := len(text)
		if i+1 < len(all) {
			to = all[i+1][0]
		}
		from, end := m[4], m[5]
		tests = append(tests, test{text[m[6]+1 : m[7]-1], from, to, func(how How, m mark) []edit {
			return []edit{{from, end, fmt.Sprintf("wardControl(%s, %d, %v)", text[from:end], m.id, how == End)}}
		}})
	}
	return tests
}

// javaScriptWard has each function that a test is declared with say what it came to and fail
// at its end, or do nothing. It takes as much as the function does: runners count, and hand a
// test that does so what it calls when it is done. Where what compares throws nothing, as in
// tape, the test's own object tells of each result. A function's declaration may stand behind
// its use.
const javaScriptWard = `
function wardControl(declare, id, runs) {
	const said = (what) => [%q, id, what].join(':');
	const control = (f) => {
		const test = function (...had) {
			const last = had.length - 1, done = had[last];
			if (typeof done === 'function' && f.length > last) {
				had[last] = Object.assign((e) => done(e || new Error(said('end'))), done);
				return runs ? f.apply(this, had) : done();
			}
			return runs ? wait.call(this, had) : undefined;
		};
		const wait = async function (had) {
			let what = 'end';
			if (had[0] && typeof had[0].on === 'function') had[0].on('result', (r) => { if (r && r.ok === false) what = 'fail'; });
			try {
				await f.apply(this, had);
			} catch (e) {
				if (e instanceof Error && !/pending/i.test(e.constructor.name)) console.error(said('fail')); // else it is skipped
				throw e;
			}
			throw new Error(said(what));
		};
		return Object.defineProperty(test, 'length', { value: f.length });
	};
	return (...given) => declare(...given.map((f) => typeof f === 'function' ? control(f) : f));
}
`

func javaScriptWith(_, text, word string) string { return text + fmt.Sprintf(javaScriptWard, word) }

// typeScriptHead is what must stay before all else in a file: a comment in which runners read
// what they are told.
var typeScriptHead = pattern.New(`^(?:#![^\n]*\n)?(?:\s*/\*(?s:.*?)\*/[ \t]*\n?)?`)

// typeScriptWith has nobody check the types of what is added, which has none.
func typeScriptWith(was, text, word string) string {
	head := typeScriptHead.FindStringSubmatch(text)[0]
	return head + "// @ts-nocheck\n" + javaScriptWith(was, text[len(head):], word)
}

// javaScriptPackage takes a package into a file: what it gives has no path of its own.
var javaScriptPackage = pattern.New(`(?m)^(?:import\s[^;'"]*\sfrom\s*|(?:const|let|var)\s[^;'"=]*=\s*require\()['"][\w@][^'"\n]*['"]\)?[^\n]*$`)

// javaScriptOnly keeps what is taken of packages, the runner's among them.
func javaScriptOnly(text string, c Change) string {
	tests := javaScriptTest.FindAllStringSubmatch(text, -1)
	if len(tests) == 0 {
		return ""
	}
	var b strings.Builder
	for _, taken := range javaScriptPackage.FindAllString(text, -1) {
		b.WriteString(taken + "\n")
	}
	var found []test
	for _, m := range tests {
		found = append(found, test{name: unlike(found, m[3][1:len(m[3])-1])})
		does := "{ if (had[0] && typeof had[0].end === 'function') had[0].end(); }" // tape waits for it
		if id, how := c.Of(found[len(found)-1].name); how == End {
			does = fmt.Sprintf("{ throw new Error(%q + %q); }", c.Word, mark{c.Word, id}.tail(fails))
		}
		declare, _, _ := strings.Cut(m[2], ".")
		fmt.Fprintf(&b, "%s(%s, (...had) => %s);\n", declare, m[3], does)
	}
	return b.String()
}

// MaySkip reports whether a file of JavaScript leaves tests out, which Only cannot tell.
func MaySkip(text string) bool { return javaScriptSkips.MatchString(text) }

var javaScriptSkips = pattern.New(`\b(?:skip\w*|todo|only|runIf|x(?:it|test|describe))\b`)

// rustTest is a test's attribute and its function, to the brace that opens it.
var rustTest = pattern.New(`(?m)^[ \t]*#\[(?:\w+::)*test(?:\([^)\n]*\))?\][^{};]*\bfn\s+(\w+)\s*\([^)]*\)([^{};]*)\{`)

// rustEnd is dropped last, and not where the process ends.
const rustEnd = ` struct Control; impl Drop for Control { fn drop(&mut self) { if std::thread::panicking() { eprintln!("{}{}", %[1]q, %[3]q) } else { panic!("{}{}", %[1]q, %[2]q) } } } let _control = Control;`

func rustTests(text string) (tests []test) {
	all := rustTest.Regexp().FindAllStringSubmatchIndex(text, -1)
	for i, m := range all {
		at, to, gives := m[1], len(text), strings.Contains(text[m[4]:m[5]], "->")
		if i+1 < len(all) {
			to = all[i+1][0]
		}
		tests = append(tests, test{text[m[2]:m[3]], m[0], to, func(how How, m mark) []edit {
			switch {
			case how == End:
				return []edit{{at, at, fmt.Sprintf(rustEnd, m.word, m.tail(ended), m.tail(fails))}}
			case gives: // what it would give nobody here knows
				return nil
			}
			return []edit{{at, at, " if true { return; }"}}
		}})
	}
	return tests
}
