package broken

import (
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"strconv"
	"strings"

	"git-ward/internal/pattern"
)

// A loop of a test's own body says its name as a row does when it begins a round, and when it has
// ended one and its test has not failed by then. Over a table that the work emptied it begins none;
// one that finds at once what it looks for ends none. Over what should be empty each round fails.
// Loops that wait for something have no such round to count.

// Begins is what stands behind a loop's name where it begins a round.
const Begins = " begins a round"

// aRound stands in a loop's name.
const aRound = ": the loop in line "

// round is how a loop is named, by the line that it begins in.
func round(test, text string, at int) string {
	return fmt.Sprintf("%s%s%d", test, aRound, 1+strings.Count(text[:at], "\n"))
}

// says is what a loop says by its name, in Python and JavaScript: in two parts, as a runner shows the
// line of a failure, and that is no round.
func (m mark) says(name string) string { return fmt.Sprintf("%q + %q", m.word, m.row()+name) }

// goRounds are what a test's loops say before their first statement and behind their last. The test
// may have another thing by its parameter's name where they stand, and run them side by side.
func goRounds(f *ast.FuncDecl, parameter, text string, at func(token.Pos) int, m mark) (edits []edit) {
	var names []string
	ast.Inspect(f.Body, func(n ast.Node) bool {
		var body *ast.BlockStmt
		switch loop := n.(type) {
		case *ast.RangeStmt:
			body = loop.Body
		case *ast.ForStmt:
			if loop.Init == nil || loop.Post == nil { // it waits
				return true
			}
			body = loop.Body
		default:
			return true
		}
		name := round(f.Name.Name, text, at(n.Pos()))
		says := func(what string, at int) {
			edits = append(edits, edit{at, at, fmt.Sprintf("\nwardRound(%d)\n", len(names))})
			names = append(names, strconv.Quote(name+what))
		}
		says(Begins, at(body.Lbrace)+1)
		says("", at(body.Rbrace))
		return true
	})
	if len(names) == 0 {
		return nil
	}
	brace := at(f.Body.Lbrace) + 1
	return append(edits, edit{brace, brace, fmt.Sprintf(`
	wardNames, wardFailed := [...]string{%[1]s}, %[2]s.Failed
	var wardRounds [len(wardNames)]int32
	wardRound := func(wardI int) {
		if wardAtomic.LoadInt32(&wardRounds[wardI]) == 0 && !wardFailed() && wardAtomic.CompareAndSwapInt32(&wardRounds[wardI], 0, 1) {
			%[3]s
		}
	}
`, strings.Join(names, ", "), parameter, goTells(m, fmt.Sprintf("%q + wardNames[wardI]", m.row())))})
}

// pythonRounds put something around what the loops of a test go through, in comprehensions, too, that
// says so when a round is asked for, and a second one.
func pythonRounds(name, text string, from, to int, m mark) (edits []edit) {
	for at := from; at < to; {
		next := skipText(text, at, '#')
		if next == at && wordAt(text, at, "for") && !strings.HasSuffix(strings.TrimRight(text[from:at], " \t"), "async") {
			if of, ends := pythonLoop(text, at+len("for"), to); ends > 0 {
				edits = append(edits, edit{of, of, "wardRounds(" + m.says(round(name, text, at)) + ")(("}, edit{ends, ends, "))"})
			}
		}
		at = max(next, at+1)
	}
	return edits
}

// pythonLoop is where what a loop goes through begins and ends, behind its first word; 0 where that
// is not seen.
func pythonLoop(text string, at, to int) (of, ends int) {
	for depth := 0; at < to; {
		if next := skipText(text, at, '#'); next > at {
			at = next
			continue
		}
		switch c := text[at]; {
		case strings.IndexByte("([{", c) >= 0:
			depth++
		case strings.IndexByte(")]}", c) >= 0 && depth > 0:
			depth--
		case depth > 0:
		case of == 0 && wordAt(text, at, "in"):
			at += len("in")
			of = at
			for of < to && (text[of] == ' ' || text[of] == '\t') {
				of++
			}
			at = of
			continue
		case of > 0 && (strings.IndexByte(":)]}\n", c) >= 0 || wordAt(text, at, "if") || wordAt(text, at, "for") || wordAt(text, at, "async")):
			for at > of && strings.IndexByte(" \t\n", text[at-1]) >= 0 {
				at--
			}
			if at == of {
				return 0, 0
			}
			return of, at
		case strings.IndexByte(":)]}", c) >= 0:
			return 0, 0
		}
		at++
	}
	return 0, 0
}

