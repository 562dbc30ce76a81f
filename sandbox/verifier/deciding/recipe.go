package deciding

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"git-ward/internal/pattern"
)

// Files are the files of a tree, by path; ok is false where there is none, or no text.
type Files func(name string) (text string, ok bool)

// Recipes are the lines of recipes that a line for the shell has make run whatever else
// happens: those of its targets, and of what these are made from. make ends with an exit
// code of its own, whatever a recipe lacked, so who looks for a missing program needs
// them. What cannot be told from the text is left out: conditional parts, includes,
// patterns, targets that are there already, lines whose failure make is to ignore.
func Recipes(line string, files Files) (lines []string) {
	for _, call := range makeCalls(line) {
		m := &recipes{files: files, fixed: map[string]bool{}, vars: map[string]string{"MAKE": "make"}, rules: map[string]*rule{}}
		lines = append(lines, m.of(call)...)
	}
	return lines
}

// makeCalls are the words of the calls of make that a line makes in any case, in the
// directory where it starts.
func makeCalls(line string) (calls [][]string) {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(line), "")
	if err != nil || !Tools(line)["make"] {
		return nil
	}
	moved := false
	syntax.Walk(file, func(n syntax.Node) bool {
		if c, ok := n.(*syntax.CallExpr); ok {
			switch words := plainWords(c.Args); {
			case len(words) == 0 || len(words) < len(c.Args):
			case words[0] == "cd" || words[0] == "pushd":
				moved = true
			case words[0] == "make":
				calls = append(calls, words[1:])
			}
		}
		return true
	})
	if moved || len(calls) > 1 { // with more than one, some may run on a condition
		return nil
	}
	return calls
}

// rule is what a makefile says of one target.
type rule struct {
	from  []string
	lines []string
}

// recipes is a makefile as far as its text tells what runs.
type recipes struct {
	files Files
	dir   string
	fixed map[string]bool // variables of the command line, which the makefile does not change
	vars  map[string]string
	rules map[string]*rule
	first string          // the target that make makes when it is given none
	phony map[string]bool // targets that no file makes needless
	blind bool
}

// of are the recipes of one call of make.
func (m *recipes) of(words []string) (lines []string) {
	targets, ok := m.arguments(words)
	if !ok {
		return nil
	}
	for _, name := range []string{"GNUmakefile", "makefile", "Makefile"} {
		if text, ok := m.files(path.Join(m.dir, name)); ok {
			m.read(text)
			break
		}
	}
	if len(targets) == 0 {
		targets = []string{m.first}
	}
	if m.blind {
		return nil
	}
	seen := map[string]bool{}
	var make func(target string)
	make = func(target string) {
		r := m.rules[target]
		if seen[target] || r == nil {
			return
		}
		seen[target] = true
		if _, there := m.files(path.Join(m.dir, target)); there && !m.phony[target] {
			return
		}
		for _, f := range r.from {
			make(f)
		}
		lines = append(lines, r.lines...)
	}
	for _, t := range targets {
		make(t)
	}
	return lines
}

// arguments reads make's own words: targets, variables and the directory. ok is false
// where they say that a recipe may not run, or another makefile.
func (m *recipes) arguments(words []string) (targets []string, ok bool) {
	m.dir = "."
	for i := 0; i < len(words); i++ {
		w := words[i]
		name, value, setting := strings.Cut(w, "=")
		switch {
		case w == "-C" && i+1 < len(words):
			i++
			m.dir = path.Join(m.dir, words[i])
		case w == "-s" || w == "--silent" || w == "-B" || strings.HasPrefix(w, "-j"):
		case strings.HasPrefix(w, "-"):
			return nil, false
		case setting:
			m.vars[name], m.fixed[name] = value, true
		default:
			targets = append(targets, w)
		}
	}
	return targets, true
}

var (
	makeCondition = pattern.New(`^ *(ifeq|ifneq|ifdef|ifndef|define)\b`)
	makeEnd       = pattern.New(`^ *(endif|endef)\b`)
	// makeElsewhere changes how all recipes run, or where programs are looked for.
	makeElsewhere = pattern.New(`^ *(\.ONESHELL|\.IGNORE|\.SILENT *:.*-i|(export +|override +)*(PATH|SHELL|\.SHELLFLAGS|MAKEFLAGS)\b *[:?+!]*=)`)
)

