package broken

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"git-ward/internal/pattern"
)

// A test that Tells looks at its end whether the functions that its text has by their names are those
// that its language and its runner had as its file began: the work can put another in the place of a
// clock, of what reads a file or of what compares. In Python and JavaScript all of them can be replaced.

// tellsOnly is in a text of which a test tells.
const tellsOnly = `, "tell")`

// aTaken matches a name in a text.
var aTaken = pattern.New(`[A-Za-z_$][\w$]*`)

// uses are the names that a text has.
func uses(text string) []string {
	words := aTaken.FindAllString(text, -1)
	slices.Sort(words)
	return slices.Compact(words)
}

// Replaced are the functions that tests of an output found replaced, by a word: each with the numbers
// of the tests.
func Replaced(word, output string) map[string][]int {
	found := map[string][]int{}
	for line := range strings.Lines(output) {
		_, rest, _ := strings.Cut(line, word+":replaced:")
		number, label, ok := strings.Cut(strings.TrimRight(rest, "\r\n"), ":")
		if id, err := strconv.Atoi(number); ok && err == nil && !slices.Contains(found[label], id) {
			found[label] = append(found[label], id)
		}
	}
	return found
}

// replaces matches a text that may say that it replaces something by itself.
var replaces = pattern.New(`(?i)mock|fake|stub|spy|patch`)

// Replaces reports whether a test's file may replace something by itself.
func Replaces(text string) bool { return replaces.MatchString(text) }

// pythonTaken has, for each name of a file, what functions and classes outside the project have it.
// The first file of a process takes them for all: a later one comes behind the work.
const pythonTaken = `def take():
    import os, sys
    here = os.getcwd() + os.sep
    had = sys.__dict__.setdefault("ward_taken", [])
    if not had:
        seen = set()
        for m, module in list(sys.modules.items()):
            of = getattr(module, "__dict__", None)
            if not isinstance(of, dict) or m == "__main__" or str(of.get("__file__") or "").startswith(here):
                continue
            had.append((m + ".", module, dict(of)))
            for one in list(of.values()):
                if isinstance(one, type) and one not in seen:
                    seen.add(one)
                    had.append(("%%s.%%s." %% (one.__module__, one.__qualname__), one, dict(vars(one))))
    names = set("%s".split())
    return [(label + name, of, name, all[name]) for label, of, all in had for name in names & all.keys() if callable(all[name])]


taken = take()
`

// pythonTakes is what stands before a file's tests: of one that tells, what was taken.
func pythonTakes(was, text string) string {
	if !strings.Contains(text, tellsOnly) {
		return "taken = []\n"
	}
	return fmt.Sprintf(pythonTaken, strings.Join(uses(was), " "))
}

var (
	javaScriptModule = pattern.New(`(?m)^[ \t]*(?:import|export)\b`)
	javaScriptHead   = pattern.New(`^(?:#![^\n]*\n)?(?:\s|//[^\n]*\n|/\*(?s:.*?)\*/)*(?:['"]use strict['"];?[ \t]*)?`)
	javaScriptGiven  = pattern.New(`\brequire\(['"]((?:node:)?[a-z_/]+)['"]\)`)
)

// javaScriptTakes does the same for what is global, and for what a file requires of its runtime. What
// a module imports comes before its first line.
func javaScriptTakes(was, text string) string {
	if !strings.Contains(text, tellsOnly) || javaScriptModule.MatchString(was) {
		return text + "\nfunction wardTaken() { return []; }\n"
	}
	given := []string{}
	for _, m := range javaScriptGiven.FindAllStringSubmatch(was, -1) {
		given = append(given, m[1])
	}
	head := javaScriptHead.Regexp().FindString(text)
	return head + ";wardTaken(); " + text[len(head):] + fmt.Sprintf(`
function wardTaken() {
	const key = Symbol.for('ward taken'), own = Object.getOwnPropertyDescriptor;
	const all = globalThis[key] = globalThis[key] || Object.assign([], { seen: new Set(), own });
	const take = (label, of, depth) => {
		if (of === null || typeof of !== 'object' && typeof of !== 'function' || all.seen.has(of)) return;
		all.seen.add(of);
		for (const name of Object.getOwnPropertyNames(of)) {
			const has = own(of, name);
			if (!has || !('value' in has) || name === 'constructor') continue;
			if (typeof has.value === 'function') all.push([label + name, of, name, has.value]);
			if (depth > 0) take(label + name + '.', has.value, depth - 1);
		}
	};
	take('', globalThis, 2);
	if (typeof process === 'object') take('process.', process, 0);
	if (typeof require === 'function') for (const name of %[1]q.split(' ')) try {
		if (require('module').isBuiltin(name)) take(name + '.', require(name), 1);
	} catch (e) {} // a runner that has no such thing
	const uses = new Set(%[2]q.split(' '));
	return Object.assign(all.filter((one) => uses.has(one[2])), { own: all.own });
}
`, strings.Join(given, " "), strings.Join(uses(was), " "))
}
