package plan

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// FillCommand is a command with the shell's variables file1, file2 and so on in the place of
// {file1}, {file2}, each quoted as it is where it stands: whoever runs it sets them, by
// CommandFiles. So a name is one word whatever bytes it has, within quotes and without.
// Only below a quoted here-document's word, where a shell reads nothing, stands the name
// itself. What a backslash is before, and comments, are left as they are.
func FillCommand(command string, files []string) (string, error) {
	if at, _, _ := nextPlaceholder(command); at < 0 {
		return command, nil
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(masked(command)), "")
	if err != nil {
		return "", fmt.Errorf("a shell cannot read the command that {file1} stands in: %w", err)
	}
	f := &filling{command: command, files: files}
	f.walk(file, inWord)
	if f.err != nil {
		return "", f.err
	}
	slices.SortFunc(f.parts, func(a, b filled) int { return a.from - b.from })
	var b strings.Builder
	done := 0
	for _, p := range f.parts {
		b.WriteString(command[done:p.from])
		b.WriteString(p.text)
		done = p.to
	}
	return b.String() + command[done:], nil
}

// masked has a plain word as long as each placeholder in its place: braces mean something to
// a shell, in ${...} and before a redirection.
func masked(command string) string {
	b := []byte(command)
	for from := 0; ; {
		at, _, width := nextPlaceholder(command[from:])
		if at < 0 {
			return string(b)
		}
		b[from+at], b[from+at+width-1] = '_', '_'
		from += at + width
	}
}

// CommandFiles are the variables that a command filled in by FillCommand reads, NAME=VALUE.
func CommandFiles(files []string) []string {
	list := make([]string, len(files))
	for i, name := range files {
		list[i] = "file" + strconv.Itoa(i+1) + "=" + name
	}
	return list
}

// quoting is how a shell reads the text at a place.
type quoting int

const (
	inWord    quoting = iota
	inDouble          // "...", and a here-document that is expanded
	inSingle          // '...'
	inEscaped         // $'...'
	inRaw             // a here-document whose word is quoted: no shell reads it
)

// filled is what stands in a command in the place of its bytes from..to.
type filled struct {
	from, to int
	text     string
}

type filling struct {
	command string
	files   []string
	parts   []filled
	err     error
}

// walk fills in below a node; q is the quoting around it.
func (f *filling) walk(top syntax.Node, q quoting) {
	syntax.Walk(top, func(node syntax.Node) bool {
		switch node := node.(type) {
		case *syntax.Lit:
			f.fill(node, q)
		case *syntax.SglQuoted:
			if node.Dollar {
				f.fill(node, inEscaped)
			} else {
				f.fill(node, inSingle)
			}
		case *syntax.DblQuoted:
			f.parted(node.Parts, inDouble)
		case *syntax.CmdSubst, *syntax.ProcSubst:
			if node == top {
				q = inWord // a command of its own, within quotes, too
				return true
			}
			f.walk(node, inWord)
		case *syntax.ParamExp:
			f.expansion(node, q)
		case *syntax.Redirect:
			f.redirect(node)
		default:
			return true
		}
		return false
	})
}

func (f *filling) parted(parts []syntax.WordPart, q quoting) {
	for _, part := range parts {
		f.walk(part, q)
	}
}

// expansion fills in what stands in ${...}: a word that takes the variable's place is quoted
// as the whole is, a pattern or an index by itself.
func (f *filling) expansion(p *syntax.ParamExp, q quoting) {
	if p.Index != nil {
		f.walk(p.Index, inWord)
	}
	if p.Slice != nil {
		for _, n := range []syntax.ArithmExpr{p.Slice.Offset, p.Slice.Length} {
			if n != nil {
				f.walk(n, inWord)
			}
		}
	}
	if p.Repl != nil {
		for _, w := range []*syntax.Word{p.Repl.Orig, p.Repl.With} {
			if w != nil {
				f.walk(w, inWord)
			}
		}
	}
	if p.Exp == nil || p.Exp.Word == nil {
		return
	}
	switch p.Exp.Op {
	case syntax.AlternateUnset, syntax.AlternateUnsetOrNull, syntax.DefaultUnset, syntax.DefaultUnsetOrNull,
		syntax.ErrorUnset, syntax.ErrorUnsetOrNull, syntax.AssignUnset, syntax.AssignUnsetOrNull:
		f.walk(p.Exp.Word, q)
	default:
		f.walk(p.Exp.Word, inWord)
	}
}

// redirect fills in a redirection, and the here-document that it may be.
func (f *filling) redirect(r *syntax.Redirect) {
	if r.Hdoc == nil {
		f.walk(r.Word, inWord)
		return
	}
	q := inDouble
	for _, part := range r.Word.Parts {
		if lit, ok := part.(*syntax.Lit); !ok || strings.Contains(lit.Value, `\`) {
			q = inRaw
		}
	}
	f.parted(r.Hdoc.Parts, q)
}

// fill puts the variables in the place of the placeholders in the text of a node.
func (f *filling) fill(node syntax.Node, q quoting) {
	from, end := int(node.Pos().Offset()), int(node.End().Offset())
	for from < end {
		at, n, width := nextPlaceholder(f.command[from:end])
		if at < 0 {
			return
		}
		at += from
		from = at + width
		before := f.command[:at]
		slashes := len(before) - len(strings.TrimRight(before, `\`))
		if n < 1 || n > len(f.files) || q != inSingle && q != inRaw && slashes%2 == 1 {
			continue
		}
		variable := "${file" + strconv.Itoa(n) + "}"
		switch q {
		case inWord:
			variable = `"` + variable + `"`
		case inSingle:
			variable = `'"` + variable + `"'`
		case inEscaped:
			variable = `'"` + variable + `"$'`
		case inRaw:
			variable = f.files[n-1]
			if strings.ContainsAny(variable, "\n\r") || strings.ToValidUTF8(variable, "") != variable {
				f.err = fmt.Errorf("the name %q cannot stand in a here-document whose word is quoted; take the quotes off the word", variable)
			}
		}
		f.parts = append(f.parts, filled{at, from, variable})
	}
}
