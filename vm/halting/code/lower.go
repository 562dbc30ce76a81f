package code

import (
	"slices"

	"git-ward/vm"
	"git-ward/vm/asm"
)

// Environment is what a plan's CALLs meet.
type Environment struct {
	Calls []string                               // the tools that the machine admits
	Plan  func(name string) (*asm.Program, bool) // a registered plan, false when there is none; nil: all are unknown
	Room  int                                    // instructions of sub-plans in all; what does not fit is Havoc
}

// Errors with which calls end a plan.
const (
	NoHalt         = string(vm.NoHalt) // not counted as an instruction
	callDenied     = string(vm.CallDenied)
	callArguments  = string(vm.CallArguments)
	callDepth      = string(vm.CallDepth)
	stackUnderflow = string(vm.StackUnderflow)
)

type lowering struct {
	env   Environment
	out   Program
	plans map[string]*asm.Program // nil for names that there are not
}

// Lower gives the flat form of a plan.
func Lower(p *asm.Program, env Environment) Program {
	l := &lowering{env: env, plans: map[string]*asm.Program{}}
	l.env.Room += len(p.Instructions) + 1
	l.body(p, 0, -1, 0)
	for i := range l.out {
		l.out[i].Label = l.out[i].Line
	}
	for _, label := range p.Labels {
		if in := &l.out[label.Target]; label.Line < in.Label {
			in.Label = label.Line
		}
	}
	return l.out
}

// body appends a plan's instructions. depth counts the calls around it, back is
// where RET leads (-1: nowhere), line the line of the outermost CALL.
func (l *lowering) body(p *asm.Program, depth int, back int32, line int) {
	start := len(l.out)
	at := func(i int) int32 { return int32(start + i) }
	// The body comes first, in place; what it calls is appended behind it.
	type call struct {
		at   int
		plan *asm.Program
	}
	var calls []call
	for i := range p.Instructions {
		in := &p.Instructions[i]
		flat := Inst{Line: line}
		if line == 0 {
			flat.Line = in.Line
		}
		switch in.Op {
		case asm.JMP, asm.JE, asm.JNE, asm.JG, asm.JL:
			flat.Op, flat.To = jumps[in.Op], at(in.Target)
		case asm.RET:
			flat.Op, flat.To = Jump, back
			if back < 0 {
				flat = Inst{Op: Stop, Code: stackUnderflow, Line: flat.Line}
			}
		case asm.CALL:
			if name, isPlan := in.Call.Plan(); isPlan {
				if callee, ok := l.callee(name, depth, &flat); ok {
					calls = append(calls, call{len(l.out), callee})
				}
			} else {
				l.tool(in.Call, &flat)
			}
		default:
			simple(in, &flat)
		}
		l.out = append(l.out, flat)
	}
	last := line
	if n := len(p.Instructions); line == 0 && n > 0 {
		last = p.Instructions[n-1].Line
	}
	l.out = append(l.out, Inst{Op: Stop, Code: NoHalt, Line: last})
	for _, c := range calls {
		in := &l.out[c.at]
		if len(l.out)+len(c.plan.Instructions) >= l.env.Room {
			in.Op = Havoc
			continue
		}
		in.Op, in.To = Jump, int32(len(l.out))
		l.body(c.plan, depth+1, int32(c.at+1), in.Line)
	}
}

var jumps = map[asm.Opcode]Op{asm.JMP: Jump, asm.JE: JE, asm.JNE: JNE, asm.JG: JG, asm.JL: JL}

// callee finds the plan that a CALL enters; without one the instruction is an
// error, or unknown.
func (l *lowering) callee(name string, depth int, flat *Inst) (*asm.Program, bool) {
	if l.env.Plan == nil {
		flat.Op = Havoc
		return nil, false
	}
	p, known := l.plans[name]
	if !known {
		if found, ok := l.env.Plan(name); ok {
			p = found
		}
		l.plans[name] = p
	}
	switch {
	case p == nil:
		flat.Op, flat.Code = Stop, callDenied
	case depth >= vm.MaxDepth:
		flat.Op, flat.Code = Stop, callDepth
	default:
		return p, true
	}
	return nil, false
}

var tools = map[string]Op{"mul": Mul, "div": Div, "mod": Mod, "min": Min, "max": Max}

// tool lowers the CALL of a tool.
func (l *lowering) tool(c *asm.Call, flat *Inst) {
	if !slices.Contains(l.env.Calls, c.Tool) {
		flat.Op, flat.Code = Stop, callDenied
		return
	}
	op, known := tools[c.Tool]
	isWord := func(o asm.Operand) bool { return o.Kind == asm.Word }
	switch {
	case c.Tool == "print" && !slices.ContainsFunc(c.Args, isWord):
		flat.Op = Nop
	case known && len(c.Args) == 2 && isNumber(c.Args[0]) && isNumber(c.Args[1]):
		flat.Op, flat.A, flat.B = op, value(c.Args[0]), value(c.Args[1])
	case known || c.Tool == "print":
		flat.Op, flat.Code = Stop, callArguments
	default:
		flat.Op = Havoc
	}
}

func isNumber(o asm.Operand) bool { return o.Kind == asm.Reg || o.Kind == asm.Literal }

func value(o asm.Operand) Value {
	if o.Kind == asm.Reg {
		return Value{Reg: int8(o.Reg)}
	}
	return Value{Reg: Literal, Lit: o.Value}
}

// simple lowers what is not a jump or a call.
func simple(in *asm.Instruction, flat *Inst) {
	flat.Reg = uint8(in.Dst)
	one := Value{Reg: Literal, Lit: 1}
	switch in.Op {
	case asm.LEFT:
		flat.Op = Left
	case asm.RIGHT:
		flat.Op = Right
	case asm.READ:
		flat.Op = Read
	case asm.WRITE:
		flat.Op, flat.A = Write, value(in.Src)
	case asm.MOV:
		flat.Op, flat.A = Move, value(in.Src)
	case asm.ADD:
		flat.Op, flat.A = Add, value(in.Src)
	case asm.SUB:
		flat.Op, flat.A = Sub, value(in.Src)
	case asm.INC:
		flat.Op, flat.A = Add, one
	case asm.DEC:
		flat.Op, flat.A = Sub, one
	case asm.CMP:
		flat.Op, flat.A = Cmp, value(in.Src)
	case asm.HALT:
		flat.Op = Stop
	}
}