// read takes a makefile's rules and variables. What stands in a condition is not known.
func (m *recipes) read(text string) {
	m.phony = map[string]bool{}
	lines := strings.Split(strings.ReplaceAll(text, "\\\n", " "), "\n")
	depth := 0
	var current []*rule
	for _, line := range lines { // variables first: recipes are expanded when they run
		switch v := makeVariable.FindStringSubmatch(line); {
		case makeElsewhere.MatchString(line):
			m.blind = true
		case makeCondition.MatchString(line):
			depth++
		case makeEnd.MatchString(line):
			depth--
		case v == nil || line[0] == '\t' || m.fixed[v[1]]:
		case depth > 0 || strings.Contains(line, "+=") || strings.Contains(line, "!="):
			m.vars[v[1]] = unknown
		default:
			m.vars[v[1]] = strings.TrimSpace(v[2])
		}
	}
	depth = 0
	for _, line := range lines {
		v := makeRule.FindStringSubmatch(line)
		switch {
		case makeCondition.MatchString(line):
			depth++
		case makeEnd.MatchString(line):
			depth--
		case strings.HasPrefix(line, "\t") && depth == 0:
			for _, r := range current {
				r.add(m, line)
			}
		case strings.HasPrefix(line, "\t"), strings.TrimSpace(line) == "", strings.HasPrefix(line, "#"):
		case v != nil && !makeVariable.MatchString(line):
			if current = m.rule(v); depth > 0 {
				for _, r := range current {
					r.from, r.lines = nil, nil
				}
				current = nil
			}
		default:
			current = nil
		}
	}
}

// rule is the head of a rule, as makeRule cuts it.
func (m *recipes) rule(v []string) (rules []*rule) {
	targets, from := strings.Fields(m.expand(v[1], 0)), strings.Fields(m.expand(v[2], 0))
	if slices.Contains(targets, ".PHONY") {
		for _, f := range from {
			m.phony[f] = true
		}
		return nil
	}
	if strings.Contains(v[2], "=") { // a variable of this target's alone
		name, _, _ := strings.Cut(strings.TrimSpace(v[2]), "=")
		m.vars[strings.TrimRight(name, " :?+")] = unknown
		return nil
	}
	for _, t := range targets {
		if strings.ContainsAny(t, unclear+"%") || strings.HasPrefix(t, ".") {
			continue
		}
		r := m.rules[t]
		if r == nil {
			r = &rule{}
			m.rules[t] = r
		}
		if m.first == "" {
			m.first = t
		}
		r.from = append(r.from, from...)
		if v[3] != "" {
			r.add(m, v[3])
		}
		rules = append(rules, r)
	}
	return rules
}

// add adds a line of a recipe; one whose failure is ignored says nothing.
func (r *rule) add(m *recipes, line string) {
	rest := strings.TrimLeft(line, "\t @+-")
	if head := line[:len(line)-len(rest)]; strings.Contains(head, "-") {
		return
	}
	r.lines = append(r.lines, m.expand(rest, 0))
}

// expand puts values in the place of variables, and unknown for what only make can tell.
func (m *recipes) expand(s string, depth int) string {
	const deepest = 8
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '$' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		closing := map[byte]string{'(': ")", '{': "}"}[s[i]]
		if closing == "" {
			if s[i] == '$' {
				b.WriteByte('$')
			} else {
				b.WriteString(unknown)
			}
			continue
		}
		end := strings.Index(s[i:], closing)
		if end < 0 {
			return unknown
		}
		name := s[i+1 : i+end]
		if strings.Contains(name, "$") { // within one another: nobody's plain word
			return unknown
		}
		i += end
		value, ok := m.vars[name]
		if !ok || depth >= deepest {
			value = unknown
		}
		b.WriteString(m.expand(value, depth+1))
	}
	return b.String()
}
