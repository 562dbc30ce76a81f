package deciding

import (
	"path"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// fileFlags are an interpreter's flags whose next word is a file that it runs, too.
var fileFlags = set("-r --require --import --loader --experimental-loader -f --file --makefile --rcfile --init-file -p --plugin --config --conf --rootdir -I --include --preload")

// interpreter is a program that runs a file which its arguments name, or a line
// among them.
func (s *shell) interpreter(name string, args [][]string, redirects []*syntax.Redirect, piped bool, h how) {
	language := "" // the file says it
	switch {
	case shells[name]:
		language = "shell"
	case pythons[name]:
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
		case fileFlags[word]:
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
				if p := path.Join(dir, v, main); !found && !path.IsAbs(v) && s.r.exists(p) {
					hit = true
					if s.r.noteRun(p, h) {
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
			if p = path.Join(dir, p); s.r.exists(p) && s.r.noteRun(p, h) {
				s.r.follow(p, "python", h.level+1, s.dirs)
			}
		}
	}
}
