package fsm

import (
	_ "embed"
	"slices"
	"sync"
)

// The names of the embedded machines (PLAN-3).
const (
	Orchestrator = "orchestrator" // the agent's own lifecycle
	FDC          = "fdc"          // a plan
	Sub          = "sub"          // a plan that others call
	Research     = "research"     // a research plan (L4)
	UOW          = "uow"          // a unit of work
	Loop         = "loop"         // the bounded loop inside a unit
)

//go:embed machines/orchestrator.json
var orchestratorJSON string

//go:embed machines/fdc.json
var fdcJSON string

//go:embed machines/sub.json
var subJSON string

//go:embed machines/research.json
var researchJSON string

//go:embed machines/uow.json
var uowJSON string

//go:embed machines/loop.json
var loopJSON string

// Names lists the embedded machines.
func Names() []string { return []string{Orchestrator, FDC, Sub, Research, UOW, Loop} }

// Source is the JSON of an embedded machine; ok is false for another name.
func Source(name string) (text string, ok bool) {
	i := slices.Index(Names(), name)
	if i < 0 {
		return "", false
	}
	return []string{orchestratorJSON, fdcJSON, subJSON, researchJSON, uowJSON, loopJSON}[i], true
}

// Embedded is the machine of that name; ok is false when there is none. A test
// proves that each of them parses without a finding.
func Embedded(name string) (m *Machine, ok bool) {
	text, ok := Source(name)
	if !ok {
		return nil, false
	}
	m, _ = Parse([]byte(text), name+".json")
	return m, m != nil
}

// Once returns a function that parses the embedded machine of that name on its first call,
// because most pushes need none.
func Once(name string) func() *Machine {
	return sync.OnceValue(func() *Machine {
		m, ok := Embedded(name)
		if !ok {
			panic("the embedded machine is broken") // a test reads each of them
		}
		return m
	})
}
