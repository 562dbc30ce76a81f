package asm

import (
	"strconv"
	"strings"

	"git-ward/internal/diag"
)

// Print is the plan in its one canonical form: labels at column 1, instructions
// behind four spaces, one space between arguments, opcodes and registers in upper
// case, literals without + and leading zeros, comments kept, two spaces before
// one that follows an instruction, no two blank lines together, none at either
// end. Parse reads it as the same program, and Print of that is the same text.
func Print(p *Program) []byte {
	var b strings.Builder
	gap := false
	for _, l := range p.lines {
		if l.kind == blank && l.comment == "" {
			gap = b.Len() > 0
			continue
		}
		if gap {
			b.WriteByte('\n')
			gap = false
		}
		p.printLine(&b, l)
		b.WriteByte('\n')
	}
	return []byte(b.String())
}

func (p *Program) printLine(b *strings.Builder, l line) {
	switch l.kind {
	case labelLine:
		b.WriteString("LABEL " + p.Labels[l.index].Name)
	case instructionLine:
		b.WriteString("    " + p.Instructions[l.index].String())
	case blank:
		if l.indent {
			b.WriteString("    ")
		}
	}
	if l.comment != "" {
		if l.kind != blank {
			b.WriteString("  ")
		}
		b.WriteString(l.comment)
	}
}

// String is the instruction in its canonical form.
func (in *Instruction) String() string {
	op := in.Op.String()
	switch Table[in.Op].shape {
	case reg:
		return op + " " + in.Dst.String()
	case value:
		return op + " " + in.Src.String()
	case regValue:
		return op + " " + in.Dst.String() + " " + in.Src.String()
	case label:
		return op + " " + in.Label
	case call:
		var b strings.Builder
		b.WriteString(op + " " + in.Call.Tool)
		for _, a := range in.Call.Args {
			b.WriteString(" " + a.String())
		}
		return b.String()
	}
	return op
}

var escaper = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`)

// String is the operand as a plan writes it.
func (o Operand) String() string {
	switch o.Kind {
	case Reg:
		return o.Reg.String()
	case Literal:
		return strconv.FormatInt(o.Value, 10)
	case Text:
		return `"` + escaper.Replace(o.Text) + `"`
	}
	return o.Text
}

// Format is Print of a plan's text, or what is wrong with it; also when only the
// canonical form is over a limit.
func Format(name string, data []byte) ([]byte, []diag.Diagnostic) {
	prog, ds := Parse(name, data)
	if ds != nil {
		return nil, ds
	}
	text := Print(prog)
	if _, ds := Parse(name, text); ds != nil {
		return nil, ds
	}
	return text, nil
}
