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

// A loop in a test's body reports its name as a row does: when it begins a round, and when it ends one
// in a test that has not failed. Over a table that the work emptied it begins no round; a search that
// finds its value at once ends none; over what should be empty, each round fails. Loops that wait for
// something are not counted.

// Begins follows a loop's name where it begins a round.
const Begins = " begins a round"

// aRound is the middle of a loop's name.
const aRound = ": the loop in line "

// round names a loop by the line in which it begins.
func round(test, text string, at int) string {
	return fmt.Sprintf("%s%s%d", test, aRound, 1+strings.Count(text[:at], "\n"))
}

// says is an expression in Python and JavaScript for a loop's report. It has two parts because a runner
// shows the line of a failure, which is not a report.
func (m mark) says(name string) string { return fmt.Sprintf("%q + %q", m.word, m.row()+name) }

// goRounds has a test's loops report before their first statement and after their last. The test may
// shadow its parameter's name there, and may run rounds concurrently.
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

// pythonRounds wraps what the loops and comprehensions of a test iterate over, so that it reports when
// a round is asked for, and when the next one is.
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

// pythonLoop returns where the iterable of a loop begins and ends, given the place after its first word;
// 0 where it cannot be found.
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

// skipText returns the end of a string or a comment that begins at a place, or else the place.
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

// javaScriptLoop matches the head of a loop over something, and javaScriptEach a call of forEach.
var (
	javaScriptLoop = pattern.New(`\bfor[ \t]*\([ \t]*(?:const|let|var)[ \t]+(?:\w+|\[[^\]\n]*\]|\{[^}\n]*\})[ \t]+of[ \t]+`)
	javaScriptEach = pattern.New(`(^|[^\w.$)\]])([\w$]+(?:\.[\w$]+)*)\.forEach\(`)
)

// javaScriptRounds wraps what loops iterate over.
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

// javaScriptLoops makes the loops in a test's text report.
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

// closing returns the first bracket after a place that closes one opened before it; 0 for none.
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

// rounds are the extensions of files whose loops report.
var rounds = map[string]bool{".go": true, ".py": true,
	".js": true, ".mjs": true, ".cjs": true, ".jsx": true, ".ts": true, ".mts": true, ".cts": true, ".tsx": true}
