package deciding

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"git-ward/internal/pattern"
)

// runners run a file that is named as an argument: the first one that is there.
var runners = []string{
	"sh", "bash", "dash", "zsh", "ksh", "busybox", ".", "source", "make", "gmake", "python", "python2", "python3", "pypy3", "node", "deno", "bun",
	"npx", "tsx", "ts-node", "ruby", "perl", "php", "lua", "Rscript", "julia", "java", "awk", "gawk", "sed", "expect", "tclsh", "go", "run",
}

// wrappers run the command that follows them.
var wrappers = []string{"env", "timeout", "time", "nice", "nohup", "exec", "command", "builtin", "sudo", "xargs", "setsid", "stdbuf", "ionice", "unshare"}

// programs are the files of main that a command line runs: what it calls, and
// what it gives to an interpreter. A file that it only looks at is the work that
// is judged (`grep -q limit README.md`); where such a file decides, too, the
// directive freezes it.
//
// A line that is not shell, or not to be understood, runs everything that it
// names: then nothing of it can be meddled with.
func programs(line string, isProgram func(path string) bool, onMain func(path string) bool) map[string]bool {
	found := map[string]bool{}
	r := &reader{found: found, isProgram: isProgram, onMain: onMain, dirs: []string{"."}}
	r.read(line, 0)
	return found
}

// read looks at a line, and at the lines that it gives to shells, some deep.
func (r *reader) read(line string, depth int) {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(line), "")
	if err != nil || depth > 8 {
		for _, word := range words(line) {
			r.add(word, r.onMain)
		}
		return
	}
	syntax.Walk(file, func(node syntax.Node) bool {
		if s, ok := node.(*syntax.Stmt); ok {
			if call, ok := s.Cmd.(*syntax.CallExpr); ok {
				r.call(literals(call.Args), s.Redirs, depth)
			}
		}
		return true
	})
}

// reader collects the programs of one command line.
type reader struct {
	found     map[string]bool
	isProgram func(string) bool
	onMain    func(string) bool
	dirs      []string // where the line may be: every directory that it changes to
}

// call looks at one simple command: its words, as far as they are literal.
func (r *reader) call(args []string, redirects []*syntax.Redirect, depth int) {
	for _, arg := range args { // executable on main, whoever runs it
		r.add(arg, r.isProgram)
	}
	for len(args) > 0 && slices.Contains(wrappers, path.Base(args[0])) {
		args = args[1:]
		// A word behind a flag may be the flag's own (timeout -s KILL, env -u NAME),
		// unless it can be run.
		for flag := false; len(args) > 0 && (isWrapperArgument(args[0]) || flag && !r.runs(args[0])); args = args[1:] {
			flag = strings.HasPrefix(args[0], "-")
		}
	}
	if len(args) == 0 {
		return
	}
	if args[0] == "cd" && len(args) > 1 {
		for _, dir := range slices.Clone(r.dirs) {
			r.dirs = append(r.dirs, path.Join(dir, args[1]))
		}
		r.dirs = r.dirs[:min(len(r.dirs), 64)]
		return
	}
	if r.add(args[0], r.onMain) || !slices.Contains(runners, path.Base(args[0])) {
		return
	}
	for i, arg := range args[1:] {
		if strings.HasPrefix(arg, "-") && strings.HasSuffix(arg, "c") && i+2 < len(args) { // sh -c LINE
			r.read(args[i+2], depth+1)
			return
		}
		if r.add(arg, r.onMain) {
			break
		}
	}
	for _, redirect := range redirects { // sh < check.sh
		if redirect.Op == syntax.RdrIn && redirect.Word != nil {
			r.add(literal(redirect.Word), r.onMain)
		}
	}
}

// runs reports whether a word is a command that the reader knows what to do with.
func (r *reader) runs(word string) bool {
	name := path.Base(word)
	return slices.Contains(runners, name) || slices.Contains(wrappers, name) ||
		slices.ContainsFunc(r.dirs, func(dir string) bool { return word != "" && r.onMain(path.Join(dir, word)) })
}

var duration = pattern.New(`^[0-9.]+[smhd]?$`) // and not "sh", which the same letters make

// isWrapperArgument tells a wrapper's own argument by its look: a flag, a setting of env, the 10s
// of timeout.
func isWrapperArgument(s string) bool {
	return strings.HasPrefix(s, "-") || strings.Contains(s, "=") || duration.MatchString(s)
}

// add notes a path that passes the test, in any directory that the line may be in.
func (r *reader) add(word string, passes func(string) bool) (added bool) {
	for _, dir := range r.dirs {
		if p := path.Join(dir, word); word != "" && passes(p) {
			r.found[p] = true
			added = true
		}
	}
	return added
}

func literals(words []*syntax.Word) []string {
	var all []string
	for _, w := range words {
		all = append(all, literal(w))
	}
	return all
}

// literal is a word as the shell would see it where that is known; what is not
// known of it is left out.
func literal(w *syntax.Word) string {
	var b strings.Builder
	syntax.Walk(w, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Lit:
			b.WriteString(n.Value)
		case *syntax.SglQuoted:
			b.WriteString(n.Value)
		case *syntax.CmdSubst, *syntax.ParamExp:
			return false
		}
		return true
	})
	return b.String()
}
