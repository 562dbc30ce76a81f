package broken

import (
	"fmt"
	"strconv"
	"strings"

	"git-ward/internal/pattern"
)

// pythonTest matches the line of a test, or of a class that may have tests.
var pythonTest = pattern.New(`(?m)^([ \t]*)((?:async[ \t]+)?def[ \t]+(test\w*)[ \t]*\(|class[ \t]+(\w+)[ \t]*(\([^)\n]*\))?:)`)

// pythonTells writes a report to the file. It does not use os, which a test may replace.
const pythonTells = `import posix
try:
    ward = posix.open(posix.environ.get(b"TMPDIR", b"/tmp") + b"/." + word.encode(), posix.O_APPEND | posix.O_CREAT | posix.O_WRONLY, 0o666)
    posix.write(ward, said.encode() + b"\n")
    posix.close(ward)
except OSError:
    pass
`

// pythonWard makes the decorator of a test. By how, the test prints its report and fails, or writes the
// report to the file alone, or does nothing. A coroutine stays one. A skip is not a failure: pytest's
// exceptions for it do not derive from Exception. A runner needs long to show a failure, so that of a
// test with many rows the first ones fail and then fewer and fewer; all write their reports.
const pythonWard = `def ward(id, how):
    import functools, inspect, unittest

    def says(what):
        if how == "tell":
            for label, file in replaced():
                exec(tells, dict(word=word, said="%s:replaced:%d:%s\t%s" % (word, id, label, file)))
        said = "%s:%d:%s" % (word, id, what)
        exec(tells, dict(word=word, said=said))
        return AssertionError(said)

    def tells_led():
        for label in led() if how == "tell" else []:
            exec(tells, dict(word=word, said="%s:replaced:%d:%s\t" % (word, id, label)))

    failed = []

    def few():
        failed.append(1)
        n = len(failed)
        return n <= 8 or n & (n - 1) == 0

    def tells_row(what):
        import os
        row = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" (")[0]
        if row.endswith("]"):
            exec(tells, dict(word=word, said="%s:row:%d:%s" % (word, id, row + what)))

    def fails(e):
        __tracebackhide__ = True
        said = says("fail")
        if how == "tell":
            tells_row(started)
            raise e
        if few():
            raise said from e

    def ends(gives):
        __tracebackhide__ = True
        said = says("end")
        if how == "tell":
            tells_row(started)
            tells_row("")
            return gives
        if few():
            raise said
        return gives

    def failed_within(a):
        return not getattr(getattr(a[0] if a else None, "_outcome", None), "success", True)

    def around(f):
        @functools.wraps(f)
        def test(*a, **k):
            __tracebackhide__ = True
            if how:
                tells_led()
                try:
                    gives = f(*a, **k)
                except unittest.SkipTest:
                    raise
                except Exception as e:
                    return fails(e)
                return fails(AssertionError("a subtest failed")) if failed_within(a) else ends(gives)

        @functools.wraps(f)
        async def waits(*a, **k):
            __tracebackhide__ = True
            if how:
                tells_led()
                try:
                    gives = await f(*a, **k)
                except unittest.SkipTest:
                    raise
                except Exception as e:
                    return fails(e)
                return fails(AssertionError("a subtest failed")) if failed_within(a) else ends(gives)

        return waits if inspect.iscoroutinefunction(f) else test

    return around


def rounds(said):
    def tell(n, what):
        if n == 0:
            exec(tells, dict(word=word, said=said + what))

    def loop(of):
        for n, one in enumerate(of):
            tell(n, begins)
            yield one
            tell(n, "")

    return loop
`

// pythonWith puts what the tests call at the module's top, once: pytest shows the text of a test for
// each failure.
func pythonWith(was, text, word string) string {
	first := pythonFirst.Regexp().FindString(text)
	return first + fmt.Sprintf("wardControl = dict(word=%q, begins=%q, started=%q, tells=%s, module=globals()); exec(%s, wardControl); wardRounds = wardControl['rounds']; wardControl = wardControl['ward']\n",
		word, Begins, Started, strconv.QuoteToASCII(pythonTells), strconv.QuoteToASCII(pythonTakes(was, text)+pythonWard)) + text[len(first):]
}

