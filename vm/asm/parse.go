package asm

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"git-ward/internal/diag"
)

// The limits of a plan's text. A plan is written, or generated, for a machine
// with four registers: what is larger is a mistake or an attack.
const (
	MaxBytes      = 4 << 20
	MaxLines      = 250_000
	MaxLineBytes  = 4096
	MaxLabelBytes = 256
	// MaxFindings bounds the list of errors: nobody reads more, and a file of nothing but
	// errors must not fill the memory.
	MaxFindings = 1000
)

// The rules that Parse reports.
const (
	RuleSize     = "udc/size"
	RuleText     = "udc/text"
	RuleSyntax   = "udc/syntax"
	RuleOpcode   = "udc/opcode"
	RuleArity    = "udc/arity"
	RuleRegister = "udc/register"
	RuleLiteral  = "udc/literal"
	RuleLabel    = "udc/label"
	RuleMore     = "udc/more"
)

// Parse reads a plan and reports every error of UDC-1, each with its line and
// column, in the order of the text. The program is nil when there is one. Time
// and memory are linear in the size, and a file over MaxBytes or MaxLines is one
// error and is not read. The name is the file's, for the findings.
func Parse(name string, data []byte) (*Program, []diag.Diagnostic) {
	p := &parser{prog: &Program{Name: name}, labels: map[string]int{}}
	if p.fits(data) {
		p.read(string(data))
		p.resolve()
	}
	if len(p.found) > 0 {
		return nil, p.list()
	}
	return p.prog, nil
}

type parser struct {
	prog   *Program
	labels map[string]int // to the index in prog.Labels
	jumps  []int          // columns of the labels that instructions name
	line   int
	tokens []token // reused
	found  []diag.Diagnostic
	more   bool // there are more errors than found lists
}

// list is what was found, in order, with a last line when it is not all.
func (p *parser) list() []diag.Diagnostic {
	ds := diag.Normalize(p.found)
	if p.more {
		ds = append(ds, diag.Diagnostic{Pos: diag.Pos{Path: p.prog.Name}, Rule: RuleMore, Severity: diag.Error,
			Message: fmt.Sprintf("there are more errors than %d", MaxFindings), Hint: "mend these first"})
	}
	return ds
}

func (p *parser) report(line, col int, rule, hint, format string, args ...any) {
	if len(p.found) == MaxFindings {
		p.more = true
		return
	}
	p.found = append(p.found, diag.Diagnostic{Pos: diag.Pos{Path: p.prog.Name, Line: line, Col: col},
		Rule: rule, Message: fmt.Sprintf(format, args...), Hint: hint})
}

func (p *parser) fits(data []byte) bool {
	const hint = "split it into plans that CALL one another"
	if len(data) > MaxBytes {
		p.report(0, 0, RuleSize, hint, "the plan has more than %d bytes", MaxBytes)
		return false
	}
	if n := bytes.Count(data, []byte{'\n'}); n > MaxLines {
		p.report(MaxLines+1, 1, RuleSize, hint, "the plan has %d lines, more than %d", n, MaxLines)
		return false
	}
	return true
}

func (p *parser) read(src string) {
	for len(src) > 0 {
		text := src
		if n := strings.IndexByte(src, '\n'); n >= 0 {
			text, src = src[:n], src[n+1:]
		} else {
			src = ""
		}
		p.line++
		p.readLine(strings.TrimSuffix(text, "\r"))
	}
}

func (p *parser) readLine(text string) {
	if len(text) > MaxLineBytes {
		p.report(p.line, MaxLineBytes+1, RuleSize, "a label has at most "+strconv.Itoa(MaxLabelBytes)+" bytes",
			"the line has %d bytes, more than %d", len(text), MaxLineBytes)
		return
	}
	if col := unprintable(text); col > 0 {
		p.report(p.line, col, RuleText, "a plan is UTF-8 text without control or invisible characters",
			"a character that nobody can see, or bytes that are not UTF-8")
		return
	}
	words, comment := split(text, p.tokens)
	p.tokens = words
	l := line{comment: comment, indent: len(words) == 0 && comment != "" && text[0] != '#'}
	if len(words) > 0 {
		p.statement(&l, words)
	}
	p.prog.lines = append(p.prog.lines, l)
}

