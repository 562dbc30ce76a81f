package vm

import (
	"context"

	"git-ward/vm/asm"
)

// Moment is one executed instruction and the machine after it.
type Moment struct {
	File        string    `json:"file"` // the plan that it stands in
	Line        int       `json:"line"`
	Number      int64     `json:"number"` // of instructions executed, this one included
	IP          int       `json:"ip"`     // of this instruction, from 0, in its plan
	SP          int       `json:"sp"`     // plans entered and not left
	Instruction string    `json:"instruction"`
	Head        int64     `json:"head"`
	Cell        int64     `json:"cell"` // under the head
	Registers   Registers `json:"registers"`
	Flags       string    `json:"flags"` // what the last CMP found: "<", "=", ">", or "" before any
	State       State     `json:"state"`
	Code        Code      `json:"code"`
}

// Trace executes one instruction as Step does and says what it was. It returns
// false when there was none: the run is over, or ended where no instruction
// could be executed.
func (m *Machine) Trace() (Moment, bool) {
	at, before := m.address, m.count
	m.Step()
	if m.count == before {
		return Moment{}, false
	}
	s := m.image.sites[at]
	return Moment{
		File: m.image.plans[s.plan].Name, Line: s.Line, Number: m.count,
		IP: int(at - m.image.starts[s.plan]), SP: len(m.stack), Instruction: s.String(),
		Head: m.tape.first + m.head, Cell: m.tape.at(m.head), Registers: m.regs,
		Flags: m.flags.String(), State: m.state, Code: m.code,
	}, true
}

// Skip executes until n instructions are executed or the run is over, before Trace
// or Run.
func (m *Machine) Skip(ctx context.Context, n int64) error {
	for m.state == Running && m.count < n {
		if err := ctx.Err(); err != nil {
			return err
		}
		m.fast(min(n-m.count, m.limits.Instructions-m.count, slice))
		if m.count < n {
			m.Step()
		}
	}
	return nil
}

// Place is the plan and the line that the machine stands at: when it has ended,
// of the instruction that ended it, or of the plan's last when it ran off the end.
func (m *Machine) Place() (file string, line int) {
	s := m.image.sites[m.address]
	p := m.image.plans[s.plan]
	switch {
	case s.Instruction != nil:
		line = s.Line
	case len(p.Instructions) > 0:
		line = p.Instructions[len(p.Instructions)-1].Line
	}
	return p.Name, line
}

func (f flags) String() string {
	switch {
	case !f.set:
		return ""
	case f.taken(asm.JE):
		return "="
	case f.taken(asm.JG):
		return ">"
	}
	return "<"
}
