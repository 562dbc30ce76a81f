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
// of the tests, and of each the files whose text has what is in its place, "" for none that is known.
// A test that ran more than once may have found several.
func Replaced(word, output string) map[string]map[int][]string {
	found := map[string]map[int][]string{}
	for line := range strings.Lines(output) {
		for _, kind := range []string{isReplaced, isEnded} {
			_, rest, _ := strings.Cut(line, word+":"+kind+":")
			number, rest, ok := strings.Cut(strings.TrimRight(rest, "\r\n"), ":")
			id, err := strconv.Atoi(number)
			if !ok || err != nil {
				continue
			}
			label, file, _ := strings.Cut(rest, "\t")
			one := Found{label, kind == isEnded}
			if found[one] == nil {
				found[one] = map[int]string{}
			}
			found[one][id] = file
		}
		label, file, _ := strings.Cut(rest, "\t")
		if found[label] == nil {
			found[label] = map[int][]string{}
		}
		found[label][id] = append(found[label][id], file)
	}
	return found
}

// pythonTaken has, for each name of a file, what functions and classes outside the project have it.
// The first file of a process takes them for all: a later one comes behind the work. What the project
// has put there before the first one counts as replaced. A function's file counts if its text makes
// that very function: code may say that it is of any file. What is no plain function or method counts as
// of none: a class of one file may have a function of another's.
const pythonTaken = `def code_of(f):
    import functools, types
    if type(f) is functools.partial:
        f = f.func
    if isinstance(f, type):
        of = (one.__func__ if type(one) in (staticmethod, classmethod) else one for one in vars(f).values())
        f = next((one for one in of if type(one) is types.FunctionType), None)
    elif type(f) not in (types.FunctionType, types.MethodType):
        f = vars(type(f)).get("__call__")
    return f.__code__ if type(f) in (types.FunctionType, types.MethodType) else None


def file_of(f):
    import os
    code = code_of(f)
    path = os.path.normpath(os.path.join(here, code.co_filename)) if code else ""
    return path[len(here):] if path.startswith(here) else ""


def whose(f):
    import posix, types
    if type(f) not in (types.FunctionType, types.MethodType):
        return ""

    def makes(all, code):
        return all == code or any(isinstance(one, type(code)) and makes(one, code) for one in all.co_consts)

    name, text = file_of(f), b""
    try:
        file = posix.open(here + name, posix.O_RDONLY)
        while True:
            more = posix.read(file, 1 << 20)
            if not more:
                break
            text += more
        posix.close(file)
        return name if makes(compile(text, code_of(f).co_filename, "exec", 0, True), code_of(f)) else ""
    except Exception:
        return ""


def take():
    import sys
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
    late = lambda of, all, f: file_of(f) and (not file_of(of) if isinstance(of, type) else all.get("__spec__"))
    return [(label + name, of, name, None if late(of, all, all[name]) else all[name]) for label, of, all in had for name in names & all.keys() if callable(all[name])]


here = __import__("os").getcwd() + "/"
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
	javaScriptGiven  = pattern.New(`\b(?:require\(|from\s*|import\s*)['"]((?:node:)?[a-z_/]+)['"]`)
)

// javaScriptWhose says of functions which file of the project's has each in its text, where it has it:
// "" for what is in none, or not seen. late: nothing of the runtime's or of a library's made it.
const javaScriptWhose = `
function wardGet(name) {
	return typeof require === 'function' ? require(name) : process.getBuiltinModule(name);
}
function wardWhose(all) {
	const whose = all.map(() => ({ file: '', late: false })), scripts = {}, contexts = [], key = 'ward whose';
	try {
		const fs = wardGet('fs'), here = process.cwd() + '/', text = Function.prototype.toString;
		const session = new (wardGet('inspector').Session)();
		session.connect();
		session.on('Debugger.scriptParsed', (m) => { scripts[m.params.scriptId] = m.params.url.replace(/^file:\/\//, ''); });
		session.on('Runtime.executionContextCreated', (m) => contexts.push(m.params.context.id));
		session.post('Debugger.enable');
		session.post('Runtime.enable');
		globalThis[key] = all;
		const found = (i) => (e, of) => {
			const at = of && (of.internalProperties || []).find((p) => p.name === '[[FunctionLocation]]');
			if (!at) return;
			const { scriptId, lineNumber, columnNumber } = at.value.value, name = scripts[scriptId] || '';
			whose[i].late = !name.startsWith('node:') && !name.includes('/node_modules/');
			if (!name.startsWith(here)) return;
			const begins = fs.readFileSync(name, 'utf8').split('\n').slice(lineNumber).join('\n').indexOf(text.call(all[i]));
			if (begins >= 0 && begins <= columnNumber) whose[i].file = name.slice(here.length);
		};
		for (const contextId of contexts) for (const i in all) session.post('Runtime.evaluate', { contextId, expression: '(globalThis["' + key + '"] || [])[' + i + ']' }, (e, r) => {
			if (r && r.result.objectId) session.post('Runtime.getProperties', { objectId: r.result.objectId, ownProperties: true }, found(i));
		});
		session.disconnect();
	} catch (e) {} // a runtime that has no such thing
	delete globalThis[key];
	return whose;
}
`

// javaScriptTakes does the same for what is global, and for what a file requires of its runtime. What
// a module imports, and what a runner loads first, comes before: what the project has by then put in the
// place of a language's function, or of such a library's, counts as replaced.
func javaScriptTakes(was, text string) string {
	if !strings.Contains(text, tellsOnly) {
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
	const take = (label, of, depth, given) => {
		if (of === null || typeof of !== 'object' && typeof of !== 'function' || all.seen.has(of)) return;
		all.seen.add(of);
		for (const name of Object.getOwnPropertyNames(of)) {
			const has = own(of, name);
			if (!has || !('value' in has) || name === 'constructor') continue;
			if (typeof has.value === 'function') all.push([label + name, of, name, has.value, given]);
			if (depth > 0) take(label + name + '.', has.value, depth - 1, given);
		}
	};
	take('', globalThis, 2, false);
	if (typeof process === 'object') take('process.', process, 0, true);
	for (const name of %[1]q.split(' ')) try {
		if (wardGet('module').isBuiltin(name)) take(name + '.', wardGet(name), 1, true);
	} catch (e) {} // a runner that has no such thing
	const uses = new Set(%[2]q.split(' '));
	const mine = all.filter((one) => uses.has(one[2]));
	const before = (name) => name !== __filename && name.startsWith(process.cwd() + '/') && !name.includes('/node_modules/');
	if (!all.first) try {
		all.first = true;
		if (%[3]t || typeof require !== 'function' || Object.keys(require.cache).some(before)) {
			const fresh = wardGet('vm').createContext(), has = (label) => wardGet('vm').runInContext('try { typeof ' + label + ' } catch (e) {}', fresh) === 'function';
			wardWhose(mine.map((one) => one[3])).forEach(({ late }, i) => {
				if (late && (mine[i][4] || has(mine[i][0]))) mine[i][3] = undefined;
			});
		}
	} catch (e) {} // a runtime that has no such thing
	return Object.assign(mine, { own: all.own });
}
`+javaScriptWhose, strings.Join(given, " "), strings.Join(uses(was), " "), javaScriptModule.MatchString(was))
}
