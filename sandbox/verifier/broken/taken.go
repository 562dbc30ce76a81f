package broken

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"git-ward/internal/pattern"
)

// With Tell, a test checks at its end whether the functions that its text names are those that its
// language and its runner had when its file began: the work can replace a clock, a function that reads
// a file, or one that compares. Python and JavaScript let it replace any of them.

// tellsOnly is in each text with a test that tells.
const tellsOnly = `, "tell")`

// aTaken matches a name in a text.
var aTaken = pattern.New(`[A-Za-z_$][\w$]*`)

// uses lists the names in a text.
func uses(text string) []string {
	words := aTaken.FindAllString(text, -1)
	slices.Sort(words)
	return slices.Compact(words)
}

// Found is something that a test found replaced, or a function of its own that something else ended.
type Found struct {
	Label string
	Ended bool
}

// Replaced reads from an output what tests found, each with the numbers of those tests and, for each
// test, the files whose text has the replacement, "" for an unknown file. A test that ran more than once
// may have found several.
func Replaced(word, output string) map[Found]map[int][]string {
	found := map[Found]map[int][]string{}
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
				found[one] = map[int][]string{}
			}
			found[one][id] = append(found[one][id], file)
		}
	}
	return found
}

// Module precedes the name in the label of a module.
const Module = "the module "

// pythonTaken records, for each name in a file, the functions and classes of that name outside the
// project. The first file of a process records them for all, because a later one runs after the work.
// What the project has replaced before the first file counts as replaced. A function belongs to a file
// only if the file's text makes that very function, because code may claim any file. Anything but a
// plain function or method belongs to none: a class of one file may have a function of another's.
//
// As a test begins, led reports what the kernel started the process with and the work has changed: the
// variables that the file names, the arguments and the directory. replaced also reports builtins whose
// names the module has from something that its text does not bind, and modules of the project where the
// import system finds another module of that name elsewhere, unless that is a copy of the project.
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


def read(name):
    import posix
    file, text = posix.open(name, posix.O_RDONLY), b""
    while True:
        more = posix.read(file, 1 << 20)
        if not more:
            break
        text += more
    posix.close(file)
    return text


def whose(f):
    import types
    if type(f) not in (types.FunctionType, types.MethodType):
        return ""

    def makes(all, code):
        return all == code or any(isinstance(one, type(code)) and makes(one, code) for one in all.co_consts)

    name = file_of(f)
    try:
        return name if makes(compile(read(here + name), code_of(f).co_filename, "exec", 0, True), code_of(f)) else ""
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
    names = set("%[1]s".split())
    late = lambda of, all, f: file_of(f) and (not file_of(of) if isinstance(of, type) else all.get("__spec__"))
    return [(label + name, of, name, None if late(of, all, all[name]) else all[name]) for label, of, all in had for name in names & all.keys() if callable(all[name])]


def led():
    import os, posix, sys
    given, args, all = getattr(sys, "orig_argv", sys.argv), sys.argv[1:], []
    try:
        had = dict(one.partition("=")[::2] for one in os.fsdecode(read("/proc/self/environ")).split("\0"))
        all += ["the variable " + name for name in sorted(set("%[1]s".split())) if had.get(name) != os.environ.get(name)]
        if not os.path.samestat(posix.stat(had.get("PWD", ".")), posix.stat(".")):
            all.append("the working directory")
    except OSError:
        pass
    return all + ([] if given[len(given) - len(args):] == args else ["sys.argv"])


def is_here(name):
    import os
    return (os.path.realpath(os.path.join(here, name)) + "/").startswith(here)


def builtin(table, top=True):
    all, bound, used = table.get_symbols(), set(), set()
    for child in table.get_children():
        more, others = builtin(child, False)
        bound, used = bound | more, used | others
    bound.update(one.get_name() for one in all if (top or one.is_declared_global()) and (one.is_assigned() or one.is_imported()))
    used.update(one.get_name() for one in all if one.is_referenced() and one.is_global())
    return bound, used


def uses():
    import symtable
    try:
        bound, used = builtin(symtable.symtable(read(module["__file__"]), "test", "exec"))
    except Exception:  # a module of no file, or a runtime that takes no bytes
        return set()
    return (used - bound - set(module)) & set("%[1]s".split())


def elsewhere(name, file):
    import importlib.machinery, os
    spec = importlib.machinery.PathFinder.find_spec(name, paths)
    return spec and spec.has_location and not (os.path.isfile(spec.origin) and read(spec.origin) == read(file))