// pythonTests decorates each test by one call of one name. Before 3.9, Python allowed no more general
// expression as a decorator.
func pythonTests(text string) (tests []test) {
	for _, m := range pythonTest.Regexp().FindAllStringSubmatchIndex(text, -1) {
		if m[6] < 0 {
			continue // a class
		}
		at, indent, name := m[0], text[m[2]:m[3]], text[m[6]:m[7]]
		to := pythonEnd(text, at, len(indent))
		tests = append(tests, test{name, at, to, func(how How, m mark) (edits []edit) {
			does := map[How]string{End: "end", Tell: "tell"}[how]
			decorator := fmt.Sprintf("@wardControl(%d, %q)\n", m.id, does)
			if how == Tell {
				edits = pythonRounds(name, text, at, to, m)
			}
			return append(edits, edit{at, at, indent + decorator})
		}})
	}
	return tests
}

// pythonEnd returns where a function ends that begins at a place with an indent.
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

// pythonHollow makes a module with every name. All names have one value, whose calls and attributes are
// that value again.
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

// pythonOnly treats a class with a base as one of unittest's, which pytest runs, too.
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
			says := fmt.Sprintf("%q %q", c.Word, mark{word: c.Word, id: id}.tail(fails))
			does = fmt.Sprintf("raise AssertionError(%s, %s)", says, pythonTell(c.Word, says))
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

// pythonTell makes an expression that writes another one's value to the file.
func pythonTell(word, says string) string {
	return fmt.Sprintf("exec(%s, dict(word=%q, said=%s))", strconv.QuoteToASCII(pythonTells), word, says)
}

// javaScriptTest matches the declaration of a test with a name.
var javaScriptTest = pattern.New("(?m)(^|[^.\\w$])((?:test|it)(?:\\.\\w+)*)[ \t]*\\([ \t\n]*(\"[^\"\n]*\"|'[^'\n]*'|`[^`$]*`)")

// javaScriptTells is a function that writes to the file, if its runner has files.
const javaScriptTells = `((said) => {
	try {
		const fs = typeof require === 'function' ? require('fs') : process.getBuiltinModule('fs');
		fs.appendFileSync((process.env.TMPDIR || '/tmp') + '/.' + %q, said + '\n');
	} catch (e) {} // it is said in the output
})`

// javaScriptWard wraps the function of each test. By how, it reports and fails at its end, or reports
// in the file alone, or does nothing. It has as many parameters as the function, because runners count
// them and pass a callback to a test that takes one. Where assertions do not throw, as in tape, the
// test's own object gives each result. It is a function declaration, which may stand after its use.
const javaScriptWard = `
function wardControl(declare, id, how, rows) {
	const tells = %[2]s;
	const taken = how === 'tell' ? wardTaken() : [];
	const says = (what) => {
		(taken.look ? taken.look(taken) : []).forEach(({ label, file }) => tells(%[1]q + ':replaced:' + id + ':' + label + '\t' + file));
		const said = [%[1]q, id, what].join(':');
		tells(said);
		return said;
	};
	const fails = (e) => {
		if (e instanceof Error && !/pending/i.test(e.constructor.name)) { // else it is skipped
			const said = says('fail');
			if (how === 'end') console.error(said);
		}
		throw e;
	};
	const control = (f) => {
		const test = function (...had) {
			const last = had.length - 1, done = had[last];
			(taken.led ? taken.led() : []).forEach((label) => tells(%[1]q + ':replaced:' + id + ':' + label + '\t'));
			if (!rows && typeof done === 'function' && f.length > last) {
				had[last] = Object.assign((e) => {
					const said = says(e ? 'fail' : 'end');
					return done(e || (how === 'end' ? new Error(said) : e));
				}, done);
				return how ? f.apply(this, had) : done();
			}
			return how === 'end' ? wait.call(this, had) : how ? tell.call(this, had) : undefined;
		};
		const result = (had) => {
			const what = { came: 'end' };
			if (had[0] && typeof had[0].on === 'function') had[0].on('result', (r) => { if (r && r.ok === false) what.came = 'fail'; });
			return what;
		};
		const wait = async function (had) {
			const what = result(had);
			try {
				await f.apply(this, had);
			} catch (e) {
				fails(e);
			}
			throw new Error(says(what.came));
		};
		const tell = function (had) { // which waits for nothing that the test does not wait for
			const what = result(had), ends = (gives) => (says(what.came), gives);
			let gives;
			try {
				gives = f.apply(this, had);
			} catch (e) {
				fails(e);
			}
			return gives && typeof gives.then === 'function' ? gives.then(ends, fails) : ends(gives);
		};
		return Object.defineProperty(test, 'length', { value: f.length });
	};
	return (...given) => declare(...given.map((f) => typeof f === 'function' ? control(f) : f));
}
`

