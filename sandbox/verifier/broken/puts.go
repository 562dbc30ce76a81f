package broken

import (
	"go/ast"
	"go/parser"
	"go/token"
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

// putLanguage is how one language's texts say what they put somewhere, which names they have, and what of
// those they settle.
type putLanguage struct {
	name    string
	puts    func(name, text string) []Put
	has     func(name, text string) []string
	settles func(name, text string) []string
}

var (
	goPutting    = putLanguage{"go", goPuts, goNames, nil}
	cPutting     = putLanguage{"c", cPuts, cCalls, cFunctions}
	shellPutting = putLanguage{"shell", shellPuts, shellCalls, shellSettles}
	putting      = map[string]putLanguage{".go": goPutting, ".c": cPutting, ".h": cPutting, ".sh": shellPutting, ".bash": shellPutting}
)

// Putting is the language in which a file may put something in another's place, "" for none.
func Putting(name string) string { return putting[path.Ext(name)].name }

// OfAnother reports whether what a language's text puts somewhere is another's by what it is: Go has the
// other package's path in it.
func OfAnother(language string) bool { return language == goPutting.name }

// Compiles reports whether nothing of a language's program runs that lacks a name.
func Compiles(language string) bool { return language != shellPutting.name }

// Puts are what a text puts in the place of what may be another's: in Go the variables of other packages,
// "io.EOF", that it sets or has the address of; in C macros and functions, but what a source has for
// itself; in shell functions and aliases.
func Puts(name, text string) []Put {
	p := putting[path.Ext(name)]
	if p.puts == nil {
		return nil
	}
	puts := p.puts(name, text)
	slices.SortFunc(puts, func(a, b Put) int { return strings.Compare(a.Name, b.Name) })
	return slices.Compact(puts)
}

// Settles are the names for which a text has functions of its own, whatever function another text puts
// somewhere: in C a linker takes no two of one name, and in a shell the later one counts.
func Settles(name, text string) []string {
	if p := putting[path.Ext(name)]; p.settles != nil {
		return p.settles(name, text)
	}
	return nil
}

// Mentions are the names that a text has, as Puts calls what it finds: in Go those of other packages alone,
// in C and shell those that it calls.
func Mentions(name, text string) []string {
	if p := putting[path.Ext(name)]; p.has != nil {
		return distinct(p.has(name, text))
	}
	return nil
}

func distinct(all []string) []string {
	slices.Sort(all)
	return slices.Compact(all)
}

// goImports is a file of Go, and the packages that it takes in, each by the name that it has there.
func goImports(text string) (file *ast.File, of map[string]string) {
	file, err := parser.ParseFile(token.NewFileSet(), "", text, parser.SkipObjectResolution)
	if err != nil {
		return nil, nil
	}
	of = map[string]string{}
	for _, i := range file.Imports {
		from, err := strconv.Unquote(i.Path.Value)
		if err != nil {
			continue
		}
		name := path.Base(from)
		if i.Name != nil {
			name = i.Name.Name
		}
		of[name] = from
	}
	return file, of
}

// goVariable is the package's name behind an expression, "net/http.DefaultClient" for
// `http.DefaultClient.Timeout`; "" for another.
func goVariable(of map[string]string, e ast.Expr) string {
	for {
		switch x := e.(type) {
		case *ast.ParenExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.SelectorExpr:
			if id, ok := x.X.(*ast.Ident); ok {
				if from := of[id.Name]; from != "" {
					return from + "." + x.Sel.Name
				}
				return ""
			}
			e = x.X
		default:
			return ""
		}
	}
}

func goPuts(_, text string) (puts []Put) {
	file, of := goImports(text)
	if file == nil {
		return nil
	}
	put := func(all ...ast.Expr) {
		for _, e := range all {
			if v := goVariable(of, e); v != "" {
				puts = append(puts, Put{Name: v})
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
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
		}
		return true
	})
	return puts
}

func goNames(_, text string) (names []string) {
	file, of := goImports(text)
	if file == nil {
		return nil
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if x, ok := n.(*ast.SelectorExpr); ok {
			if v := goVariable(of, x); v != "" {
				names = append(names, v)
			}
		}
		return true
	})
	return names
}

// cMacro matches what a text makes a macro of, in one line or more.
var cMacro = pattern.New(`(?m)^[ \t]*(?:#|%:|\?\?=)(?:[ \t]|\\\n)*define(?:[ \t]|\\\n)+([A-Za-z_]\w*)`)

// cFunction matches a function at a line's begin, with what says of what kind it is.
var cFunction = pattern.New(`(?m)^([A-Za-z_][\w \t*]*[ \t*\n])([A-Za-z_]\w*)[ \t\n]*\([^;{}]*\)[ \t\n]*\{`)

// cStatic is in a function of a source's own.
var cStatic = pattern.New(`\bstatic\b`)

func cPuts(name, text string) (puts []Put) {
	for _, m := range cMacro.FindAllStringSubmatch(text, -1) {
		puts = append(puts, Put{m[1], true})
	}
	for _, m := range cFunction.FindAllStringSubmatch(text, -1) {
		if path.Ext(name) == ".h" || !cStatic.MatchString(m[1]) {
			puts = append(puts, Put{Name: m[2]})
		}
	}
	return puts
}

// cFunctions are a text's own, whatever other texts define: not those of a comment, a macro or a condition.
func cFunctions(_, text string) (names []string) {
	text = cSays.ReplaceAllString(text, " ")
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

func cCalls(_, text string) (calls []string) {
	for _, m := range cCall.FindAllStringSubmatch(cSays.ReplaceAllString(text, " "), -1) {
		calls = append(calls, m[1])
	}
	return calls
}

// shellFile is a script, nil for what is none.
func shellFile(name, text string) *syntax.File {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), name)
	if err != nil {
		return nil
	}
	return file
}

func shellPuts(name, text string) (puts []Put) {
	file := shellFile(name, text)
	if file == nil {
		return nil
	}
	outer := uint(0) // the end of the function that others stand in
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.FuncDecl:
			puts = append(puts, Put{n.Name.Value, n.Pos().Offset() < outer})
			outer = max(outer, n.End().Offset())
		case *syntax.CallExpr:
			if len(n.Args) > 1 && n.Args[0].Lit() == "alias" {
				for _, a := range n.Args[1:] {
					of, _, _ := strings.Cut(shellText(a.Parts), "=")
					puts = append(puts, Put{of, true})
				}
			}
		}
		return true
	})
	return puts
}

// ReadsLater reports whether a function of a shell's text reads a script: nobody knows when.
func ReadsLater(name, text string) (later bool) {
	if Putting(name) != shellPutting.name {
		return false
	}
	if file := shellFile(name, text); file != nil {
		syntax.Walk(file, func(n syntax.Node) bool {
			of, ok := n.(*syntax.FuncDecl)
			later = later || ok && shellReads(of.Body)
			return true
		})
	}
	return later
}

// shellSettles are the functions behind the last script that a script reads.
func shellSettles(name, text string) (names []string) {
	file := shellFile(name, text)
	if file == nil {
		return nil
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		if of, ok := n.(*syntax.FuncDecl); ok {
			names = append(names, of.Name.Value)
		} else if readsScript(n) {
			names = nil
		}
		return true
	})
	return names
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

func shellCalls(name, text string) (calls []string) {
	file := shellFile(name, text)
	if file == nil {
		return nil
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		if call, ok := n.(*syntax.CallExpr); ok && len(call.Args) > 0 {
			calls = append(calls, call.Args[0].Lit())
		}
		return true
	})
	return calls
}
