package deciding

import (
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
)

// onBaseDir reports whether main has files below a path.
func (r *Reading) onBaseDir(name string) bool {
	for p := range r.base {
		if strings.HasPrefix(p, name+"/") {
			return true
		}
	}
	return false
}

// make is the make command: its makefiles, and its targets, which a file of such a
// name makes needless.
func (s *shell) make(args [][]string, h how) {
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
				s.r.targets[path.Join(dir, w)] = true
			}
		}
	}
	for _, dir := range dirs {
		for _, f := range files {
			if p := path.Join(dir, f); s.r.onBase(p) && !strings.ContainsAny(p, unclear) {
				s.r.ref(p, how{level: h.level + 1, consumed: h.consumed})
				s.r.follow(p, "make", h.level+1, []string{dir})
			}
		}
	}
	s.r.byPattern()
	for t := range s.r.phony {
		delete(s.r.targets, t)
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
	makeInclude  = regexp.MustCompile(`^ *(-include|sinclude|include)\s+(.+)$`)
	makeVariable = regexp.MustCompile(`^ *(?:export\s+|override\s+)*([A-Za-z_.][\w.-]*)\s*(?:::?=|\?=|\+=|=|!=)\s*(.*)$`)
	makeRule     = regexp.MustCompile(`^([^\t#:=][^:=#]*?)\s*::?(?:[^=]|$)([^;]*)(?:;(.*))?$`)
	makeUse      = regexp.MustCompile(`\$[({]([\w.-]+)[)}]`)
	makeWildcard = regexp.MustCompile(`\$[({]wildcard\s+([^()]*)[)}]`)
	makeFile     = regexp.MustCompile(`\$[({]file\s+<\s*([^()]*)[)}]`)
	makeVpath    = regexp.MustCompile(`^ *vpath\s+\S+\s+(.+)$`)
	makeShell    = regexp.MustCompile(`\$\(shell\s+([^()]*)\)`)
)

// makefile reads what a makefile includes, and its recipes line by line.
func (r *Reading) makefile(self, text string, level int, dirs []string) {
	if len(dirs) == 0 {
		dirs = []string{path.Dir(self)}
	}
	vars := map[string]string{"MAKE": "make", "CURDIR": ".", "SHELL": "sh", "MAKEFILE_LIST": self}
	use := func(s string) string {
		for range 4 {
			s = makeWildcard.ReplaceAllString(s, "$1")
			s = makeUse.ReplaceAllStringFunc(s, func(v string) string {
				if value, ok := vars[v[2:len(v)-1]]; ok {
					return value
				}
				return unknown
			})
		}
		return strings.ReplaceAll(s, "$$", "$")
	}
	lines := strings.Split(strings.ReplaceAll(text, "\\\n", " "), "\n")
	for _, line := range lines { // a makefile knows its variables before it runs a recipe
		if m := makeVariable.FindStringSubmatch(line); m != nil && line[0] != '\t' {
			vars[m[1]] = strings.TrimSpace(m[2])
		}
	}
	for _, dir := range strings.FieldsFunc(use(vars["VPATH"]), func(c rune) bool { return c == ' ' || c == ':' }) {
		r.vpath(dir, dirs)
	}
	h := how{level: level}
	var at []string // what stands for $< and its like in the recipe
	for _, line := range lines {
		if m := makeVpath.FindStringSubmatch(line); m != nil {
			r.vpath(use(m[1]), dirs)
		}
		for _, m := range makeFile.FindAllStringSubmatch(line, -1) {
			(&shell{r: r, self: self, dirs: dirs}).known(strings.TrimSpace(use(m[1])), h)
		}
		for _, m := range makeShell.FindAllStringSubmatch(line, -1) {
			r.script(use(m[1]), self, how{level: level, consumed: true}, dirs)
		}
		switch {
		case strings.HasPrefix(line, "\t"):
			line = strings.NewReplacer(at...).Replace(strings.TrimLeft(line, "\t "))
			r.script(strings.TrimLeft(use(line), "@+- "), self, h, dirs)
		case makeInclude.MatchString(line):
			m := makeInclude.FindStringSubmatch(line)
			for _, word := range strings.Fields(use(m[2])) {
				s := &shell{r: r, self: self, dirs: dirs}
				s.file(word, "make", how{level: level, optional: m[1] != "include"})
			}
		case makeVariable.MatchString(line):
			m := makeVariable.FindStringSubmatch(line)
			(&shell{r: r, self: self, dirs: dirs}).setting(m[1], use(m[2]), h)
		case makeRule.MatchString(line):
			m := makeRule.FindStringSubmatch(line)
			from := strings.Fields(use(m[2]))
			at = automatic(from)
			r.rule(strings.Fields(use(m[1])), from, dirs)
			if m[3] != "" {
				r.script(strings.TrimLeft(use(strings.NewReplacer(at...).Replace(m[3])), "@+- "), self, h, dirs)
			}
		}
	}
}

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

