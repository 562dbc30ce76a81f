package symbols

import (
	"bytes"
	"path"
	"regexp"
	"strings"
	"sync"
)

// language is a line of the table of languages.
type language struct {
	name     string
	suffixes []string
	how      string
	read     func(f *File, data []byte) // nil: ctags alone
	// candidates are the files that a dependency may be, as the source names it; nil for
	// none.
	candidates func(from, to string) []string
	tags       bool // ctags reads it better
}

const (
	byLine = "line by line: what stands at the beginning of a line; the rest needs universal-ctags"
	byTags = "universal-ctags"
)

// how is how a file of the language was read.
func how(l *language, tagged bool) string {
	if tagged {
		return byTags
	}
	return l.how
}

var scriptSuffixes = []string{".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".tsx"}

// languages is the table of what is read, and how.
var languages = append([]language{
	{"Go", []string{".go"}, "go/parser: every declaration at the top of a file, every import", readGo, nil, false},
	{"Python", []string{".py", ".pyi"}, "by its statements: every def and class, names at the top and of classes, every import", readPython, pythonFiles, false},
	{"shell", []string{".sh", ".bash"}, "by a parser of the shell: every function, what is set at the top, every file that is read in", readShell, besideOrTop, false},
	{"JavaScript and TypeScript", scriptSuffixes, byLine, lines(
		`^(?:export +)?(?:default +)?(?:async +)?function\*? +(\w+)`, `^(?:export +)?(?:const|let|var) +(\w+) *=`,
		`^(?:export +)?(?:default +)?(?:abstract +)?(?:class|interface|type|enum) +(\w+)`,
		`(?:^import\b.*?|^export\b.* from +|\brequire\()["']([^"']+)["']`), scriptFiles, true},
	{"C and C++", []string{".c", ".h", ".cc", ".cpp", ".cxx", ".hpp", ".hh"}, byLine, lines(
		`^[A-Za-z_][\w \t*]*[ \t*](\w+)\([^;]*$`, `^#define +(\w+)`, `^(?:typedef +)?(?:struct|enum|union|class) +(\w+)`,
		`^#include +["<]([^">]+)[">]`), besideOrTop, true},
	{"Rust", []string{".rs"}, byLine, lines(
		`^(?:pub(?:\([^)]*\))? +)?(?:async +|unsafe +|const +)*fn +(\w+)`, `^(?:pub(?:\([^)]*\))? +)?(?:const|static) +(\w+)`,
		`^(?:pub(?:\([^)]*\))? +)?(?:struct|enum|trait|type|union) +(\w+)`, `^(?:pub +)?use +([\w:]+)`), nil, true},
	{"Java", []string{".java"}, byLine, lines(
		``, ``, `^(?:public +|final +|abstract +|sealed +)*(?:class|interface|enum|record) +(\w+)`, `^import +(?:static +)?([\w.*]+);`), nil, true},
}, tagsOnly...)

// lines makes a reader of patterns: functions, values, types, and
// dependencies; "" for none. They are compiled when the first file is read.
func lines(fn, value, typ, dependency string) func(*File, []byte) {
	compile := sync.OnceValue(func() (list [4]*regexp.Regexp) {
		for i, p := range []string{fn, value, typ, dependency} {
			if p != "" {
				list[i] = regexp.MustCompile(p)
			}
		}
		return list
	})
	kinds := []string{"func", "var", "type"}
	return func(f *File, data []byte) {
		patterns, n := compile(), 0
		for line := range bytes.Lines(data) {
			n++
			for i, re := range patterns {
				if re == nil || len(line) > 4096 {
					continue
				}
				m := re.FindSubmatch(line)
				if m == nil {
					continue
				}
				name := string(bytes.Join(m[1:], nil))
				if i == 3 {
					f.edge(name)
				} else {
					f.symbol(name, kinds[i], n)
				}
			}
		}
	}
}

// besideOrTop are names relative to the file and to the top.
func besideOrTop(from, to string) []string { return []string{path.Join(path.Dir(from), to), to} }

// pythonFiles are the files of a module, absolute from the top or src/, or
// relative by leading dots.
func pythonFiles(from, to string) (list []string) {
	name := strings.TrimLeft(to, ".")
	dots := len(to) - len(name)
	bases := []string{"", "src"}
	if dots > 0 {
		base := path.Dir(from)
		for range dots - 1 {
			base = path.Dir(base)
		}
		bases = []string{base}
	}
	for _, base := range bases {
		file := path.Join(base, strings.ReplaceAll(name, ".", "/"))
		list = append(list, file+".py", file+"/__init__.py")
	}
	return list
}

// scriptFiles are the files of a relative import; others come from packages.
func scriptFiles(from, to string) []string {
	if !strings.HasPrefix(to, ".") {
		return nil
	}
	file := path.Join(path.Dir(from), to)
	list := []string{file}
	for _, ext := range scriptSuffixes {
		list = append(list, file+ext, file+"/index"+ext)
	}
	return list
}
