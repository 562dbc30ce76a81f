package deciding

import (
	"maps"
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
			if !isWrapperArgument(word) && !(flag && !s.runnable(word)) {
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
		slices.ContainsFunc(s.dirs, func(dir string) bool { return word != "" && s.r.exists(path.Join(dir, word)) })
}

// command reads one command with its arguments, by what kind of program its name is.
// piped says that a pipe gives it more arguments, which no text says.
func (s *shell) command(word string, args [][]string, redirects []*syntax.Redirect, piped bool, h how) {
	name := path.Base(word)
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
		for _, v := range firstValues(args) {
			if found, _ := s.file(v, "shell", h); !found && s.self != "" {
				s.file(path.Join(path.Dir(s.self), v), "shell", h)
			}
		}
	case name == "eval":
		s.line(strings.Join(flat(args), " "), h)
	case name == "trap":
		if len(args) > 0 {
			s.line(args[0][0], h)
		}
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
	// In order, and as they were: what is found in one may add to them, and a verdict is
	// the same each time.
	for _, dir := range slices.Sorted(maps.Keys(s.r.pathDirs)) {
		if p := path.Join(dir, word); s.r.exists(p) && s.r.noteRun(p, h) {
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

// literalFile is file for a word that may be none.
func (s *shell) literalFile(word string, h how) {
	if !strings.ContainsAny(word, unclear+"*?[") {
		s.file(word, "", h)
	}
}

// flat are the values of all words.
func flat(args [][]string) []string {
	var all []string
	for _, a := range args {
		all = append(all, a...)
	}
	return all
}

// firstValues are what the first word may come to.
func firstValues(args [][]string) []string {
	if len(args) == 0 {
		return nil
	}
	return args[0]
}