// unprintable is the column of the first character that must not be in a plan;
// a tab may.
func unprintable(text string) int {
	ascii := true
	for i := range len(text) {
		if c := text[i]; c < ' ' && c != '\t' || c >= 0x7f {
			ascii = false
			break
		}
	}
	if ascii {
		return 0
	}
	for i, r := range text {
		if one := string(r); r != '\t' && (diag.Clean(one) != one || r == '\ufffd') {
			return i + 1
		}
	}
	return 0
}

func (p *parser) statement(l *line, words []token) {
	sound := true
	for _, w := range words {
		if w.bad != "" {
			p.report(p.line, w.col, RuleSyntax, `arguments stand apart by spaces or one comma; a string is "like \"this\""`, "%s", w.bad)
			sound = false
		}
	}
	op, ok := lookup(words[0].text)
	if !ok || words[0].quoted {
		if words[0].bad == "" {
			p.unknownOpcode(words[0])
		}
		return
	}
	if !sound {
		return
	}
	if op == LABEL {
		p.define(l, words)
		return
	}
	in := Instruction{Op: op, Line: p.line, Col: words[0].col}
	labelCol := p.arguments(&in, words[1:])
	l.kind, l.index = instructionLine, len(p.prog.Instructions)
	p.prog.Instructions = append(p.prog.Instructions, in)
	p.jumps = append(p.jumps, labelCol)
}

func (p *parser) unknownOpcode(w token) {
	hint := "the opcodes are " + strings.Join(names(), " ")
	if name := strings.TrimSuffix(w.text, ":"); name != w.text && len(name) <= MaxLabelBytes {
		hint = "write LABEL " + name
	} else if near := diag.Nearest(w.text, names()); near != "" {
		hint = "did you mean " + near + "?"
	}
	p.report(p.line, w.col, RuleOpcode, hint, "%s is not an opcode", quote(w.text))
}

// define reads `LABEL name`.
func (p *parser) define(l *line, words []token) {
	if !p.arity(LABEL, words[0].col, words[1:], 1) {
		return
	}
	w := words[1]
	if !p.isLabel(w) {
		return
	}
	if first, again := p.labels[w.text]; again {
		p.report(p.line, w.col, RuleLabel, "give one of them another name",
			"the label %s stands in line %d already", quote(w.text), p.prog.Labels[first].Line)
		return
	}
	l.kind, l.index = labelLine, len(p.prog.Labels)
	p.labels[w.text] = len(p.prog.Labels)
	p.prog.Labels = append(p.prog.Labels, Label{w.text, len(p.prog.Instructions), p.line, w.col})
}

func (p *parser) isLabel(w token) bool {
	switch {
	case w.quoted:
		p.report(p.line, w.col, RuleLabel, "write it without quotes", "a label is a word, not a string")
	case len(w.text) > MaxLabelBytes:
		p.report(p.line, w.col, RuleLabel, "choose a shorter name", "the label has %d bytes, more than %d", len(w.text), MaxLabelBytes)
	default:
		return true
	}
	return false
}

// resolve fills in the targets of jumps, when all labels are known.
func (p *parser) resolve() {
	for i := range p.prog.Instructions {
		in := &p.prog.Instructions[i]
		if in.Label == "" {
			continue
		}
		at, ok := p.labels[in.Label]
		if !ok {
			p.unknownLabel(in, p.jumps[i])
			continue
		}
		in.Target = p.prog.Labels[at].Target
	}
}

func (p *parser) unknownLabel(in *Instruction, col int) {
	hint := "add a line `LABEL " + in.Label + "`"
	if len(p.found) < diag.MaxListed {
		all := make([]string, 0, min(len(p.prog.Labels), 1000))
		for _, l := range p.prog.Labels[:cap(all)] {
			all = append(all, l.Name)
		}
		if near := diag.Nearest(in.Label, all); near != "" {
			hint = "did you mean " + near + "? Labels are case-sensitive"
		}
	}
	p.report(in.Line, col, RuleLabel, hint, "there is no label %s", quote(in.Label))
}

// quote shortens and quotes what a message names.
func quote(s string) string {
	const most = 40
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "..."
	}
	return strconv.Quote(s)
}
