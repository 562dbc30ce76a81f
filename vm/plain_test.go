package vm

import (
	"math"
	"math/big"
	"strconv"
	"strings"

	"git-ward/vm/asm"
)

// plain is the second interpreter: UDC-2 and UDC-3 written down once more, from
// the specification and for nobody's speed. Its tape is a map, its integers are
// big, its plans are looked up by name at every call.
type plain struct {
	limits Limits
	calls  []string
	plans  map[string]*asm.Program

	regs      [4]*big.Int
	order     *int // of the last CMP
	tape      map[int64]*big.Int
	head      int64
	low, high int64 // of cell 0 and all written cells
	count     int64
	stack     []frame
	output    []string
	printed   int64
}

type frame struct {
	program *asm.Program
	ip      int
}

func plainRun(p *asm.Program, plans map[string]*asm.Program, limits Limits, calls []string) *Result {
	m := &plain{limits: limits, calls: calls, plans: plans, tape: map[int64]*big.Int{}, stack: []frame{{p, 0}}}
	for i := range m.regs {
		m.regs[i] = new(big.Int)
	}
	code, running := Code(""), true
	for running {
		code, running = m.step()
	}
	r := &Result{File: p.Name, State: code.State(), Code: code, Instructions: m.count, Head: m.head, Output: []string{}}
	r.Output = append(r.Output, m.output...)
	for i, v := range m.regs {
		r.Registers[i] = v.Int64()
	}
	r.Tape.First = m.low
	for i := m.low; i <= m.high; i++ {
		v := int64(0)
		if m.tape[i] != nil {
			v = m.tape[i].Int64()
		}
		r.Tape.Cells = append(r.Tape.Cells, v)
	}
	return r
}

func (m *plain) operand(o asm.Operand) *big.Int {
	if o.Kind == asm.Reg {
		return new(big.Int).Set(m.regs[o.Reg])
	}
	return big.NewInt(o.Value)
}

func (m *plain) put(r asm.Register, v *big.Int) (Code, bool) {
	if !v.IsInt64() {
		return IntegerOverflow, false
	}
	m.regs[r] = v
	return "", true
}

func (m *plain) step() (Code, bool) {
	top := &m.stack[len(m.stack)-1]
	if top.ip == len(top.program.Instructions) {
		return NoHalt, false
	}
	if m.count == m.limits.Instructions {
		return InstructionLimit, false
	}
	m.count++
	in := top.program.Instructions[top.ip]
	top.ip++
	dst := m.regs[in.Dst]
	switch in.Op.String() {
	case "LEFT":
		m.head--
	case "RIGHT":
		m.head++
	case "READ":
		m.regs[in.Dst] = new(big.Int)
		if m.tape[m.head] != nil {
			m.regs[in.Dst] = m.tape[m.head]
		}
	case "WRITE":
		low, high := min(m.low, m.head), max(m.high, m.head)
		if high-low+1 > m.limits.Cells {
			return MemoryLimit, false
		}
		m.low, m.high = low, high
		m.tape[m.head] = m.operand(in.Src)
	case "MOV":
		m.regs[in.Dst] = m.operand(in.Src)
	case "ADD":
		return m.put(in.Dst, new(big.Int).Add(dst, m.operand(in.Src)))
	case "SUB":
		return m.put(in.Dst, new(big.Int).Sub(dst, m.operand(in.Src)))
	case "INC":
		return m.put(in.Dst, new(big.Int).Add(dst, big.NewInt(1)))
	case "DEC":
		return m.put(in.Dst, new(big.Int).Sub(dst, big.NewInt(1)))
	case "CMP":
		order := dst.Cmp(m.operand(in.Src))
		m.order = &order
	case "JMP":
		top.ip = in.Target
	case "JE", "JNE", "JG", "JL":
		if m.order == nil {
			return FlagsUnset, false
		}
		if map[string]bool{"JE": *m.order == 0, "JNE": *m.order != 0, "JG": *m.order > 0, "JL": *m.order < 0}[in.Op.String()] {
			top.ip = in.Target
		}
	case "CALL":
		return m.call(in.Call)
	case "RET":
		if len(m.stack) == 1 {
			return StackUnderflow, false
		}
		m.stack = m.stack[:len(m.stack)-1]
	case "HALT":
		return "", false
	}
	return "", true
}

func (m *plain) call(c *asm.Call) (Code, bool) {
	if c.Tool == "plan" {
		p := m.plans[c.Args[0].Text]
		if p == nil {
			return CallDenied, false
		}
		if len(m.stack) == 11 {
			return CallDepth, false
		}
		m.stack = append(m.stack, frame{p, 0})
		return "", true
	}
	if !strings.Contains(" "+strings.Join(m.calls, " ")+" ", " "+c.Tool+" ") {
		return CallDenied, false
	}
	if c.Tool == "print" {
		var words []string
		for _, a := range c.Args {
			switch a.Kind {
			case asm.Word:
				return CallArguments, false
			case asm.Text:
				words = append(words, a.Text)
			default:
				words = append(words, m.operand(a).String())
			}
		}
		line := strings.Join(words, " ")
		if m.printed += max(1, int64(len(line))); m.printed > m.limits.Output {
			return OutputLimit, false
		}
		m.output = append(m.output, line)
		return "", true
	}
	if len(c.Args) != 2 {
		return CallArguments, false
	}
	for _, a := range c.Args {
		if a.Kind != asm.Reg && a.Kind != asm.Literal {
			return CallArguments, false
		}
	}
	a, b := m.operand(c.Args[0]), m.operand(c.Args[1])
	v := new(big.Int)
	switch c.Tool {
	case "mul":
		v.Mul(a, b)
	case "div", "mod":
		if b.Sign() == 0 {
			return DivisionByZero, false
		}
		remainder := new(big.Int)
		v.QuoRem(a, b, remainder)
		if c.Tool == "mod" {
			v = remainder
		}
	case "min":
		v = a
		if b.Cmp(a) < 0 {
			v = b
		}
	case "max":
		v = a
		if b.Cmp(a) > 0 {
			v = b
		}
	}
	return m.put(0, v)
}

// extremes are literals around which things break.
var extremes = []string{"0", "1", "-1", "2", "3", "-2", strconv.Itoa(math.MaxInt64), strconv.Itoa(math.MinInt64),
	strconv.Itoa(math.MaxInt64 - 1), strconv.Itoa(math.MinInt64 + 1), "3037000500"}
