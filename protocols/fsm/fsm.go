// Package fsm is the engine and the JSON format of every state machine in Ward: the
// orchestrator's, those of plans, and those that a repository adds.
//
// A machine is data:
//
//	{
//	  "name": "sub",
//	  "start": "EXECUTING",
//	  "accept": ["EXECUTING"],
//	  "transitions": [{"from": "EXECUTING", "on": "read_op", "to": "EXECUTING"}]
//	}
//
// States and symbols are names of letters, digits, dots, dashes and underscores.
// A state has at most one transition on a symbol, so a word leads to one state
// or to none.
package fsm

import (
	"slices"
	"strings"
)

// Transition leads from one state to the next on a symbol.
type Transition struct {
	From string `json:"from"`
	On   string `json:"on"`
	To   string `json:"to"`
}

// Machine is a deterministic finite-state machine. One from Parse or Embedded is
// sound and is not changed any more; it may be used concurrently.
type Machine struct {
	Name        string       `json:"name"`
	Start       string       `json:"start"`
	Accept      []string     `json:"accept"`
	Transitions []Transition `json:"transitions"`

	next map[edge]string
}

type edge struct{ from, on string }

// Next is the state that a symbol leads to; ok is false where it leads nowhere.
func (m *Machine) Next(state, on string) (to string, ok bool) {
	to, ok = m.next[edge{state, on}]
	return to, ok
}

// Accepts reports whether a word may end in the state.
func (m *Machine) Accepts(state string) bool { return slices.Contains(m.Accept, state) }

// Expects lists the symbols that the state has a transition on, sorted.
func (m *Machine) Expects(state string) []string {
	var list []string
	for _, t := range m.Transitions {
		if t.From == state {
			list = append(list, t.On)
		}
	}
	slices.Sort(list)
	return list
}

// Knows reports whether any transition is on the symbol.
func (m *Machine) Knows(on string) bool {
	return slices.ContainsFunc(m.Transitions, func(t Transition) bool { return t.On == on })
}

// Target is the one state that all transitions on the symbol lead to, "" when there is none or
// several. A check continues from there after a fault.
func (m *Machine) Target(on string) string {
	target := ""
	for _, t := range m.Transitions {
		switch {
		case t.On != on || t.To == target:
		case target != "":
			return ""
		default:
			target = t.To
		}
	}
	return target
}

// States lists every state: the start, and then the others as they first appear.
func (m *Machine) States() []string {
	list := []string{m.Start}
	for _, t := range m.Transitions {
		for _, s := range []string{t.From, t.To} {
			if !slices.Contains(list, s) {
				list = append(list, s)
			}
		}
	}
	return list
}

// index makes Next answer.
func (m *Machine) index() {
	m.next = make(map[edge]string, len(m.Transitions))
	for _, t := range m.Transitions {
		m.next[edge{t.From, t.On}] = t.To
	}
}

// Dot is the machine as a graph for dot(1): accepting states have a double line,
// transitions between the same states share an arrow.
func (m *Machine) Dot() string {
	var b strings.Builder
	b.WriteString("digraph " + quote(m.Name) + " {\n\trankdir=LR\n\tnode [shape=box, style=rounded]\n\t\"\" [shape=point]\n")
	for _, s := range m.States() {
		b.WriteString("\t" + quote(s))
		if m.Accepts(s) {
			b.WriteString(" [peripheries=2]")
		}
		b.WriteByte('\n')
	}
	b.WriteString("\t\"\" -> " + quote(m.Start) + "\n")
	done := map[edge]bool{}
	for _, t := range m.Transitions {
		between := edge{t.From, t.To}
		if done[between] {
			continue
		}
		done[between] = true
		var on []string
		for _, u := range m.Transitions {
			if u.From == t.From && u.To == t.To {
				on = append(on, u.On)
			}
		}
		b.WriteString("\t" + quote(t.From) + " -> " + quote(t.To) + " [label=" + quote(strings.Join(on, `\n`)) + "]\n")
	}
	b.WriteString("}\n")
	return b.String()
}

// quote makes a string of dot's. Names of a sound machine hold nothing that dot
// would take for an escape.
func quote(s string) string { return `"` + s + `"` }
