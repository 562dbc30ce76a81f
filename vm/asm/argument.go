package asm

import (
	"errors"
	"strconv"
	"strings"
)

// arguments reads what follows the opcode into in, and returns the column of the
// label it names, if any.
func (p *parser) arguments(in *Instruction, args []token) (labelCol int) {
	row := Table[in.Op]
	want := map[shape]int{none: 0, reg: 1, value: 1, regValue: 2, label: 1}[row.shape]
	if row.shape == call {
		p.call(in, args)
		return 0
	}
	if !p.arity(in.Op, in.Col, args, want) {
		return 0
	}
	switch row.shape {
	case reg:
		in.Dst = p.register(args[0])
	case value:
		in.Src = p.value(args[0])
	case regValue:
		in.Dst, in.Src = p.register(args[0]), p.value(args[1])
	case label:
		if p.isLabel(args[0]) {
			in.Label = args[0].text
		}
		return args[0].col
	}
	return 0
}

// arity asks for exactly want arguments.
func (p *parser) arity(op Opcode, col int, args []token, want int) bool {
	if len(args) == want {
		return true
	}
	if len(args) > want {
		col = args[want].col
	}
	form := Table[op].Form
	p.report(p.line, col, RuleArity, "the form is `"+form+"`", "%s takes %s, not %d", op, plural(want), len(args))
	return false
}

func plural(n int) string {
	switch n {
	case 0:
		return "no argument"
	case 1:
		return "1 argument"
	}
	return strconv.Itoa(n) + " arguments"
}

func (p *parser) register(w token) Register {
	r, ok := registerNamed(w)
	if !ok {
		p.report(p.line, w.col, RuleRegister, registerHint(w.text), "%s is not a register", quote(w.text))
	}
	return r
}

func registerNamed(w token) (Register, bool) {
	if w.quoted || len(w.text) != 2 || w.text[0]|0x20 != 'r' || w.text[1] < '0' || w.text[1] >= '0'+NumRegisters {
		return 0, false
	}
	return Register(w.text[1] - '0'), true
}

func registerHint(text string) string {
	if strings.EqualFold(text, "IP") || strings.EqualFold(text, "SP") {
		return "IP and SP belong to the machine; `git ward udc run --trace` shows them"
	}
	return "the registers are R0, R1, R2 and R3"
}

// value reads a register or a literal.
func (p *parser) value(w token) Operand {
	if r, ok := registerNamed(w); ok {
		return Operand{Kind: Reg, Reg: r}
	}
	if !w.quoted && looksNumeric(w.text) {
		return p.literal(w)
	}
	p.report(p.line, w.col, RuleRegister, registerHint(w.text)+"; a literal is a decimal such as -7", "%s is neither a register nor a literal", quote(w.text))
	return Operand{}
}

// looksNumeric says that a word was meant as a literal.
func looksNumeric(s string) bool {
	s = strings.TrimLeft(s, "+-")
	return s == "" || s[0] >= '0' && s[0] <= '9'
}

func (p *parser) literal(w token) Operand {
	v, err := strconv.ParseInt(w.text, 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange):
		p.report(p.line, w.col, RuleLiteral, "literals are from -9223372036854775808 to 9223372036854775807", "%s does not fit into 64 bits", quote(w.text))
	case err != nil:
		p.report(p.line, w.col, RuleLiteral, "a literal is decimal digits, with + or - before them", "%s is not a literal", quote(w.text))
	}
	return Operand{Kind: Literal, Value: v}
}

// call reads a tool's name and its arguments. Which tools there are is the
// machine's business, and a refused one an error of the run (UDC-3).
func (p *parser) call(in *Instruction, args []token) {
	if len(args) == 0 {
		p.report(p.line, in.Col, RuleArity, "the form is `"+Table[CALL].Form+"`", "CALL names no tool")
		return
	}
	if args[0].quoted {
		p.report(p.line, args[0].col, RuleSyntax, "write it without quotes", "a tool's name is a word, not a string")
		return
	}
	in.Call = &Call{Tool: args[0].text}
	isPlan := in.Call.Tool == "plan"
	for _, w := range args[1:] {
		in.Call.Args = append(in.Call.Args, p.argument(w, isPlan))
	}
	if isPlan {
		p.planName(in, args)
	}
}

func (p *parser) planName(in *Instruction, args []token) {
	switch {
	case len(args) != 2:
		p.report(p.line, args[min(2, len(args)-1)].col, RuleArity, "the form is `CALL plan NAME`", "CALL plan takes the name of one plan, not %d", len(args)-1)
	case in.Call.Args[0].Text == "":
		p.report(p.line, args[1].col, RuleSyntax, "name a plan of the registry", "a plan's name is empty")
	}
}

// argument reads one argument of a tool. A word that was meant as a register or
// a literal must be one; another word is for the tool to judge. For a plan's name
// every word is just that.
func (p *parser) argument(w token, isName bool) Operand {
	switch {
	case w.quoted:
		return Operand{Kind: Text, Text: w.text}
	case isName:
		return Operand{Kind: Word, Text: w.text}
	case looksNumeric(w.text):
		return p.literal(w)
	}
	if r, ok := registerNamed(w); ok {
		return Operand{Kind: Reg, Reg: r}
	}
	if rest := w.text[1:]; w.text[0]|0x20 == 'r' && rest != "" && strings.Trim(rest, "0123456789") == "" ||
		strings.EqualFold(w.text, "SP") || strings.EqualFold(w.text, "IP") {
		p.report(p.line, w.col, RuleRegister, registerHint(w.text), "%s is not a register", quote(w.text))
	}
	return Operand{Kind: Word, Text: w.text}
}
