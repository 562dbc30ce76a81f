package broken

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"git-ward/internal/pattern"
)

// Where no run can show that one text replaces something that another uses, the texts are read: Go
// initializes variables before a test's first line, C's preprocessor leaves no trace of what a word
// stood for, and a shell does not say which of two functions of one name it has.

// Put is something that a text replaces, by its name. Always: it replaces the other text's own function
// of that name, too, as a macro or an alias does, or a function that defines it when it is called.
type Put struct {
	Name   string
	Always bool
}

// Text says how a text uses names.
type Text struct {
	// Puts are what it may replace for others, sorted: in Go the variables of other packages, "io.EOF",
	// that it sets or takes the address of; in C macros and functions, except static ones; in shell
	// functions and aliases.
	Puts []Put
	// Has are the names that it uses, spelled as in Puts, sorted: in Go those of other packages, in C and
	// shell those that it calls.
	Has []string
	// Settles are those that it defines itself, which another text's function cannot replace: C's linker
	// refuses two of one name, and in a shell the later one counts.
	Settles []string
	// ReadsLater says that a shell function sources a script, so that nobody knows when that happens.
	ReadsLater bool
	// Lacks are the names that a Go source uses and does not declare: another file of its package has
	// them, or a dot import. Declares are those that it declares for its package. Both are qualified by
	// the package: "calc.cases".
	Lacks, Declares []string
}

// putLanguage is a language with its reader.
type putLanguage struct {
	name string
	read func(name, text string) Text
}

var (
	goPutting    = putLanguage{"go", goRead}
	cPutting     = putLanguage{"c", cRead}
	shellPutting = putLanguage{"shell", shellRead}
	putting      = map[string]putLanguage{".go": goPutting, ".c": cPutting, ".h": cPutting, ".sh": shellPutting, ".bash": shellPutting}
)

// Putting returns the language of a file that Read can read, "" for another.
func Putting(name string) string { return putting[path.Ext(name)].name }

// OfAnother reports whether a name alone shows that it is another's: Go's has the other package's path.
func OfAnother(language string) bool { return language == goPutting.name }

// Compiles reports whether a program in a language does not run at all if a name is missing.
func Compiles(language string) bool { return language != shellPutting.name }

// Read reads how the text of a file uses names. It returns nothing for a language that Putting does
// not know.
func Read(name, text string) Text {
	p := putting[path.Ext(name)]
	if p.read == nil {
		return Text{}
	}
	all := p.read(name, text)
	slices.SortFunc(all.Puts, func(a, b Put) int { return strings.Compare(a.Name, b.Name) })
	slices.Sort(all.Has)
	all.Puts, all.Has = slices.Compact(all.Puts), slices.Compact(all.Has)
	return all
}

// goTakesIn is a Go file, with the packages that it imports by each name.
type goTakesIn struct {
	*ast.File
	of map[string][]string
	// dots are its dot imports. free are the identifiers that it does not declare: those of dot imports, of
	// the package's other files, and of imports.
	dots []string
	free map[*ast.Ident]bool
}

// goImports parses a file; nil if it is not Go. An import without a name usually has that of the end of
// its path. If the file does not use that name, the import has another, because Go refuses an unused
// import: it may be any that the file does not declare ("example.org/calc/v2", "gopkg.in/yaml.v3").
func goImports(text string) *goTakesIn {
	file, err := parser.ParseFile(token.NewFileSet(), "", text, 0)
	if err != nil {
		return nil
	}
	f, used := &goTakesIn{File: file, of: map[string][]string{}, free: map[*ast.Ident]bool{}}, map[string]bool{}
	for _, id := range file.Unresolved {
		f.free[id] = types.Universe.Lookup(id.Name) == nil
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if id, ok := n.X.(*ast.Ident); ok && f.free[id] {
				used[id.Name] = true
			}
		case *ast.KeyValueExpr: // a field of a struct's
			if id, ok := n.Key.(*ast.Ident); ok {
				f.free[id] = false
			}
		}
		return true
	})
	var others []string
	for _, i := range file.Imports {
		from, err := strconv.Unquote(i.Path.Value)
		switch name := path.Base(from); {
		case err != nil:
		case i.Name != nil && i.Name.Name == ".":
			f.dots = append(f.dots, from)
		case i.Name != nil:
			f.of[i.Name.Name] = []string{from}
		case used[name]:
			f.of[name] = []string{from}
		default:
			others = append(others, from)
		}
	}
	for name := range used {
		if f.of[name] == nil {
			f.of[name] = others
		}
	}
	return f
}

// variable lists the package variables that an expression may refer to, "net/http.DefaultClient" for
// `http.DefaultClient.Timeout`.
func (f *goTakesIn) variable(e ast.Expr) (names []string) {
	add := func(packages []string, name string) {
		for _, from := range packages {
			names = append(names, from+"."+name)
		}
	}
	for {
		switch x := e.(type) {
		case *ast.ParenExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.TypeAssertExpr:
			e = x.X
		case *ast.SelectorExpr:
			if id, ok := x.X.(*ast.Ident); ok && f.free[id] && f.of[id.Name] != nil {
				add(f.of[id.Name], x.Sel.Name)
				return names
			}
			e = x.X
		case *ast.Ident:
			if f.free[x] && f.of[x.Name] == nil {
				add(f.dots, x.Name)
			}
			return names
		default:
			return nil
		}
	}
}