// vpath notes a directory in which make looks for what it would make.
func (r *Reading) vpath(words string, dirs []string) {
	for _, dir := range strings.FieldsFunc(words, func(c rune) bool { return c == ' ' || c == ':' }) {
		r.vpaths = append(r.vpaths, below(dirs, dir)...)
	}
}

// byPattern notes what rules with a pattern make: what another one is made from, and
// every target in the directories where make looks for it.
func (r *Reading) byPattern() {
	for p := range r.from {
		for _, stem := range r.stems {
			before, after, _ := strings.Cut(stem, "%")
			if strings.HasSuffix(p, after) && (strings.HasPrefix(p, before) || strings.HasPrefix(path.Base(p), before)) {
				r.targets[p] = true
			}
		}
	}
	for _, dir := range r.vpaths {
		for p := range maps.Clone(r.targets) {
			if !r.phony[p] {
				r.targets[path.Join(dir, p)] = true
			}
		}
	}
	r.vpaths = nil
}

// rule notes what a rule makes.
func (r *Reading) rule(targets, from, dirs []string) {
	for _, t := range targets {
		for _, dir := range dirs {
			switch {
			case t == ".PHONY":
				for _, p := range from {
					r.phony[path.Join(dir, p)] = true
				}
			case !strings.ContainsAny(t, "%"+unknown) && !strings.HasPrefix(t, "."):
				r.targets[path.Join(dir, t)] = true
			case strings.Contains(t, "%"):
				r.stems = append(r.stems, t)
			}
		}
	}
	for _, f := range from {
		for _, dir := range dirs {
			if !strings.ContainsAny(f, "%"+unknown) {
				r.from[path.Join(dir, f)] = true
			}
		}
	}
}

// packages is npm and its like: the lines that main's package.json has for it.
func (s *shell) packages(args [][]string, h how) {
	dirs := slices.Clone(s.dirs)
	words := flat(args)
	for i, w := range words {
		if i+1 < len(words) && (w == "--prefix" || w == "-C" || w == "--cwd" || w == "--dir") {
			dirs = below(dirs, words[i+1])
		}
	}
	for _, dir := range dirs {
		p := path.Join(dir, "package.json")
		text, ok := s.r.read(p)
		if _, was := s.r.seen[p]; !ok || was {
			continue
		}
		s.r.seen[p] = false
		var manifest struct {
			Scripts map[string]string `json:"scripts"`
		}
		if json.Unmarshal([]byte(text), &manifest) != nil {
			continue
		}
		for _, line := range manifest.Scripts {
			s.r.script(line, p, how{level: h.level + 1, consumed: h.consumed}, []string{dir})
		}
	}
}

