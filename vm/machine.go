package vm

import (
	"fmt"
	"strings"
	"time"

	"git-ward/vm/asm"
)

// Machine is a run in progress.
type Machine struct {
	image  *Image
	limits Limits
	tools  [numTools]bool // that CALL reaches

	outside  map[string]Outside // likewise, of those that are not the machine's own
	deadline time.Time          // of Run; zero before
	reason   string             // what the code does not say, "" for nothing

	state State
	code  Code
	count int64 // instructions executed

	address int32 // of the next instruction, in image.sites
	regs    Registers
	flags   flags
	tape    tape
	head    int64   // counted from the tape's first cell
	stack   []int32 // addresses to return to

	output     []string
	outputSize int64

	leaper *leaper // of Run
}

// flags are what the last CMP compared; it is their order that counts.
type flags struct {
	set  bool
	a, b int64
}

func (f flags) taken(op asm.Opcode) bool {
	switch op {
	case asm.JE:
		return f.a == f.b
	case asm.JNE:
		return f.a != f.b
	case asm.JG:
		return f.a > f.b
	}
	return f.a < f.b
}

// New makes a machine at the first instruction of an image. Calls names the tools
// that CALL may reach; it fails on an unknown one, and on limits below 1.
func New(image *Image, limits Limits, calls []string) (*Machine, error) {
	if err := limits.Check(); err != nil {
		return nil, err
	}
	m := &Machine{image: image, limits: limits, state: Running, tape: newTape()}
	for _, name := range calls {
		at := toolNamed(name)
		if at == unknownTool {
			return nil, fmt.Errorf("there is no tool %q for CALL; there are %s", name, strings.Join(ToolNames(), ", "))
		}
		m.tools[at] = true
	}
	return m, nil
}

// Step executes one instruction, or ends the run. It is the definition of the
// machine; it does not look at the clock.
func (m *Machine) Step() {
	s := &m.image.sites[m.address]
	switch {
	case m.state != Running:
		return
	case s.Instruction == nil:
		m.end(NoHalt)
		return
	case m.count >= m.limits.Instructions:
		m.end(InstructionLimit)
		return
	}
	m.count++
	next := m.address + 1
	switch s.Op {
	case asm.LEFT:
		m.head--
	case asm.RIGHT:
		m.head++
	case asm.READ:
		m.regs[s.Dst] = m.tape.at(m.head)
	case asm.WRITE:
		m.write(m.value(s.Src))
	case asm.MOV:
		m.regs[s.Dst] = m.value(s.Src)
	case asm.ADD:
		m.add(s.Dst, m.value(s.Src))
	case asm.SUB:
		m.subtract(s.Dst, m.value(s.Src))
	case asm.INC:
		m.add(s.Dst, 1)
	case asm.DEC:
		m.subtract(s.Dst, 1)
	case asm.CMP:
		m.flags = flags{true, m.regs[s.Dst], m.value(s.Src)}
	case asm.JMP:
		next = s.address
	case asm.JE, asm.JNE, asm.JG, asm.JL:
		if !m.flags.set {
			m.end(FlagsUnset)
		} else if m.flags.taken(s.Op) {
			next = s.address
		}
	case asm.CALL:
		next = m.call(s, next)
	case asm.RET:
		next = m.leave()
	case asm.HALT:
		m.end("")
	}
	if m.state == Running {
		m.address = next
	}
}

// end ends the run. The address stays on the last instruction.
func (m *Machine) end(code Code) { m.state, m.code = code.State(), code }

func (m *Machine) value(o asm.Operand) int64 {
	if o.Kind == asm.Reg {
		return m.regs[o.Reg]
	}
	return o.Value
}

func (m *Machine) write(v int64) {
	at, ok := m.tape.reach(m.head, m.limits.Cells)
	if !ok {
		m.end(MemoryLimit)
		return
	}
	m.head = at
	m.tape.cells[at] = v
}

func (m *Machine) add(r asm.Register, v int64) {
	sum := m.regs[r] + v
	if (sum < m.regs[r]) != (v < 0) {
		m.end(IntegerOverflow)
		return
	}
	m.regs[r] = sum
}

func (m *Machine) subtract(r asm.Register, v int64) {
	difference := m.regs[r] - v
	if (difference > m.regs[r]) != (v < 0) {
		m.end(IntegerOverflow)
		return
	}
	m.regs[r] = difference
}

// call executes a CALL and returns where to go on.
func (m *Machine) call(s *site, next int32) int32 {
	switch {
	case s.tool == planTool:
		return m.enter(s.address, next)
	case s.tool == unknownTool:
		if code := m.callOutside(s.Call); code != "" {
			m.end(code)
		}
	case !m.tools[s.tool]:
		m.end(CallDenied)
	default:
		if code := tools[s.tool].call(m, s.Call.Args); code != "" {
			m.end(code)
		}
	}
	return next
}

// enter begins another plan, on the same tape, registers, flags and limits.
func (m *Machine) enter(target, next int32) int32 {
	switch {
	case target < 0:
		m.end(CallDenied)
	case len(m.stack) >= MaxDepth:
		m.end(CallDepth)
	default:
		m.stack = append(m.stack, next)
		return target
	}
	return next
}

func (m *Machine) leave() int32 {
	if len(m.stack) == 0 {
		m.end(StackUnderflow)
		return m.address
	}
	last := len(m.stack) - 1
	next := m.stack[last]
	m.stack = m.stack[:last]
	return next
}

// Result is how the run stands now.
func (m *Machine) Result() *Result {
	r := &Result{
		File: m.image.Name, State: m.state, Code: m.code, Instructions: m.count,
		Head: m.tape.first + m.head, Registers: m.regs, Reason: m.reason,
		Tape: Tape{m.tape.first, m.tape.cells}, Output: m.output,
	}
	if r.Output == nil {
		r.Output = []string{}
	}
	return r
}
