package deciding

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"git-ward/internal/pattern"
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

// npmScripts is npm and its like: the lines that main's package.json has for it.
func (s *shell) npmScripts(args [][]string, h how) {
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
		if _, was := s.r.followed[p]; !ok || was {
			continue
		}
		s.r.followed[p] = false
		var manifest struct {
			Scripts map[string]string `json:"scripts"`
		}
		if json.Unmarshal([]byte(text), &manifest) != nil {
			continue
		}
		// In order: who is followed first says how deep what he calls is (MaxLevel), and a
		// verdict is the same each time.
		for _, name := range slices.Sorted(maps.Keys(manifest.Scripts)) {
			s.r.script(manifest.Scripts[name], p, how{level: h.level + 1, consumed: h.consumed}, []string{dir})
		}
	}
}

var (
	pythonImport = pattern.New(`(?m)^([ \t]*)(?:from[ \t]+([.\w]+)[ \t]+import[ \t]+([^\n#]+)|import[ \t]+([^\n#]+))`)
	otherImport  = pattern.New(`(?m)^([^\n'"]*?)(?:\b(?:require|import|from|export|load|include|include_once|require_once|require_relative|do|source|dofile|loadfile)\b|\bimport\()[ \t]*\(?[ \t]*['"]([^'"\n]+)['"]`)
	sysPath      = pattern.New(`(?m)^.*\b(?:sys\.path|addsitedir)\b.*$`)
	quoted       = pattern.New(`["']([\w./-]+)["']`)
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
					r.moduleDirs[d] = true
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
			for dir := range r.moduleDirs {
				if strings.HasPrefix(module, ".") && dir != at {
					continue
				}
				r.addImport(path.Join(dir, file), []string{"/__init__.py", ".py"}, h)
			}
		}
	}
	r.quotedPrograms(self, text, level)
}

// addImport notes a module by the places where it is looked for, the first of which
// wins.
func (r *Reading) addImport(stem string, ends []string, h how) {
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
			r.required[p] = true
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
		r.addImport(path.Join(at, name), []string{"", ".js", ".mjs", ".cjs", ".json", ".node", ".ts", ".rb", ".pl", ".lua", ".php", "/index.js", "/index.mjs", "/index.ts"}, h)
	}
	r.quotedPrograms(self, text, level)
}

// quotedPrograms notes the programs that a text names between quotes: it runs them, as
// likely as not, and looks at what they say.
func (r *Reading) quotedPrograms(self, text string, level int) {
	for _, m := range quoted.FindAllStringSubmatch(text, -1) {
		for _, dir := range []string{".", path.Dir(self)} {
			p := path.Join(dir, m[1])
			entry := r.have[p]
			if entry == "" || path.IsAbs(m[1]) {
				continue
			}
			if _, language := languages[path.Ext(p)]; language || strings.HasPrefix(entry, "100755") {
				r.noteRun(p, how{level: max(level, 1), consumed: true})
			}
		}
	}
}
