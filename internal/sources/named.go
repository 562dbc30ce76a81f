package sources

import (
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"git-ward/internal/pattern"
)

// Named has the paths that command lines name. It does not parse shell: a word is whatever
// stands between blanks and punctuation, so it may find paths that the shell would not.
type Named struct {
	project  *Project
	words    []string
	programs map[string]bool // by directory, as far as somebody asked: it has a program in Go
}

// variable stands for a value that only the shell knows.
var variable = pattern.New(`\$\{[^}]*\}|\$\w*`)

// Words splits a command line as Named does. All code that looks for a name in a line uses it, so that
// all find the same.
func Words(line string) []string {
	return strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" \t\n\"'`;|&<>()=,", r) })
}

// Named splits command lines, and those of the projects' manifests, into words.
func (p *Project) Named(lines []string) *Named {
	n := &Named{project: p, programs: map[string]bool{}}
	for _, line := range lines {
		n.words = append(n.words, Words(line)...)
	}
	n.words = append(n.words, p.words...)
	for i, w := range n.words {
		n.words[i] = path.Clean(w)
	}
	const steps = 5 // of links that lead to links
	for range steps {
		if before := len(n.words); n.follow() == before {
			break
		}
	}
	return n
}

// follow adds the targets of the tree's links in the words.
func (n *Named) follow() int {
	for link, entry := range n.project.tree {
		if !strings.HasPrefix(entry, "120000 ") {
			continue
		}
		to := n.project.text(entry)
		for _, w := range slices.Clone(n.words) {
			if rest, ok := strings.CutPrefix(w, link); ok && (rest == "" || rest[0] == '/') {
				if led := path.Join(path.Dir(link), to) + rest; !slices.Contains(n.words, led) {
					n.words = append(n.words, led)
				}
			}
		}
	}
	return len(n.words)
}

// Has reports whether a path is named: by itself, by its end, by a pattern, as a module, or
// by the directory of the program that it is a part of.
func (n *Named) Has(name string) bool {
	return slices.ContainsFunc(n.words, func(w string) bool { return n.names(w, name) })
}

func (n *Named) names(word, name string) bool {
	if said := variable.ReplaceAllString(word, "*"); said != word {
		if word = said; strings.Trim(word, "*/.") == "" { // whatever the shell knows, it is no name
			return false
		}
	}
	if strings.ContainsAny(word, "*?[{") {
		ok, _ := doublestar.Match("**/"+word, name)
		return ok
	}
	if ends(name, word) {
		return true
	}
	if dir := path.Dir(name); ends(word, dir) && n.isProgram(dir) {
		return true
	}
	if l := of(name); l == nil || !l.bare {
		return false
	}
	stem := strings.TrimSuffix(name, path.Ext(name))
	module := strings.FieldsFunc(word, func(r rune) bool { return r == '.' || r == '/' })
	for i := range module { // tests.calc.Case names tests/calc.py
		if ends(stem, path.Join(module[:i+1]...)) {
			return true
		}
	}
	return false
}

// ends reports whether a path is end, or ends with it.
func ends(name, end string) bool { return name == end || strings.HasSuffix(name, "/"+end) }

// goProgram is how a source of a program in Go begins.
var goProgram = pattern.New(`(?m)^package main\b`)

// isProgram reports whether the tree has a program in Go in a directory.
func (n *Named) isProgram(dir string) bool {
	is, known := n.programs[dir]
	if known {
		return is
	}
	for name, entry := range n.project.tree {
		if path.Dir(name) == dir && path.Ext(name) == ".go" && goProgram.MatchString(n.project.text(entry)) {
			is = true
		}
	}
	n.programs[dir] = is
	return is
}
