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

// What a text puts in the place of something that another has is read where no run shows it: in Go a
// program's variables are what they are before a test's first line, the preprocessor of C leaves no
// trace of what stood for a word before, and a shell does not say which of two functions of one name it
// has.

// Put is what a text puts somewhere: by which name, and whether it stands there whatever function the
// other text has: for a word of that text (a macro, an alias) before anything reads what the text defines,
// or when something calls the function that makes it.
type Put struct {
	Name   string
	Always bool
}

// Text is what a text does with names, read once.
type Text struct {
	// Puts are what it puts in the place of what may be another's, sorted: in Go the variables of other
	// packages, "io.EOF", that it sets or has the address of; in C macros and functions, but what a source
	// has for itself; in shell functions and aliases.
	Puts []Put
	// Has are the names in it, as Puts has them, sorted: in Go those of other packages alone, in C and
	// shell those that it calls.
	Has []string
	// Settles are those for which it has functions of its own, whatever function another text puts
	// somewhere: in C a linker takes no two of one name, and in a shell the later one counts.
	Settles []string
	// ReadsLater says that a function of a shell's text reads a script: nobody knows when.
	ReadsLater bool
	// Lacks are the names that a source of Go has of its package's other files, or of what it takes in,
	// Declares those that it gives its package, each behind the package's: "calc.cases".
	Lacks, Declares []string
}

// putLanguage is a language, and how its texts are read.
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

// Putting is the language in which a file may put something in another's place, "" for none.
func Putting(name string) string { return putting[path.Ext(name)].name }

// OfAnother reports whether what a language's text puts somewhere is another's by what it is: Go has the
// other package's path in it.
func OfAnother(language string) bool { return language == goPutting.name }

// Compiles reports whether nothing of a language's program runs that lacks a name.
func Compiles(language string) bool { return language != shellPutting.name }

// Read is what the text of a file does with names, nothing in a language that Putting does not know.
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

// goTakesIn is a file of Go, and the packages that it takes in by a name.
type goTakesIn struct {
	*ast.File
	of map[string][]string
	// dots are packages whose names it has for its own, and free is what it has of them, of its own
	// package's other files, and of what it takes in.
	dots []string
	free map[*ast.Ident]bool
}

// goImports reads a file, nil for what is none. Where an import says no name, its package's is mostly the
// end of its path. If no name of the file's is that, it is another, as each import is used: it may be any
// that the file does not declare ("example.org/calc/v2", "gopkg.in/yaml.v3").
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

// variable are the packages' names that may be behind an expression, "net/http.DefaultClient" for
// `http.DefaultClient.Timeout`; none for another.
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

// cMacro matches what a text makes a macro of, in one line or more.
var cMacro = pattern.New(`(?m)^[ \t]*(?:#|%:|\?\?=)(?:[ \t]|\\\n)*define(?:[ \t]|\\\n)+([A-Za-z_]\w*)`)

// cFunction matches a function at a line's begin, with what says of what kind it is.
var cFunction = pattern.New(`(?m)^([A-Za-z_][\w \t*]*[ \t*\n])([A-Za-z_]\w*)[ \t\n]*\([^;{}]*\)[ \t\n]*\{`)

// cStatic is in a function of a source's own.
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

// cFunctions are the own ones of a text without its comments, whatever other texts define: not those of a
// macro or a condition.
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

// cDirective matches a line for the preprocessor, cSays what is no code, and cCall what is called.
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

// shellText is what parts of a word say, whatever quotes stand around them.
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
