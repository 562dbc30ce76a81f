package deciding

import (
	"bytes"
	"errors"
	"path"
	"regexp"
	"strings"

	"git-ward/protocols/state"
)

// Bounds of the following: what is beyond them is taken for whatever it might be.
const (
	MaxText     = 256 << 10 // bytes of a program's text
	maxScript   = 16 << 20  // bytes of what may be a text at all
	MaxTexts    = 400       // programs that are read
	MaxLevel    = 8         // programs that run programs
	maxPatterns = 200       // patterns of what is run
	maxSteps    = 20_000    // values that the words of one text are taken to have
)

// Reading is what main's own words run: from the criteria's lines to the programs
// that they name, to what the text of these sources, includes, imports and calls,
// as far as text shows it. The texts are main's: the claimed commit's have no say in
// what decides on it.
type Reading struct {
	base, have Tree
	links      links // base's
	blobs      Blobs
	pinned     func(path string) bool
	named      map[string]bool // programs that a command line names, and links on the way to them

	// runs are files that decide, where they are on main and where something would
	// find them if they were there.
	runs map[string]bool
	// required are files that main's words cannot do without and main does not have,
	// or of which they look at the output: the work itself, as it decides on itself.
	required    map[string]bool
	mentioned   map[string]bool  // what the criteria name, whatever for
	programDirs map[string]bool  // directories of programs that criteria name; never the root
	pathDirs    map[string]bool  // directories on the way of PATH
	moduleDirs  map[string]bool  // where Python looks before its own library
	patterns    []*regexp.Regexp // of files that are run by a pattern
	openEnded   bool             // a shell runs what no text names
	followed    map[string]bool  // texts by path, and whether they run what they are given

	make      makeRules
	tests     mainTests
	generated bool  // go generate's lines are read
	err       error // trouble with a blob
}

func newReading(base, have Tree, links links, blobs Blobs) *Reading {
	r := &Reading{base: base, have: have, links: links, blobs: blobs, moduleDirs: map[string]bool{".": true, "src": true, "lib": true, "python": true}}
	for _, m := range []*map[string]bool{&r.named, &r.runs, &r.required, &r.mentioned, &r.programDirs, &r.pathDirs, &r.followed,
		&r.make.targets, &r.make.phony, &r.make.prerequisites, &r.tests.data, &r.tests.helpers, &r.tests.lost} {
		*m = map[string]bool{}
	}
	for name := range base {
		if b := path.Base(name); b == "conftest.py" || strings.HasSuffix(b, ".py") && (strings.HasPrefix(b, "test") || strings.HasSuffix(b, "_test.py")) {
			r.moduleDirs[path.Dir(name)] = true
		}
	}
	return r
}

// criterion reads a line that decides.
func (r *Reading) criterion(line string) { r.script(line, "", how{}, nil) }

// how is the way in which a text speaks of a file.
type how struct {
	optional bool // it goes on without it
	consumed bool // it looks at what it prints, not at how it ends
	level    int  // 0 in a criterion
}

// noteRun notes that a text runs a file; it reports whether main has it.
func (r *Reading) noteRun(name string, h how) bool {
	if path.IsAbs(name) || name == "." || name == ".." || strings.HasPrefix(name, "../") {
		return false
	}
	p := r.links.end(name)
	_, onBase := r.base[p]
	switch {
	case onBase && !h.consumed:
		r.runs[p] = true
		r.links.follow(name, r.runs)
	case !onBase && h.optional && !h.consumed:
		r.runs[p] = true
	default:
		r.required[p] = true
	}
	if dir := path.Dir(p); onBase && h.level == 0 && dir != "." {
		r.programDirs[dir] = true
	}
	return onBase
}

// exists reports whether main or the claimed commit has a file.
func (r *Reading) exists(name string) bool { return r.onBase(name) || r.have[name] != "" }

func (r *Reading) onBase(name string) bool { return r.base[r.links.end(name)] != "" }

// read is the text of one of main's files; false where there is none, where it is
// no text, and beyond the bounds: then it may run whatever is there.
func (r *Reading) read(name string) (string, bool) {
	entry, ok := r.base[r.links.end(name)]
	mode, id, _ := strings.Cut(entry, " ")
	if !ok || mode == "160000" || r.err != nil {
		return "", false
	}
	if len(r.followed) > MaxTexts {
		r.openEnded = true
		return "", false
	}
	data, err := r.blobs(id, maxScript)
	var large state.Oversize
	if errors.As(err, &large) {
		return "", false // a program, but no text
	}
	if err != nil {
		r.err = err
		return "", false
	}
	isText := !bytes.Contains(data, []byte("\x00"))
	if len(data) > MaxText {
		r.openEnded = r.openEnded || isText
		return "", false
	}
	return string(data), isText
}

