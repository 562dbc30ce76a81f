package deciding

import (
	"maps"
	"path"
	"slices"
	"strings"

	"git-ward/internal/pattern"
)

// makeCommand is the make command: its makefiles, and its targets, which a file of such a
// name makes needless.
func (s *shell) makeCommand(args [][]string, h how) {
	words := flat(args)
	files := []string{"GNUmakefile", "makefile", "Makefile", "BSDmakefile"}
	dirs := slices.Clone(s.dirs)
	for i, w := range words {
		next := ""
		if i+1 < len(words) {
			next = words[i+1]
		}
		key, value, _ := strings.Cut(w, "=")
		switch {
		case w == "-C" || w == "--directory":
			dirs = below(dirs, next)
		case key == "--directory":
			dirs = below(dirs, value)
		case strings.HasPrefix(w, "-C") && len(w) > 2:
			dirs = below(dirs, w[2:])
		case w == "-f" || w == "--file" || w == "--makefile":
			files = append(files, next)
		case key == "--file" || key == "--makefile":
			files = append(files, value)
		case strings.HasPrefix(w, "-f") && len(w) > 2:
			files = append(files, w[2:])
		case strings.Contains(w, "="):
			s.setting(key, value, h)
		case !strings.HasPrefix(w, "-") && !strings.ContainsAny(w, unclear):
			for _, dir := range dirs {
				s.r.make.targets[path.Join(dir, w)] = true
			}
		}
	}
	for _, dir := range dirs {
		for _, f := range files {
			if p := path.Join(dir, f); s.r.onBase(p) && !strings.ContainsAny(p, unclear) {
				s.r.noteRun(p, how{level: h.level + 1, consumed: h.consumed})
				s.r.follow(p, "make", h.level+1, []string{dir})
			}
		}
	}
	s.r.addPatternTargets()
	for t := range s.r.make.phony {
		delete(s.r.make.targets, t)
	}
}

func below(dirs []string, dir string) []string {
	if dir == "" || path.IsAbs(dir) || strings.ContainsAny(dir, unclear) {
		return dirs
	}
	all := slices.Clone(dirs)
	for _, d := range dirs {
		all = append(all, path.Join(d, dir))
	}
	return all[:min(len(all), 64)]
}

var (
	makeInclude  = pattern.New(`^ *(-include|sinclude|include)\s+(.+)$`)
	makeVariable = pattern.New(`^ *(?:export\s+|override\s+)*([A-Za-z_.][\w.-]*)\s*(?:::?=|\?=|\+=|=|!=)\s*(.*)$`)
	makeRule     = pattern.New(`^([^\t#:=][^:=#]*?)\s*::?(?:[^=]|$)([^;]*)(?:;(.*))?$`)
	makeUse      = pattern.New(`\$[({]([\w.-]+)[)}]`)
	makeWildcard = pattern.New(`\$[({]wildcard\s+([^()]*)[)}]`)
	makeFile     = pattern.New(`\$[({]file\s+<\s*([^()]*)[)}]`)
	makeVpath    = pattern.New(`^ *vpath\s+\S+\s+(.+)$`)
	makeShell    = pattern.New(`\$\(shell\s+([^()]*)\)`)
)

// makeRules are what the makefiles that were read make, and from what.
type makeRules struct {
	targets       map[string]bool // a file of such a name is made already
	phony         map[string]bool // targets that are no files
	prerequisites map[string]bool // what rules make from
	patterns      []string        // targets with a %
	dirs          []string        // where make looks for targets, too
}

// makefile is one makefile as it is read, line by line.
type makefile struct {
	r    *Reading
	self string
	dirs []string // where make may run it
	how  how
	vars map[string]string
	// automatic are pairs for strings.NewReplacer: $< and its like in the present rule.
	automatic []string
}

// makefile reads what a makefile includes, and its recipes line by line.
func (r *Reading) makefile(self, text string, level int, dirs []string) {
	if len(dirs) == 0 {
		dirs = []string{path.Dir(self)}
	}
	m := &makefile{r: r, self: self, dirs: dirs, how: how{level: level},
		vars: map[string]string{"MAKE": "make", "CURDIR": ".", "SHELL": "sh", "MAKEFILE_LIST": self}}
	lines := strings.Split(strings.ReplaceAll(text, "\\\n", " "), "\n")
	for _, line := range lines { // a makefile knows its variables before it runs a recipe
		if v := makeVariable.FindStringSubmatch(line); v != nil && line[0] != '\t' {
			m.vars[v[1]] = strings.TrimSpace(v[2])
		}
	}
	r.addMakeDirs(m.expand(m.vars["VPATH"]), dirs)
	for _, line := range lines {
		m.functions(line)
		m.line(line)
	}
}