def replaced():
    import builtins, os, sys
    for label, of, name, was in taken:
        if vars(of).get(name) is not was:
            yield label, whose(vars(of).get(name))
    for name in used & vars(builtins).keys() & module.keys():
        if module[name] is not vars(builtins)[name]:
            yield "builtins." + name, whose(module[name])
    for name in set("%[1]s".split()) & sys.modules.keys():
        try:  # the test may have put something in the place of os
            file = getattr(sys.modules[name], "__file__", None)
            shadows = isinstance(file, str) and is_here(file) and elsewhere(name, os.path.join(here, file))
            at = os.path.realpath(os.path.join(here, file))[len(here):] if shadows else ""
        except Exception:
            continue
        if at:
            yield "%[2]s" + name, at


here = __import__("os").getcwd() + "/"
paths = [one for one in __import__("sys").path if isinstance(one, str) and not is_here(one)]
taken, used = take(), uses()
`

// pythonTakes stands before a file's tests. In a file that tells, it records the functions.
func pythonTakes(was, text string) string {
	if !strings.Contains(text, tellsOnly) {
		return "replaced = led = list\n"
	}
	return fmt.Sprintf(pythonTaken, strings.Join(uses(was), " "), Module)
}

var (
	javaScriptModule = pattern.New(`(?m)^[ \t]*(?:import|export)\b`)
	javaScriptHead   = pattern.New(`^(?:#![^\n]*\n)?(?:\s|//[^\n]*\n|/\*(?s:.*?)\*/)*(?:['"]use strict['"];?[ \t]*)?`)
	javaScriptGiven  = pattern.New(`\b(?:require\(|from\s*|import\s*)['"]((?:node:)?[a-z_/]+)['"]`)
)

// Unseen stands for a function where the runtime does not say what defined it.
const Unseen = "what the project replaced before its first line is not seen"

// javaScriptLooks makes a function that finds which of some functions, or of all, have been replaced,
// and which file of the project has each in its text: "" for none, or where that is unknown. late: it is
// unknown whether the runtime or a library made the function. It is made before a file's first line, in
// a realm of its own with all that it calls, so that the work cannot replace anything that it calls.
const javaScriptLooks = `((key, here, { openSync, readSync, closeSync }, { Session }, { TextDecoder }) => {
	const call = Reflect.apply, own = Object.getOwnPropertyDescriptor, text = Function.prototype.toString;
	const { connect, post, disconnect } = Session.prototype, { decode } = TextDecoder.prototype;
	const read = (name) => {
		const file = openSync(name, 'r'), part = new Uint8Array(1 << 16), decoder = new TextDecoder();
		let all = '';
		for (let n; (n = readSync(file, part, 0, part.length, null)) > 0;) all += call(decode, decoder, [part.subarray(0, n), { stream: true }]);
		closeSync(file);
		return all;
	};
	const held = (all, name) => {
		for (let i = 0; i < all.length; i++) if (all[i].name === name) return all[i].value;
	};
	return (taken, every) => {
		const seen = [], scripts = {};
		for (let i = 0; i < taken.length; i++) {
			const one = taken[i], has = own(one[1], one[2]), f = has && has.value;
			if (every || f !== one[3]) seen.push({ i, f, label: one[0], file: '', late: true });
		}
		if (seen.length > 0) try {
			const session = new Session();
			let contextId;
			session.emit = (method, m) => { // which nobody can replace on this object
				if (method === 'Debugger.scriptParsed') scripts[m.params.scriptId] = m.params.hasSourceURL ? '' : m.params.url.replace(/^file:\/\//, '');
				if (method === 'Runtime.executionContextCreated' && m.params.context.name === key) contextId = m.params.context.id;
			};
			call(connect, session, []);
			call(post, session, ['Debugger.enable']);
			call(post, session, ['Runtime.enable']);
			globalThis[key] = seen;
			const found = (one) => (e, of) => {
				if (e || !of) return;
				const all = of.internalProperties || [], bound = held(all, '[[TargetFunction]]');
				if (bound) return call(post, session, ['Runtime.getProperties', { objectId: bound.objectId, ownProperties: true }, found(one)]);
				const at = (held(all, '[[FunctionLocation]]') || {}).value, name = at && scripts[at.scriptId] || '';
				one.late = !!held(all, '[[Handler]]') || !!at && !name.startsWith('node:') && !name.includes('/node_modules/');
				if (!at || !name.startsWith(here)) return;
				try {
					const begins = read(name).split('\n').slice(at.lineNumber).join('\n').indexOf(call(text, one.f, []));
					if (begins >= 0 && begins <= at.columnNumber) one.file = name.slice(here.length);
				} catch (e) {} // no file has it
			};
			seen.forEach((one, i) => call(post, session, ['Runtime.evaluate', { contextId, expression: 'globalThis["' + key + '"][' + i + '].f' }, (e, r) => {
				if (r && r.result.objectId) call(post, session, ['Runtime.getProperties', { objectId: r.result.objectId, ownProperties: true }, found(one)]);
			}]));
			call(disconnect, session, []);
		} catch (e) {} // nobody knows who made them
		delete globalThis[key];
		return seen;
	};
})`