func goRead(_, text string) (all Text) {
	file := goImports(text)
	if file == nil {
		return all
	}
	for id, is := range file.free {
		if is {
			all.Lacks = append(all.Lacks, file.Name.Name+"."+id.Name)
		}
	}
	for name := range file.Scope.Objects {
		all.Declares = append(all.Declares, file.Name.Name+"."+name)
	}
	put := func(set ...ast.Expr) {
		for _, e := range set {
			for _, v := range file.variable(e) {
				all.Puts = append(all.Puts, Put{Name: v})
			}
		}
	}
	ast.Inspect(file.File, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			put(n.Lhs...)
		case *ast.IncDecStmt:
			put(n.X)
		case *ast.RangeStmt:
			put(n.Key, n.Value)
		case *ast.UnaryExpr:
			if n.Op == token.AND {
				put(n.X)
			}
		case *ast.SelectorExpr:
			all.Has = append(all.Has, file.variable(n)...)
		case *ast.Ident:
			all.Has = append(all.Has, file.variable(n)...)
		}
		return true
	})
	return all
}

// cMacro matches the definition of a macro, up to its name.
var cMacro = pattern.New(`(?m)^[ \t]*(?:#|%:|\?\?=)(?:[ \t]|\\\n)*define(?:[ \t]|\\\n)+([A-Za-z_]\w*)`)

// cFunction matches a function that begins a line, with its type.
var cFunction = pattern.New(`(?m)^([A-Za-z_][\w \t*]*[ \t*\n])([A-Za-z_]\w*)[ \t\n]*\([^;{}]*\)[ \t\n]*\{`)

// cStatic matches the word that keeps a function to its source.
var cStatic = pattern.New(`\bstatic\b`)

func cRead(name, text string) (all Text) {
	for _, m := range cMacro.FindAllStringSubmatch(text, -1) {
		all.Puts = append(all.Puts, Put{m[1], true})
	}
	for _, m := range cFunction.FindAllStringSubmatch(text, -1) {
		if path.Ext(name) == ".h" || !cStatic.MatchString(m[1]) {
			all.Puts = append(all.Puts, Put{Name: m[2]})
		}
	}
	text = cSays.ReplaceAllString(text, " ")
	for _, m := range cCall.FindAllStringSubmatch(text, -1) {
		all.Has = append(all.Has, m[1])
	}
	all.Settles = cFunctions(text)
	return all
}

// cFunctions lists the functions that a text without comments defines in any case, not within a macro
// or a condition.
func cFunctions(text string) (names []string) {
	own, end, depth := "", 0, 0
	for _, at := range append(cDirective.Regexp().FindAllStringSubmatchIndex(text, -1), []int{len(text), len(text), 0, 0}) {
		if depth == 0 {
			own += text[end:at[0]] + ";" // so that nothing goes on behind it
		}
		switch word := text[at[2]:at[3]]; {
		case strings.HasPrefix(word, "if"):
			depth++
		case word == "endif":
			depth--
		}
		end = at[1]
	}
	for _, m := range cFunction.FindAllStringSubmatch(own, -1) {
		names = append(names, m[2])
	}
	return names
}

// cDirective matches a line for the preprocessor, cSays comments and strings, and cCall a call.
var (
	cDirective = pattern.New(`(?m)^[ \t]*(?:#|%:|\?\?=)(?:[ \t]|\\\n)*(\w*)(?:\\\n|[^\n])*`)
	cSays      = pattern.New(`//[^\n]*|/\*(?s:.*?)\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'`)
	cCall      = pattern.New(`([A-Za-z_]\w*)[ \t\n]*\(`)
)

func shellRead(name, text string) (all Text) {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), name)
	if err != nil {
		return all // no script
	}
	outer := uint(0) // the end of the function that others stand in
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.FuncDecl:
			all.Puts = append(all.Puts, Put{n.Name.Value, n.Pos().Offset() < outer})
			outer = max(outer, n.End().Offset())
			all.Settles = append(all.Settles, n.Name.Value)
			all.ReadsLater = all.ReadsLater || shellReads(n.Body)
		case *syntax.CallExpr:
			if len(n.Args) > 0 {
				all.Has = append(all.Has, n.Args[0].Lit())
			}
			if len(n.Args) > 1 && n.Args[0].Lit() == "alias" {
				for _, a := range n.Args[1:] {
					of, _, _ := strings.Cut(shellText(a.Parts), "=")
					all.Puts = append(all.Puts, Put{of, true})
				}
			}
			if readsScript(n) {
				all.Settles = nil // those before it: what it reads may have others
			}
		}
		return true
	})
	return all
}

// shellText returns a word without its quotes.
func shellText(parts []syntax.WordPart) (text string) {
	for _, part := range parts {
		switch p := part.(type) {
		case *syntax.Lit:
			text += p.Value
		case *syntax.SglQuoted:
			text += p.Value
		case *syntax.DblQuoted:
			text += shellText(p.Parts)
		}
	}
	return text
}
