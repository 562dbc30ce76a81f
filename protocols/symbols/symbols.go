// Package symbols reads source code and says what it declares and what it depends
// on: the two files of knowledge_core/ that an agent looks things up in before it
// plans (seed 002, phase 1). It is pure: files in, values out, the same each time.
//
// Go is read by go/parser, shell by a parser of its language, Python by its own rules for
// lines and blanks: every definition is found. Other languages are read by universal-ctags
// where that is installed, which Tagged says for each file; else line by line, with
// patterns that find what stands at the beginning of a line and miss the rest, or not at
// all. Coverage says so for each, and counts the files that nobody reads.
package symbols

import (
	"cmp"
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

// The paths of the two files.
const (
	SymbolsPath = "knowledge_core/symbols.json"
	GraphPath   = "knowledge_core/dependency_graph.json"
)

// Limits: bytes of a file that is read, symbols and edges that are kept.
const (
	MaxFile    = 1 << 20
	MaxSymbols = 200_000
	MaxEdges   = 200_000
)

// Symbols is symbols.json.
type Symbols struct {
	Coverage Coverage `json:"coverage"`
	Symbols  []Symbol `json:"symbols"` // by file, then line
}

// Symbol is a declaration.
type Symbol struct {
	Name string `json:"name"` // a method is Type.Name
	Kind string `json:"kind"` // func, method, type, const, var, class
	File string `json:"file"`
	Line int    `json:"line"`
}

// Graph is dependency_graph.json.
type Graph struct {
	Coverage Coverage `json:"coverage"`
	Edges    []Edge   `json:"edges"` // by From, then To
}

// Edge says that a file needs something.
type Edge struct {
	From string `json:"from"` // a file
	To   string `json:"to"`   // as the source names it
	// Local is the file, or for Go the directory, of this repository that To is; ""
	// for what comes from elsewhere.
	Local string `json:"local,omitzero"`
}

// Coverage says what was read and how, so that nobody takes silence for absence.
type Coverage struct {
	Languages []Language     `json:"languages"`
	Unread    map[string]int `json:"unread"` // files by suffix, "" for none
	Skipped   []Skip         `json:"skipped,omitzero"`
	Cut       bool           `json:"cut,omitzero"` // there were more symbols or edges than are kept
}

// Language is a language that was read.
type Language struct {
	Name  string `json:"name"`
	Files int    `json:"files"`
	How   string `json:"how"`
}

// Skip is a file that could not be read to its end.
type Skip struct {
	File string `json:"file"`
	Why  string `json:"why"`
}

// File is the result of reading one file. It does not depend on where the file is, so that one
// reading serves wherever the same text is met again.
type File struct {
	Symbols []Symbol `json:"symbols,omitzero"` // without File
	Needs   []string `json:"needs,omitzero"`   // as the source names them
	Module  string   `json:"module,omitzero"`  // of a go.mod
	Trouble string   `json:"trouble,omitzero"` // why it could not be read to its end
	Tagged  bool     `json:"tagged,omitzero"`  // its symbols are ctags'
}

func (f *File) symbol(name, kind string, line int) {
	if name != "_" {
		f.Symbols = append(f.Symbols, Symbol{Name: valid(name), Kind: kind, Line: line})
	}
}

func (f *File) edge(to string) { f.Needs = append(f.Needs, to) }

// Version changes whenever Read's result for a text does.
const Version = 2

// Read reads the text of a file at a path that Wants has.
func Read(p string, data []byte) *File {
	f := new(File)
	switch lang := languageOf(p); {
	case path.Base(p) == "go.mod":
		f.Module = moduleOf(data)
	case len(data) > MaxFile:
		f.Trouble = "it is larger than what is read"
	case lang != nil && lang.read != nil:
		lang.read(f, data)
	}
	return f
}

// Builder collects files; Put them in any order.
type Builder struct {
	symbols []Symbol
	edges   []Edge
	files   map[string]bool // all paths, for what imports mean
	counts  map[string]int  // by language, and how it was read
	cover   Coverage
	modules []module
}

// NewBuilder makes a Builder for a tree with those paths.
func NewBuilder(paths []string) *Builder {
	b := &Builder{files: map[string]bool{}, counts: map[string]int{}, cover: Coverage{Unread: map[string]int{}}}
	for _, p := range paths {
		b.files[p] = true
	}
	return b
}

// Wants reports whether Read reads files like that one.
func Wants(p string) bool {
	lang := languageOf(p)
	return p != SymbolsPath && p != GraphPath && (lang != nil && lang.read != nil || path.Base(p) == "go.mod")
}

// Put adds a file that was read, nil where nobody reads its kind.
func (b *Builder) Put(p string, f *File) {
	lang := languageOf(p)
	switch {
	case !utf8.ValidString(p):
		b.Skip(p, "its name is not UTF-8")
		return
	case p == SymbolsPath || p == GraphPath: // they are made of the rest
		return
	case f == nil || lang == nil && f.Module == "":
		b.cover.Unread[path.Ext(p)]++
		return
	}
	if f.Trouble != "" {
		b.Skip(p, f.Trouble)
	}
	if f.Module != "" {
		b.module(p, f.Module)
	}
	for _, s := range f.Symbols {
		s.File = p
		b.symbols = append(b.symbols, s)
	}
	for _, to := range f.Needs {
		b.edges = append(b.edges, Edge{From: p, To: to})
	}
	if lang != nil {
		b.counts[lang.name+how(lang, f.Tagged)]++
	}
}

// Skip notes a file that could not be read.
func (b *Builder) Skip(p, why string) {
	b.cover.Skipped = append(b.cover.Skipped, Skip{valid(p), valid(why)})
}

// valid is text that JSON can hold: names in git and in sources are bytes.
func valid(s string) string { return strings.ToValidUTF8(s, "\ufffd") }

// Build is what was collected, sorted.
func (b *Builder) Build() (*Symbols, *Graph) {
	for i := range b.edges {
		b.edges[i].Local = valid(b.local(b.edges[i]))
		b.edges[i].To = valid(b.edges[i].To)
	}
	slices.SortFunc(b.symbols, func(x, y Symbol) int {
		return cmp.Or(cmp.Compare(x.File, y.File), cmp.Compare(x.Line, y.Line), cmp.Compare(x.Name, y.Name))
	})
	slices.SortFunc(b.edges, func(x, y Edge) int { return cmp.Or(cmp.Compare(x.From, y.From), cmp.Compare(x.To, y.To)) })
	b.edges = slices.Compact(b.edges)
	for _, l := range languages {
		for _, tagged := range []bool{false, true} {
			if how := how(&l, tagged); b.counts[l.name+how] > 0 {
				b.cover.Languages = append(b.cover.Languages, Language{l.name, b.counts[l.name+how], how})
				delete(b.counts, l.name+how)
			}
		}
	}
	slices.SortFunc(b.cover.Skipped, func(x, y Skip) int { return cmp.Compare(x.File, y.File) })
	s := &Symbols{b.cover, b.symbols[:min(len(b.symbols), MaxSymbols)]}
	g := &Graph{b.cover, b.edges[:min(len(b.edges), MaxEdges)]}
	s.Coverage.Cut, g.Coverage.Cut = len(b.symbols) > MaxSymbols, len(b.edges) > MaxEdges
	return s, g
}

// local is what an edge leads to in this repository, "" for nothing.
func (b *Builder) local(e Edge) string {
	lang := languageOf(e.From)
	if lang.name == "Go" {
		return b.goFolder(e.To)
	}
	if lang.candidates == nil {
		return ""
	}
	for _, candidate := range lang.candidates(e.From, e.To) {
		if candidate = path.Clean(candidate); b.files[candidate] && candidate != e.From {
			return candidate
		}
	}
	return ""
}

func languageOf(p string) *language {
	ext := strings.ToLower(path.Ext(p))
	for i := range languages {
		if slices.Contains(languages[i].suffixes, ext) {
			return &languages[i]
		}
	}
	return nil
}
