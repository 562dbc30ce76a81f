package deciding

import (
	"maps"
	"path"
	"slices"
	"strings"

	"git-ward/internal/pattern"
)

// maxTests bounds how many of main's tests are read for what they compare with.
const maxTests = 2000

// sources are ends of the names of programs' texts: the work, as far as no other
// rule says otherwise. documents are for people.
var (
	sources = set(`.go .py .js .mjs .cjs .jsx .ts .mts .tsx .rs .c .cc .cpp .cxx .h .hh .hpp .java .kt .scala .rb .php .pl .pm .lua .cs .fs .swift .dart .ex .exs
		.erl .hs .ml .mli .clj .jl .r .nim .zig .v .d .vue .svelte .css .scss .sql .proto .udc`)
	documents = set(`.md .rst .adoc .html .htm .tex .org`)
	// helperName is for names of what only tests are made with.
	helperName   = pattern.New(`(?i)^(?:(?:test|mock|fake|stub)[^/]*|.*(?:helpers?|asserts?|assertions?|expects?|fakes?|mocks?|stubs?|checks|matchers?|tests?|testing))$`)
	goTestImport = pattern.New(`(?m)^\s*(?:import\s+)?(?:[\w.]+\s+)?"([\w.~/-]+)"`)
	embeds       = pattern.New(`(?m)^//go:embed[ \t]+(.+)$`)
	generates    = pattern.New(`(?m)^//go:generate[ \t]+(.+)$`)
)

// mainTests are what main's tests use.
type mainTests struct {
	data    map[string]bool // what they read or speak of: named, and not left out
	helpers map[string]bool // modules that they import, without the end of their names
	lost    map[string]bool // files in which they stand no more
}

// readTests reads main's tests, which are as main has them, for what they compare with
// and are helped by: data that they name, and helpers that they import. Whether one is
// the work no text says: it stays, and is named.
func (r *Reading) readTests() {
	left := maxTests
	for _, name := range slices.Sorted(maps.Keys(r.base)) {
		ext := path.Ext(name)
		if !sources[ext] || !r.Pinned(name) && !isKind(name) {
			continue
		}
		text, ok := r.read(name)
		if left--; left < 0 || r.err != nil {
			return
		}
		if !ok {
			continue
		}
		at := path.Dir(name)
		for _, m := range quoted.FindAllStringSubmatch(text, -1) {
			r.noteTestData(at, m[1])
		}
		for _, m := range embeds.FindAllStringSubmatch(text, -1) {
			for _, word := range strings.Fields(m[1]) {
				r.noteTestData(at, strings.TrimPrefix(strings.Trim(word, "\"`"), "all:"))
			}
		}
		r.helpers(at, ext, text)
	}
}

// noteTestData notes data that a text beside it names.
func (r *Reading) noteTestData(at, word string) {
	for _, dir := range []string{".", at} {
		p := path.Join(dir, word)
		if word == "" || path.IsAbs(word) || p == "." || strings.HasPrefix(p, "..") {
			continue
		}
		r.tests.data[strings.TrimSuffix(strings.TrimRight(p, "*"), "/")] = true
	}
}

// helpers notes the modules that a test imports, if they have the name of what tests
// are made with.
func (r *Reading) helpers(at, ext, text string) {
	note := func(stem string) {
		if helperName.MatchString(path.Base(stem)) {
			r.tests.helpers[stem] = true
		}
	}
	switch ext {
	case ".go":
		for _, m := range goTestImport.FindAllStringSubmatch(text, -1) {
			for rest := m[1]; rest != ""; _, rest, _ = strings.Cut(rest, "/") {
				if rest != at && helperName.MatchString(path.Base(rest)) {
					r.tests.helpers[rest] = true
				}
			}
		}
	case ".py":
		for _, m := range pythonImport.FindAllStringSubmatch(text, -1) {
			for _, module := range strings.FieldsFunc(m[2]+","+m[4], func(c rune) bool { return c == ',' || c == ' ' }) {
				stem := strings.ReplaceAll(strings.TrimLeft(module, "."), ".", "/")
				for dir := range r.moduleDirs {
					note(path.Join(dir, stem))
				}
				note(path.Join(at, stem))
			}
		}
	default:
		for _, m := range otherImport.FindAllStringSubmatch(text, -1) {
			p := path.Join(at, m[2])
			note(strings.TrimSuffix(p, path.Ext(p)))
			r.noteImportedData(p)
		}
	}
}

// noteImportedData notes a file that a test imports and that is no program.
func (r *Reading) noteImportedData(p string) {
	if ext := path.Ext(p); ext != "" && !sources[ext] {
		r.tests.data[p] = true
	}
}

// usedByTests reports whether main's tests name a path of main's as data, or import it
// as a helper.
func (r *Reading) usedByTests(name string) bool {
	if r.base[name] == "" {
		return false
	}
	ext := path.Ext(name)
	stem := strings.TrimSuffix(name, ext)
	if sources[ext] {
		return r.tests.helpers[stem] || r.tests.helpers[path.Dir(name)] || r.tests.lost[name]
	}
	base := strings.ToLower(path.Base(stem))
	if documents[ext] || base == "license" || base == "readme" || base == "changelog" {
		return false
	}
	for p := name; p != "."; p = path.Dir(p) {
		if r.tests.data[p] {
			return true
		}
	}
	return false
}

// readGenerate reads what `go generate` runs: the lines in main's files. A file whose lines
// the claimed commit has otherwise decides.
func (r *Reading) readGenerate(h how) {
	if r.generated {
		return
	}
	r.generated = true
	left := maxTests
	for _, name := range slices.Sorted(maps.Keys(r.base)) {
		if path.Ext(name) != ".go" {
			continue
		}
		text, ok := r.read(name)
		if left--; left < 0 || r.err != nil {
			r.openEnded = r.openEnded || left < 0
			return
		}
		lines := generates.FindAllStringSubmatch(text, -1)
		if !ok || len(lines) == 0 {
			continue
		}
		for _, m := range lines {
			r.script(m[1], name, how{level: h.level + 1, consumed: h.consumed}, []string{path.Dir(name)})
		}
		if r.have[name] != r.base[name] && !slices.Equal(findAll(generates, text), findAll(generates, r.claimedText(name))) {
			r.runs[name] = true
		}
	}
}

// claimedText is a text of the claimed commit's; "" where there is none.
func (r *Reading) claimedText(name string) string {
	mode, id, _ := strings.Cut(r.have[name], " ")
	if id == "" || mode == "160000" {
		return ""
	}
	data, err := r.blobs(id, MaxText)
	if err != nil {
		return ""
	}
	return string(data)
}

func findAll(re *pattern.Pattern, text string) []string { return re.FindAllString(text, -1) }

// inline are tests that stand in the text of the work: Rust's, and Python's doctests.
var inline = map[string]*pattern.Pattern{
	".rs": pattern.New(`(?ms)^[ \t]*#\[cfg\(test\)\].*`),
	".py": pattern.New(`(?m)^[ \t]*>>> .*\n.*`),
}

// findLostTests notes each file that the claimed commit changes and in which main's tests
// stand no more as main has them.
func (r *Reading) findLostTests() {
	for name, entry := range r.base {
		re := inline[path.Ext(name)]
		if re == nil || r.have[name] == entry {
			continue
		}
		before, ok := r.read(name)
		if !ok {
			continue
		}
		now := r.claimedText(name)
		for _, test := range findAll(re, before) {
			if !strings.Contains(now, strings.TrimSpace(test)) {
				r.tests.lost[name] = true
			}
		}
	}
}