var (
	pythonImport = regexp.MustCompile(`(?m)^([ \t]*)(?:from[ \t]+([.\w]+)[ \t]+import[ \t]+([^\n#]+)|import[ \t]+([^\n#]+))`)
	otherImport  = regexp.MustCompile(`(?m)^([^\n'"]*?)(?:\b(?:require|import|from|export|load|include|include_once|require_once|require_relative|do|source|dofile|loadfile)\b|\bimport\()[ \t]*\(?[ \t]*['"]([^'"\n]+)['"]`)
	sysPath      = regexp.MustCompile(`(?m)^.*\b(?:sys\.path|addsitedir)\b.*$`)
	quoted       = regexp.MustCompile(`["']([\w./-]+)["']`)
)

// python reads what a Python text imports. What main has is the work, as far as no
// rule of place says otherwise; what main has not is loaded before the library's,
// or is what the text cannot do without.
func (r *Reading) python(self, text string, level int) {
	at := path.Dir(self)
	for _, line := range sysPath.FindAllString(text, -1) {
		for _, m := range quoted.FindAllStringSubmatch(line, -1) {
			for _, dir := range []string{".", at} {
				if d := path.Join(dir, m[1]); r.onBaseDir(d) {
					r.modules[d] = true
				}
			}
		}
	}
	for _, m := range pythonImport.FindAllStringSubmatch(text, -1) {
		h := how{level: level, optional: m[1] != ""}
		var modules []string
		if m[2] != "" {
			modules = append(modules, m[2])
			for _, name := range strings.Split(strings.Trim(m[3], "() \t"), ",") {
				modules = append(modules, strings.TrimSuffix(m[2], ".")+"."+strings.Fields(name + " ?")[0])
			}
		} else {
			for _, name := range strings.Split(m[4], ",") {
				modules = append(modules, strings.Fields(name + " ?")[0])
			}
		}
		for _, module := range modules {
			file := strings.ReplaceAll(strings.TrimLeft(module, "."), ".", "/")
			for dir := range r.modules {
				if strings.HasPrefix(module, ".") && dir != at {
					continue
				}
				r.imported(path.Join(dir, file), []string{"/__init__.py", ".py"}, h)
			}
		}
	}
	r.strings(self, text, level)
}

// imported notes a module by the places where it is looked for, the first of which
// wins.
func (r *Reading) imported(stem string, ends []string, h how) {
	for _, end := range ends {
		p := stem + end
		if r.onBase(p) {
			return // the work, or a part of main's that a rule of place keeps
		}
		if r.have[p] == "" {
			continue
		}
		later := slices.ContainsFunc(ends, func(e string) bool { return r.onBase(stem + e) })
		if h.optional || later {
			r.runs[p] = true
		} else {
			r.asked[p] = true
		}
	}
}

// imports reads what texts of other languages load: by words that most of them
// share.
func (r *Reading) imports(self, text string, level int) {
	at := path.Dir(self)
	for _, m := range otherImport.FindAllStringSubmatch(text, -1) {
		name := m[2]
		if strings.HasPrefix(name, "/") || !strings.ContainsAny(name, "./") {
			continue
		}
		h := how{level: level, optional: strings.HasPrefix(m[1], " ") || strings.HasPrefix(m[1], "\t") || strings.Contains(m[1], "{")}
		r.imported(path.Join(at, name), []string{"", ".js", ".mjs", ".cjs", ".json", ".node", ".ts", ".rb", ".pl", ".lua", ".php", "/index.js", "/index.mjs", "/index.ts"}, h)
	}
	r.strings(self, text, level)
}

// strings notes the programs that a text names between quotes: it runs them, as
// likely as not, and looks at what they say.
func (r *Reading) strings(self, text string, level int) {
	for _, m := range quoted.FindAllStringSubmatch(text, -1) {
		for _, dir := range []string{".", path.Dir(self)} {
			p := path.Join(dir, m[1])
			entry := r.have[p]
			if entry == "" || path.IsAbs(m[1]) {
				continue
			}
			if _, language := languages[path.Ext(p)]; language || strings.HasPrefix(entry, "100755") {
				r.ref(p, how{level: max(level, 1), consumed: true})
			}
		}
	}
}
