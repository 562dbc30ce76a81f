package uow

import (
	"fmt"
	"slices"
	"strings"
)

// Guard enforces the order of tool calls (sequential locking, 001 section 2.1). Stages follow one another,
// and the first follows the last; a call stays in its stage or enters the next one. Tools that no stage
// names are always allowed. The zero Guard allows everything.
//
// A tool counts by its name where the policy names it, and else by its kind: a policy of
// read_file, write_file and bash holds for the steps of plans and for what programs and
// MCP clients call, too (class.go).
//
// A tool may be in several stages. The Guard then keeps every stage that the calls so far can be in, as a
// nondeterministic automaton does, and blocks only calls that fit none of them.
type Guard struct {
	stages [][]string
	at     []int // possible stages, sorted; empty before the first call
}

// NewGuard starts at the beginning of a policy's sequence.
func NewGuard(p Policy) *Guard {
	g := &Guard{}
	for _, stage := range p.Sequence {
		g.stages = append(g.stages, strings.Fields(stage))
	}
	return g
}

// Blocked is the error of a tool called out of order, which must not run.
type Blocked struct {
	Tool    string
	Allowed []string // tools of stages that may be called now, sorted
}

func (b *Blocked) Error() string {
	return fmt.Sprintf("Guard: %q is out of order here; the policy's sequence allows %s", b.Tool, strings.Join(b.Allowed, ", "))
}

// Call allows a call and advances, or returns *Blocked and does not advance.
func (g *Guard) Call(tool string) error {
	in := g.stagesOf(tool)
	if len(in) == 0 {
		return nil
	}
	var to []int
	for _, i := range g.reachable() {
		if slices.Contains(in, i) {
			to = append(to, i)
		}
	}
	if len(to) == 0 {
		return &Blocked{tool, g.Allowed()}
	}
	g.at = to
	return nil
}

// stagesOf are the stages that allow a tool.
func (g *Guard) stagesOf(tool string) (list []int) {
	named := slices.ContainsFunc(g.stages, func(s []string) bool {
		return slices.ContainsFunc(s, func(word string) bool { return stands(word, tool, true) })
	})
	for i, stage := range g.stages {
		if slices.ContainsFunc(stage, func(word string) bool { return stands(word, tool, named) }) {
			list = append(list, i)
		}
	}
	return list
}

// Allowed lists the tools of the stages that may be called now, sorted.
func (g *Guard) Allowed() []string {
	var tools []string
	for _, i := range g.reachable() {
		tools = append(tools, g.stages[i]...)
	}
	slices.Sort(tools)
	return slices.Compact(tools)
}

// reachable are the stages that a call may belong to.
func (g *Guard) reachable() []int {
	if len(g.stages) == 0 {
		return nil
	}
	if len(g.at) == 0 {
		return []int{0}
	}
	var to []int
	for _, i := range g.at {
		to = append(to, i, (i+1)%len(g.stages))
	}
	slices.Sort(to)
	return slices.Compact(to)
}