func javaScriptWith(was, text, word string) string {
	tells := fmt.Sprintf(javaScriptTells, word)
	return javaScriptTakes(was, text) + fmt.Sprintf(javaScriptWard, word, tells) + fmt.Sprintf(javaScriptRounds, tells, Begins)
}

// typeScriptHead matches what must stay at a file's top: a comment with settings for the runner.
var typeScriptHead = pattern.New(`^(?:#![^\n]*\n)?(?:\s*/\*(?s:.*?)\*/[ \t]*\n?)?`)

// typeScriptWith turns type checks off for what is added, which has no types.
func typeScriptWith(was, text, word string) string {
	head := typeScriptHead.FindStringSubmatch(text)[0]
	return head + "// @ts-nocheck\n" + javaScriptWith(was, text[len(head):], word)
}

// javaScriptPackage matches the import of a package, which no relative path names.
var javaScriptPackage = pattern.New(`(?m)^(?:import\s[^;'"]*\sfrom\s*|(?:const|let|var)\s[^;'"=]*=\s*require\()['"][\w@][^'"\n]*['"]\)?[^\n]*$`)

// javaScriptOnly keeps the imports of packages, among them the runner's.
func javaScriptOnly(text string, c Change) string {
	tests := javaScriptDeclared(text)
	if len(tests) == 0 {
		return ""
	}
	var b strings.Builder
	for _, taken := range javaScriptPackage.FindAllString(text, -1) {
		b.WriteString(taken + "\n")
	}
	var found []test
	for _, d := range tests {
		found = append(found, test{name: unlike(found, d.name())})
		does := "{ if (had[0] && typeof had[0].end === 'function') had[0].end(); }" // tape waits for it
		if id, how := c.Of(found[len(found)-1].name); how == End {
			says := fmt.Sprintf("%q + %q", c.Word, mark{word: c.Word, id: id}.tail(fails))
			does = fmt.Sprintf("{ %s(%s); throw new Error(%[2]s); }", fmt.Sprintf(javaScriptTells, c.Word), says)
		}
		declare, _, _ := strings.Cut(text[d.from:d.end], ".")
		if d.rows {
			declare += ".each([[0]])"
		}
		fmt.Fprintf(&b, "%s(%s, (...had) => %s);\n", declare, d.quoted, does)
	}
	return b.String()
}

// MaySkip reports whether a JavaScript file leaves tests out, which Only cannot know.
func MaySkip(text string) bool { return javaScriptSkips.MatchString(text) }

var javaScriptSkips = pattern.New(`\b(?:skip\w*|todo|only|runIf|x(?:it|test|describe))\b`)

// rustTest matches a test's attribute and its function, up to the opening brace.
var rustTest = pattern.New(`(?m)^[ \t]*#\[(?:\w+::)*test(?:\([^)\n]*\))?\][^{};]*\bfn\s+(\w+)\s*\([^)]*\)([^{};]*)\{`)

// rustEnd is a value that is dropped last, and never if the process exits.
const (
	rustEnd = ` struct Control; impl Drop for Control { fn drop(&mut self) { let fails = std::thread::panicking(); let said = format!("{}{}", %[1]q, if fails { %[3]q } else { %[2]q }); ` +
		`if let Ok(mut f) = std::fs::OpenOptions::new().append(true).create(true).open(std::env::temp_dir().join(%[4]q)) { let _ = std::io::Write::write_all(&mut f, format!("{}\n", said).as_bytes()); }%[5]s } } let _control = Control;`
	rustBreaks = ` if fails { eprintln!("{}", said) } else { panic!("{}", said) }`
)

func rustTests(text string) (tests []test) {
	all := rustTest.Regexp().FindAllStringSubmatchIndex(text, -1)
	for i, m := range all {
		at, to, gives := m[1], len(text), strings.Contains(text[m[4]:m[5]], "->")
		if i+1 < len(all) {
			to = all[i+1][0]
		}
		tests = append(tests, test{text[m[2]:m[3]], m[0], to, func(how How, m mark) []edit {
			switch {
			case how != Pass:
				breaks := rustBreaks
				if m.tell {
					breaks = ""
				}
				return []edit{{at, at, fmt.Sprintf(rustEnd, m.word, m.tail(ended), m.tail(fails), File(m.word), breaks)}}
			case gives: // what it would give nobody here knows
				return nil
			}
			return []edit{{at, at, " if true { return; }"}}
		}})
	}
	return tests
}