// wordAt reports whether a word stands at a place.
func wordAt(text string, at int, word string) bool {
	part := func(i int) bool {
		return i >= 0 && i < len(text) && (text[i] == '_' || text[i] == '.' || '0' <= text[i] && text[i] <= '9' || 'a' <= text[i] && text[i] <= 'z' || 'A' <= text[i] && text[i] <= 'Z' || text[i] >= 0x80)
	}
	return strings.HasPrefix(text[at:], word) && !part(at-1) && !part(at+len(word))
}

// skipText is where a string or a comment ends that begins at a place; the place for neither.
func skipText(text string, at int, comment byte) int {
	rest, quotes := text[at:], ""
	switch c := text[at]; {
	case c == comment && comment == '#', comment == '/' && strings.HasPrefix(rest, "//"):
		line, _, _ := strings.Cut(rest, "\n")
		return at + len(line)
	case comment == '/' && strings.HasPrefix(rest, "/*"):
		said, _, _ := strings.Cut(rest, "*/")
		return min(at+len(said)+2, len(text))
	case c == '"' || c == '\'' || c == '`' && comment == '/':
		quotes = rest[:1]
		if triple := strings.Repeat(quotes, 3); comment == '#' && strings.HasPrefix(rest, triple) {
			quotes = triple
		}
	default:
		return at
	}
	for i := len(quotes); i < len(rest); i++ {
		switch {
		case rest[i] == '\\':
			i++
		case strings.HasPrefix(rest[i:], quotes):
			return at + i + len(quotes)
		}
	}
	return len(text)
}

// javaScriptLoop is where a loop over something begins, and javaScriptEach a call for each of it.
var (
	javaScriptLoop = pattern.New(`\bfor[ \t]*\([ \t]*(?:const|let|var)[ \t]+(?:\w+|\[[^\]\n]*\]|\{[^}\n]*\})[ \t]+of[ \t]+`)
	javaScriptEach = pattern.New(`(^|[^\w.$)\]])([\w$]+(?:\.[\w$]+)*)\.forEach\(`)
)

// javaScriptRounds is what loops are given to.
const javaScriptRounds = `
function wardRounds(said) {
	const told = {};
	const tell = (what) => { if (!told[what]) %[1]s(said + what); told[what] = true; };
	const begins = () => tell(%[2]q), ends = () => tell('');
	return {
		of: function* (all) { for (const one of all) { begins(); yield one; ends(); } },
		each: (all, f, ...more) => all.forEach(function (...had) { begins(); const gives = f.apply(this, had); ends(); return gives; }, ...more),
	};
}
`

// javaScriptLoops have the loops of a test's own text say so.
func javaScriptLoops(name, text string, from, to int, m mark) (edits []edit) {
	rounds := func(at int) string { return "wardRounds(" + m.says(round(name, text, at)) + ")" }
	for _, found := range javaScriptLoop.Regexp().FindAllStringIndex(text[from:to], -1) {
		at, of := from+found[0], from+found[1]
		if ends := closing(text, of, to); ends > of {
			edits = append(edits, edit{of, of, rounds(at) + ".of("}, edit{ends, ends, ")"})
		}
	}
	for _, found := range javaScriptEach.Regexp().FindAllStringSubmatchIndex(text[from:to], -1) {
		at := from + found[4]
		edits = append(edits, edit{at, from + found[1], rounds(at) + ".each(" + text[at:from+found[5]] + ", "})
	}
	return edits
}

// closing is where a bracket closes that nothing behind a place opened; 0 for nowhere.
func closing(text string, at, to int) int {
	for depth := 0; at < to; {
		if next := skipText(text, at, '/'); next > at {
			at = next
			continue
		}
		switch c := text[at]; {
		case strings.IndexByte("([{", c) >= 0:
			depth++
		case strings.IndexByte(")]}", c) >= 0:
			if depth == 0 {
				return at
			}
			depth--
		}
		at++
	}
	return 0
}

// aLoop matches a loop, in which a test may have rows.
var aLoop = pattern.New(`\bfor\b|\.forEach\(`)

// MayRow reports whether a file's tests may have rows, or loops.
func MayRow(name, text string) bool {
	if !MayTest(name) {
		return false
	}
	sign := rows[path.Ext(name)]
	return sign != "" && strings.Contains(text, sign) || rounds[path.Ext(name)] && aLoop.MatchString(text)
}

// rounds are the languages whose loops say so.
var rounds = map[string]bool{".go": true, ".py": true,
	".js": true, ".mjs": true, ".cjs": true, ".jsx": true, ".ts": true, ".mts": true, ".cts": true, ".tsx": true}
