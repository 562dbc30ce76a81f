package deciding

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Commands by what they make of their arguments.
var (
	pythons = set("python python2 python3 pypy pypy3")
	scripts = set("node nodejs deno bun tsx ts-node ruby perl php lua luajit Rscript julia java tclsh expect awk gawk mawk sed osascript guile")
	makes   = set("make gmake bmake")
	npms    = set("npm npx yarn pnpm pnpx bunx")
	// testers are told by flags what to read beside the tree.
	testers = set(`pytest py.test nosetests nose2 tox nox unittest coverage jest mocha vitest ava tap jasmine karma cypress playwright c8 nyc tsc eslint
		cargo rustc cmake ctest ninja meson bazel scons go gotestsum golangci-lint staticcheck phpunit composer phpstan rspec rake bundle cucumber minitest
		mvn gradle ant sbt lein dotnet mix rebar3 cabal stack dune prove bats shellspec shellcheck ruff mypy black flake8 pylint just task mage busted swift dart flutter`)
	// taking are flags whose next word is a file that is read like the program.
	taking = set("-r --require --import --loader --experimental-loader -f --file --makefile --rcfile --init-file -p --plugin --config --conf --rootdir -I --include --preload")
)

// call reads one simple command, by what each of its words may be.
func (s *shell) call(args [][]string, redirects []*syntax.Redirect, h how) {
	if h.level == 0 {
		s.noteMentioned(args)
	}
	args, piped := s.unwrap(args, h)
	if len(args) == 0 {
		return
	}
	for _, word := range args[0] {
		s.command(word, args[1:], redirects, piped, h)
	}
}

// noteMentioned notes every file that a criterion speaks of.
func (s *shell) noteMentioned(args [][]string) {
	for _, values := range args {
		for _, v := range values {
			for _, dir := range s.dirs {
				if p := path.Join(dir, v); s.r.have[p] != "" {
					s.r.mentioned[p] = true
				}
			}
		}
	}
}

// unwrap leaves out what only runs what follows; piped says that it gives more
// arguments, which no text says.
func (s *shell) unwrap(args [][]string, h how) (rest [][]string, piped bool) {
	for len(args) > 0 {
		name := path.Base(args[0][0])
		if name == "xargs" || name == "parallel" {
			piped = true
		} else if !slices.Contains(wrappers, name) && !s.functions[name] {
			break
		}
		args = args[1:]
		for flag := false; len(args) > 0; args = args[1:] {
			word := args[0][0]
			if key, value, ok := strings.Cut(word, "="); ok && !strings.HasPrefix(word, "-") {
				s.setting(key, value, h)
			}
			if !own(word) && !(flag && !s.runnable(word)) {
				break
			}
			flag = strings.HasPrefix(word, "-")
		}
	}
	return args, piped
}

// runnable reports whether a word is a command that is known, or a file.
func (s *shell) runnable(word string) bool {
	name := path.Base(word)
	return shells[name] || pythons[name] || scripts[name] || makes[name] || npms[name] || testers[name] || slices.Contains(wrappers, name) || s.functions[name] ||
		slices.ContainsFunc(s.dirs, func(dir string) bool { return word != "" && s.r.there(path.Join(dir, word)) })
}

func (s *shell) command(word string, args [][]string, redirects []*syntax.Redirect, piped bool, h how) {
	name := path.Base(word)
	first := func() string {
		if len(args) > 0 {
			return args[0][0]
		}
		return ""
	}
	switch {
	case word == given: // "$@"
		s.runsArguments = true
	case name == "cd" || name == "pushd":
		for _, v := range flat(args) {
			for _, dir := range slices.Clone(s.dirs) {
				if d := path.Join(dir, v); len(s.dirs) < 64 && !strings.ContainsAny(v, unclear) && !path.IsAbs(v) && !slices.Contains(s.dirs, d) {
					s.dirs = append(s.dirs, d)
				}
			}
		}
	case word == "." || word == "source":
		for _, v := range oneOf(args) {
			if found, _ := s.file(v, "shell", h); !found && s.self != "" {
				s.file(path.Join(path.Dir(s.self), v), "shell", h)
			}
		}
	case name == "eval":
		s.line(strings.Join(flat(args), " "), h)
	case name == "trap":
		s.line(first(), h)
	case name == "find":
		s.findCommand(args, h)
	case name == "run-parts":
		for _, v := range flat(args) {
			s.r.programDirs[path.Clean(v)] = true
		}
	case makes[name]:
		s.makeCommand(args, h)
	case npms[name]:
		s.npmScripts(args, h)
	case shells[name] || pythons[name] || scripts[name]:
		s.interpreter(name, args, redirects, piped, h)
	case name == "go":
		s.goCommand(args, h)
	default:
		s.program(word, args, h)
	}
}

// program is a command that is a file, or a tool with files among its flags.
func (s *shell) program(word string, args [][]string, h how) {
	found, runsArgs := false, false
	if strings.Contains(word, "/") || s.r.onBase(path.Join(s.dirs[0], word)) {
		found, runsArgs = s.file(word, "", h)
	}
	for dir := range s.r.pathDirs {
		if p := path.Join(dir, word); s.r.there(p) && s.r.ref(p, h) {
			s.r.follow(p, "", h.level+1, s.dirs)
		}
	}
	if runsArgs {
		s.call(args, nil, h)
	}
	if !found && testers[path.Base(word)] {
		s.flagFiles(args, h)
	}
}

// flagFiles reads the files that a tool's flags name.
func (s *shell) flagFiles(args [][]string, h how) {
	flag := false
	for _, v := range flat(args) {
		_, value, ok := strings.Cut(v, "=")
		switch {
		case strings.HasPrefix(v, "-") && ok:
			s.literalFile(value, h)
		case flag && !strings.HasPrefix(v, "-"):
			s.literalFile(v, h)
		}
		flag = strings.HasPrefix(v, "-")
	}
}

