package vm

import (
	"errors"
	"fmt"

	"git-ward/vm/asm"
)

// Library knows the plans that others may CALL.
type Library interface {
	// Plan returns the plan of that name, ErrNoPlan when there is none (the call
	// is then denied when it is reached), or another error when there is one
	// that cannot be read.
	Plan(name string) (*asm.Program, error)
}

// ErrNoPlan is a Library's answer for an unknown name.
var ErrNoPlan = errors.New("no such plan")

// maxLinked bounds the instructions of a plan with all that it can call.
const maxLinked = 1_000_000

// Image is a plan with all plans that it can call, one behind the other, ready to
// run any number of times. It is not changed after Link.
type Image struct {
	Name   string
	plans  []*asm.Program
	starts []int32 // address of each plan's first instruction
	sites  []site
	ops    []operation
}

// site is an instruction at its address in the image. An address without an instruction is a
// plan's end.
type site struct {
	*asm.Instruction
	plan    int32
	address int32 // that a jump, or the call of a plan, goes to; -1: no such plan
	tool    int8  // of CALL: index in tools, unknownTool, or planTool
}

const (
	unknownTool = -1
	planTool    = -2
)

// Link makes an Image of a plan and of all plans that it can call. The called ones
// come from library, which may be nil. It fails if one of them cannot be read, or if
// all together have more than a million instructions.
func Link(main *asm.Program, library Library) (*Image, error) {
	l := linker{Image: &Image{Name: main.Name}, library: library, at: map[string]int32{}}
	if err := l.add(main); err != nil {
		return nil, err
	}
	// Plans that are found on the way are appended, and read in turn.
	for address := 0; address < len(l.sites); address++ {
		if err := l.enter(address); err != nil {
			return nil, err
		}
	}
	l.decode()
	return l.Image, nil
}

type linker struct {
	*Image
	library Library
	at      map[string]int32 // names to addresses, -1 for those that are unknown
}

func (l *linker) add(p *asm.Program) error {
	if len(l.sites)+len(p.Instructions) > maxLinked {
		return fmt.Errorf("%s with the plans that it calls is more than %d instructions", l.Name, maxLinked)
	}
	base, plan := int32(len(l.sites)), int32(len(l.plans))
	l.plans, l.starts = append(l.plans, p), append(l.starts, base)
	for i := range p.Instructions {
		in := &p.Instructions[i]
		s := site{Instruction: in, plan: plan, address: base + int32(in.Target)}
		if in.Op == asm.CALL {
			s.tool = toolNamed(in.Call.Tool)
		}
		l.sites = append(l.sites, s)
	}
	l.sites = append(l.sites, site{plan: plan})
	return nil
}

// enter finds the plan that the site at an address calls.
func (l *linker) enter(address int) error {
	s := l.sites[address]
	if s.Instruction == nil || s.Op != asm.CALL {
		return nil
	}
	name, ok := s.Call.Plan()
	if !ok {
		return nil
	}
	if _, known := l.at[name]; !known {
		start, err := l.load(name)
		if err != nil {
			return fmt.Errorf("%s:%d: CALL plan %s: %w", l.plans[s.plan].Name, s.Line, name, err)
		}
		l.at[name] = start
	}
	l.sites[address].address, l.sites[address].tool = l.at[name], planTool
	return nil
}

func (l *linker) load(name string) (int32, error) {
	if l.library == nil {
		return -1, nil
	}
	p, err := l.library.Plan(name)
	if errors.Is(err, ErrNoPlan) {
		return -1, nil
	}
	if err != nil {
		return 0, err
	}
	address := int32(len(l.sites))
	return address, l.add(p)
}