// javaScriptFresh asks a process of its own, without the project, which of some functions the runtime
// has: a realm has only those of the language. It is a process because nobody can wait for a thread that
// never begins; a process that does not begin, or ends early, gives no answer.
const javaScriptFresh = `.filter((label) => { try { return (0, eval)('typeof ' + label) === 'function'; } catch (e) {} })`

// javaScriptTakes does what pythonTakes does, for globals and for what a file requires from its runtime.
// What a module imports, and what a runner loads first, runs before it: a function of the language, or
// of such a library, that the project has replaced by then counts as replaced. led does what it does in
// Python, but it compares the variables with those at the file's first line, because a runner may set some
// before. In an ES module it compares with those that the kernel gave, because the imports run first.
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
	const all = globalThis[key] = globalThis[key] || Object.assign([], { seen: new Set() });
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
	if (!all.look) try {
		all.look = (taken) => taken.filter(([, of, name, was]) => (own(of, name) || {}).value !== was).map(([label]) => ({ label, file: '' }));
		all.unseen = true;
		const late = %[3]t || typeof require !== 'function' || Object.keys(require.cache).some(before);
		all.unseen = late;
		const vm = wardGet('vm'), key = 'ward ' + Math.random(), fresh = vm.createContext(Object.create(null), { name: key });
		all.look = vm.runInContext(%[4]q, fresh)(key, process.cwd() + '/', wardGet('fs'), wardGet('inspector'), wardGet('util'));
		const has = (label) => vm.runInContext('try { typeof ' + label + ' } catch (e) {}', fresh) === 'function';
		if (late) {
			const asked = [['', process, 'getBuiltinModule'], ['', wardGet('child_process'), 'spawnSync']].filter(([, of, name]) => of[name]);
			if (all.look(asked, true).some((one) => one.late)) throw new Error('the project answers');
			const made = all.look(mine, true).filter((one) => one.late).map((one) => mine[one.i]);
			const given = (one) => one[4] || has(one[0]);
			const node = wardNode(made.filter((one) => !given(one)).map(([label]) => label));
			for (const one of made) if (given(one) || node.includes(one[0])) one[3] = undefined;
		}
		all.unseen = false;
	} catch (e) {} // a runtime that has no such thing
	if (all.unseen) mine.push([%[5]q, {}, '', null]);
	const env = all.env = all.env || { ...(typeof process === 'object' && process.env) };
	const led = () => {
		try {
			const lines = (name) => wardGet('fs').readFileSync('/proc/self/' + name, 'utf8').split('\0').slice(0, -1);
			const at = (name) => { const { dev, ino } = wardGet('fs').statSync(name); return dev + ' ' + ino; };
			const given = Object.fromEntries(lines('environ').map((v) => [v.slice(0, v.indexOf('=')), v.slice(v.indexOf('=') + 1)]));
			const had = %[3]t ? given : env, args = process.argv.slice(2);
			return [...uses].filter((name) => had[name] !== process.env[name]).map((name) => 'the variable ' + name)
				.concat(at(given.PWD || '.') === at('.') ? [] : ['the working directory'], String(args.length ? lines('cmdline').slice(-args.length) : []) === String(args) ? [] : ['process.argv']);
		} catch (e) { return []; } // a runtime that has no such thing
	};
	return Object.assign(mine, { look: all.look, led });
}
function wardNode(labels) {
	if (labels.length === 0) return labels;
	const env = { LD_LIBRARY_PATH: process.env.LD_LIBRARY_PATH }; // the executable may need it to begin
	const input = 'process.stdout.write(JSON.stringify(' + JSON.stringify(labels) + %[6]q + '))';
	return JSON.parse(wardGet('child_process').spawnSync(process.execPath, ['-'], { input, env, encoding: 'utf8' }).stdout);
}
function wardGet(name) {
	const get = typeof process === 'object' && process.getBuiltinModule; // no mock of the test's stands there
	return get ? get(name) : require(name);
}
`, strings.Join(given, " "), strings.Join(uses(was), " "), javaScriptModule.MatchString(was), javaScriptLooks, Unseen, javaScriptFresh)
}