// follow reads the text of one of main's programs, once, in the language that it is
// run as, "" for what its first line or its name says. It reports whether the
// program runs what it is given as arguments.
func (r *Reading) follow(name, language string, level int, dirs []string) (runsArgs bool) {
	p := r.links.end(name)
	if was, ok := r.followed[p]; ok {
		return was
	}
	if level > MaxLevel {
		r.openEnded = true
		return false
	}
	text, ok := r.read(p)
	if !ok {
		return false
	}
	r.followed[p] = false
	if language == "" {
		language = languageOf(p, text)
	}
	switch language {
	case "shell":
		runsArgs = r.script(text, p, how{level: level}, dirs)
	case "python":
		r.moduleDirs[path.Dir(p)] = true
		r.python(p, text, level)
	case "make":
		r.makefile(p, text, level, dirs)
	default:
		r.imports(p, text, level)
	}
	r.followed[p] = runsArgs
	return runsArgs
}

// languages by the end of a name.
var languages = map[string]string{".sh": "shell", ".bash": "shell", ".ksh": "shell", ".zsh": "shell", ".bats": "shell", ".py": "python", ".mk": "make"}

// languageOf is what a program's first line, or its name, says of it.
func languageOf(name, text string) string {
	line, _, _ := strings.Cut(text, "\n")
	if strings.HasPrefix(line, "#!") {
		for _, word := range strings.Fields(strings.TrimPrefix(line, "#!")) {
			switch base := path.Base(word); {
			case shells[base]:
				return "shell"
			case strings.HasPrefix(base, "python"), strings.HasPrefix(base, "pypy"):
				return "python"
			case base == "make", base == "gmake":
				return "make"
			}
		}
		return "other"
	}
	if l := languages[path.Ext(name)]; l != "" {
		return l
	}
	if path.Ext(name) == "" {
		return "shell" // what the kernel does not know, a shell runs
	}
	return "other"
}

// pattern notes that whatever fits is run; a part that is not known is \x01. A word
// that says almost nothing leaves it open what is run.
func (r *Reading) pattern(word string, h how) {
	if h.consumed {
		return
	}
	if len(strings.Trim(word, unclear+"./*?[]")) < 2 || len(r.patterns) >= maxPatterns {
		r.openEnded = true
		return
	}
	var b strings.Builder
	b.WriteString(`^(?:.*/)?`)
	word = strings.TrimPrefix(strings.TrimPrefix(word, "./"), unknown+"/")
	word = strings.TrimPrefix(word, given+"/")
	class := false
	for i, c := range word {
		if class { // [0-9]: any one
			class = c != ']'
			continue
		}
		switch c {
		case '[':
			if class = strings.Contains(word[i:], "]"); class {
				b.WriteString(`[^/]`)
			} else {
				b.WriteString(`\[`)
			}
		case '\x01', '\x02':
			b.WriteString(`.*`)
		case '*':
			b.WriteString(`[^/]*`)
		case '?':
			b.WriteString(`[^/]`)
		default:
			b.WriteString(regexp.QuoteMeta(string(c)))
		}
	}
	if re, err := regexp.Compile(b.String() + `$`); err == nil {
		r.patterns = append(r.patterns, re)
	}
}

// decides says whether a path that the claimed commit has otherwise than main is of
// a kind that decides, by where it is and what main's words run; stays says that it
// stays in every run all the same, because main's words ask for it.
func (r *Reading) decides(name string, mode string) (decides, stays bool) {
	dir := path.Dir(name)
	program := mode == "100755" || mode == "120000"
	switch {
	case r.isMade(name), r.pathDirs[dir] && program: // the word of the criterion means another
		return true, false
	case r.runs[name], isKind(name), r.shadows(name), r.matchesPattern(name), r.openEnded && (program || languages[path.Ext(name)] == "shell"):
		return true, false
	case r.required[name], r.usedByTests(name):
		return true, true
	case r.programDirs[dir]:
		return true, false
	}
	return false, false
}

func (r *Reading) matchesPattern(name string) bool {
	for _, re := range r.patterns {
		if re.MatchString(name) {
			return true
		}
	}
	return false
}

// isMade reports whether make would take a file, or a directory that it is in, for a
// target that needs no making any more.
func (r *Reading) isMade(name string) bool {
	for p := name; p != "."; p = path.Dir(p) {
		if r.make.targets[p] && r.base[p] == "" {
			for other := range r.base {
				if strings.HasPrefix(other, p+"/") {
					return false
				}
			}
			return true
		}
	}
	return false
}

// shadows reports whether Python would load a file in the place of a module that is
// not the project's, or of one of main's.
func (r *Reading) shadows(name string) bool {
	for p := path.Dir(name); p != "."; p = path.Dir(p) { // inside of a package that does
		if pythonNames[path.Base(p)] && r.moduleDirs[path.Dir(p)] && r.have[p+"/__init__.py"] != "" {
			return true
		}
	}
	module, dir := moduleOf(name)
	if module == "" {
		return false
	}
	if pythonNames[module] && r.moduleDirs[dir] {
		return true
	}
	for other := range r.moduleDirs { // main's module of that name, in another place where Python looks
		if r.moduleDirs[dir] && other != dir && (r.onBase(path.Join(other, module+".py")) || r.onBase(path.Join(other, module, "__init__.py"))) {
			return r.base[name] == ""
		}
	}
	plain := path.Join(dir, module+".py")
	return name != plain && r.base[plain] != "" && r.have[plain] != ""
}