// expand puts values in the place of variables, unknown for those that are not known.
func (m *makefile) expand(s string) string {
	for range 4 { // variables of variables, some deep
		s = makeWildcard.ReplaceAllString(s, "$1")
		s = makeUse.ReplaceAllStringFunc(s, func(v string) string {
			if value, ok := m.vars[v[2:len(v)-1]]; ok {
				return value
			}
			return unknown
		})
	}
	return strings.ReplaceAll(s, "$$", "$")
}

// functions reads what may stand in any line: vpath, $(file <...) and $(shell ...).
func (m *makefile) functions(line string) {
	if v := makeVpath.FindStringSubmatch(line); v != nil {
		m.r.addMakeDirs(m.expand(v[1]), m.dirs)
	}
	for _, f := range makeFile.FindAllStringSubmatch(line, -1) {
		m.shell().literalFile(strings.TrimSpace(m.expand(f[1])), m.how)
	}
	for _, f := range makeShell.FindAllStringSubmatch(line, -1) {
		m.r.script(m.expand(f[1]), m.self, how{level: m.how.level, consumed: true}, m.dirs)
	}
}

// line is a line of a recipe, an include, a variable or a rule.
func (m *makefile) line(line string) {
	switch {
	case strings.HasPrefix(line, "\t"):
		m.recipe(strings.TrimLeft(line, "\t "))
	case makeInclude.MatchString(line):
		v := makeInclude.FindStringSubmatch(line)
		for _, word := range strings.Fields(m.expand(v[2])) {
			m.shell().file(word, "make", how{level: m.how.level, optional: v[1] != "include"})
		}
	case makeVariable.MatchString(line):
		v := makeVariable.FindStringSubmatch(line)
		m.shell().setting(v[1], m.expand(v[2]), m.how)
	case makeRule.MatchString(line):
		v := makeRule.FindStringSubmatch(line)
		from := strings.Fields(m.expand(v[2]))
		m.automatic = automatic(from)
		m.r.addRule(strings.Fields(m.expand(v[1])), from, m.dirs)
		if v[3] != "" {
			m.recipe(v[3])
		}
	}
}

// recipe is a line for the shell, with @ and its like in front.
func (m *makefile) recipe(line string) {
	line = strings.NewReplacer(m.automatic...).Replace(line)
	m.r.script(strings.TrimLeft(m.expand(line), "@+- "), m.self, m.how, m.dirs)
}

func (m *makefile) shell() *shell { return &shell{r: m.r, self: m.self, dirs: m.dirs} }

// automatic is what make puts in the place of the variables that name what a rule
// makes from.
func automatic(from []string) []string {
	first := unknown
	if len(from) > 0 {
		first = from[0]
	}
	all := strings.Join(from, " ")
	return []string{"$<", first, "$^", all, "$+", all, "$?", all, "$(<)", first, "$(^)", all, "$*", unknown}
}

// addMakeDirs notes a directory in which make looks for what it would make.
func (r *Reading) addMakeDirs(words string, dirs []string) {
	for _, dir := range strings.FieldsFunc(words, func(c rune) bool { return c == ' ' || c == ':' }) {
		r.make.dirs = append(r.make.dirs, below(dirs, dir)...)
	}
}

// addPatternTargets notes what rules with a pattern make: what another one is made from, and
// every target in the directories where make looks for it.
func (r *Reading) addPatternTargets() {
	for p := range r.make.prerequisites {
		for _, stem := range r.make.patterns {
			before, after, _ := strings.Cut(stem, "%")
			if strings.HasSuffix(p, after) && (strings.HasPrefix(p, before) || strings.HasPrefix(path.Base(p), before)) {
				r.make.targets[p] = true
			}
		}
	}
	for _, dir := range r.make.dirs {
		for p := range maps.Clone(r.make.targets) {
			if !r.make.phony[p] {
				r.make.targets[path.Join(dir, p)] = true
			}
		}
	}
	r.make.dirs = nil
}

// addRule notes what a rule makes.
func (r *Reading) addRule(targets, from, dirs []string) {
	for _, t := range targets {
		for _, dir := range dirs {
			switch {
			case t == ".PHONY":
				for _, p := range from {
					r.make.phony[path.Join(dir, p)] = true
				}
			case !strings.ContainsAny(t, "%"+unknown) && !strings.HasPrefix(t, "."):
				r.make.targets[path.Join(dir, t)] = true
			case strings.Contains(t, "%"):
				r.make.patterns = append(r.make.patterns, t)
			}
		}
	}
	for _, f := range from {
		for _, dir := range dirs {
			if !strings.ContainsAny(f, "%"+unknown) {
				r.make.prerequisites[path.Join(dir, f)] = true
			}
		}
	}
}