// literalFile is file for a word that may be none.
func (s *shell) literalFile(word string, h how) {
	if !strings.ContainsAny(word, unclear+"*?[") {
		s.file(word, "", h)
	}
}

// interpreter is a program that runs a file which its arguments name, or a line
// among them.
func (s *shell) interpreter(name string, args [][]string, redirects []*syntax.Redirect, piped bool, h how) {
	language := map[bool]string{true: "shell"}[shells[name]]
	if pythons[name] {
		language = "python"
	}
	for i := 0; i < len(args); i++ {
		word := args[i][0]
		next := func() []string {
			if i+1 < len(args) {
				return args[i+1]
			}
			return nil
		}
		switch {
		case language == "shell" && strings.HasPrefix(word, "-") && !strings.HasPrefix(word, "--") && strings.HasSuffix(word, "c"):
			for _, line := range next() {
				s.line(line, h)
			}
			return
		case language == "python" && word == "-m":
			for _, module := range next() {
				s.pythonModule(module, h)
			}
			return
		case word == "-c" || word == "-e" || word == "--eval" || word == "-p" && name == "node":
			for _, text := range next() {
				if language == "python" {
					s.r.python("", text, h.level)
				} else {
					s.r.imports("", text, h.level)
				}
			}
			return
		case taking[word]:
			for _, v := range next() {
				s.literalFile(v, h)
			}
			i++
		case strings.HasPrefix(word, "-"):
			if _, value, ok := strings.Cut(word, "="); ok {
				s.literalFile(value, h)
			}
		default:
			if s.runsGiven(args[i], language, args[i+1:], h) {
				return
			}
		}
	}
	s.input(redirects, language, h)
	if piped && !h.consumed {
		s.r.openEnded = true
	}
}

// input is what an interpreter reads its program from: sh < check.sh, sh <<END.
func (s *shell) input(redirects []*syntax.Redirect, language string, h how) {
	for _, r := range redirects {
		switch {
		case r.Op == syntax.RdrIn:
			for _, v := range s.expand(r.Word, 0) {
				s.file(v, language, h)
			}
		case r.Hdoc != nil && language == "shell":
			for _, text := range s.expand(r.Hdoc, 0) {
				s.line(text, h)
			}
		}
	}
}

// runsGiven reads the word that may be the file which an interpreter runs, or a directory
// with a file that it begins with.
func (s *shell) runsGiven(values []string, language string, rest [][]string, h how) bool {
	hit := false
	for _, v := range values {
		if v == given && s.self != "" {
			s.runsArguments = true
			hit = true
			continue
		}
		found, runsArgs := s.file(v, language, h)
		if runsArgs {
			s.call(rest, nil, h)
		}
		hit = hit || found
		for _, dir := range s.dirs {
			for _, main := range []string{"__main__.py", "index.js", "index.mjs", "index.cjs", "index.ts", "main.lua"} {
				if p := path.Join(dir, v, main); !found && !path.IsAbs(v) && s.r.there(p) {
					hit = true
					if s.r.ref(p, h) {
						s.r.follow(p, language, h.level+1, s.dirs)
					}
				}
			}
		}
	}
	return hit
}

// pythonModule is python -m: main's module of that name and the directory that it is in.
// One that main does not have is the work where the project means it, and a shadow
// where Python does.
func (s *shell) pythonModule(name string, h how) {
	file := strings.ReplaceAll(name, ".", "/")
	for _, dir := range s.dirs {
		s.r.moduleDirs[dir] = true
		for _, p := range []string{file + "/__main__.py", file + ".py", file + "/__init__.py"} {
			if p = path.Join(dir, p); s.r.there(p) && s.r.ref(p, h) {
				s.r.follow(p, "python", h.level+1, s.dirs)
			}
		}
	}
}

// findCommand reads what find runs on what it finds.
func (s *shell) findCommand(args [][]string, h how) {
	for i, a := range args {
		if !slices.Contains([]string{"-exec", "-execdir", "-ok", "-okdir"}, a[0]) {
			continue
		}
		var line [][]string
		for _, word := range args[i+1:] {
			if word[0] == ";" || word[0] == "+" {
				break
			}
			line = append(line, []string{strings.ReplaceAll(word[0], "{}", unknown)})
		}
		if len(line) > 1 && line[len(line)-1][0] == unknown && s.runnable(line[0][0]) || len(line) > 0 && line[0][0] == unknown {
			s.r.openEnded = s.r.openEnded || !h.consumed
			continue
		}
		s.call(line, nil, h)
	}
}

// goCommand is the go command: what it runs is of a directory.
func (s *shell) goCommand(args [][]string, h how) {
	words := flat(args)
	if slices.Contains(words, "generate") {
		s.r.readGenerate(s.dirs, h)
	}
	if len(words) > 0 && words[0] == "run" {
		for _, v := range words[1:] {
			if strings.HasPrefix(v, "-") {
				continue
			}
			for _, dir := range s.dirs {
				if d := s.r.links.end(path.Join(dir, v)); d != "." && s.r.onBaseDir(d) {
					s.r.programDirs[d] = true
				}
			}
			s.literalFile(v, h)
			if !strings.HasSuffix(v, ".go") {
				break
			}
		}
	}
	s.flagFiles(args, h)
}

func flat(args [][]string) []string {
	var all []string
	for _, a := range args {
		all = append(all, a...)
	}
	return all
}

func oneOf(args [][]string) []string {
	if len(args) == 0 {
		return nil
	}
	return args[0]
}
