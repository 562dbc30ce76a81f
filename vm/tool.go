package vm

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"git-ward/vm/asm"
)

// tool is what CALL can reach: a pure function of its arguments.
type tool struct {
	name string
	doc  string
	call func(m *Machine, args []asm.Operand) Code
}

const numTools = 6

// tools are all there are; a Machine reaches those that it is given (UDC-3). None
// of them reads or writes anything but the machine.
var tools = [numTools]tool{
	{"print", "append the arguments, joined by one space, to the output", (*Machine).print},
	{"mul", "R0 = a * b", arithmetic(multiply)},
	{"div", "R0 = a / b, towards zero", arithmetic(divide)},
	{"mod", "R0 = a - b * (a / b), with the sign of a", arithmetic(remainder)},
	{"min", "R0 = the smaller of a and b", arithmetic(smaller)},
	{"max", "R0 = the larger of a and b", arithmetic(larger)},
}

// ToolNames are the tools that CALL can reach.
func ToolNames() []string {
	var names []string
	for _, t := range tools {
		names = append(names, t.name)
	}
	return names
}

// toolNamed is the index in tools, or unknownTool.
func toolNamed(name string) int8 {
	return int8(slices.IndexFunc(tools[:], func(t tool) bool { return t.name == name }))
}

// arithmetic makes a tool of a function of two integers.
func arithmetic(f func(a, b int64) (int64, Code)) func(*Machine, []asm.Operand) Code {
	return func(m *Machine, args []asm.Operand) Code {
		if len(args) != 2 || !isNumber(args[0]) || !isNumber(args[1]) {
			return CallArguments
		}
		v, code := f(m.value(args[0]), m.value(args[1]))
		if code == "" {
			m.regs[0] = v
		}
		return code
	}
}

func isNumber(o asm.Operand) bool { return o.Kind == asm.Reg || o.Kind == asm.Literal }

func multiply(a, b int64) (int64, Code) {
	p := a * b
	if a != 0 && (p/a != b || a == -1 && b == math.MinInt64) {
		return 0, IntegerOverflow
	}
	return p, ""
}

func divide(a, b int64) (int64, Code) {
	switch {
	case b == 0:
		return 0, DivisionByZero
	case b == -1 && a == math.MinInt64:
		return 0, IntegerOverflow
	}
	return a / b, ""
}

func remainder(a, b int64) (int64, Code) {
	switch b {
	case 0:
		return 0, DivisionByZero
	case -1:
		return 0, ""
	}
	return a % b, ""
}

func smaller(a, b int64) (int64, Code) { return min(a, b), "" }
func larger(a, b int64) (int64, Code)  { return max(a, b), "" }

func (m *Machine) print(args []asm.Operand) Code {
	var b strings.Builder
	for i, a := range args {
		if i > 0 {
			b.WriteByte(' ')
		}
		switch a.Kind {
		case asm.Text:
			b.WriteString(a.Text)
		case asm.Word:
			return CallArguments
		default:
			b.WriteString(strconv.FormatInt(m.value(a), 10))
		}
	}
	// An empty line costs memory too.
	size := cmp.Or(int64(b.Len()), 1)
	if size > m.limits.Output-m.outputSize {
		return OutputLimit
	}
	m.outputSize += size
	m.output = append(m.output, b.String())
	return ""
}
