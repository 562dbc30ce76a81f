package fsm

import (
	"fmt"
	"slices"

	"git-ward/internal/diag"
	"git-ward/protocols/jsondoc"
)

// Bounds of a machine.
const (
	MaxBytes       = 256 << 10
	maxTransitions = 2000
	maxName        = 64
)

// The rules of findings about a machine.
const (
	RuleSchema        = "fsm/schema"
	RuleSize          = "fsm/size"
	RuleName          = "fsm/name"
	RuleDeterministic = "fsm/deterministic"
	RuleState         = "fsm/state"
	RuleUnreachable   = "fsm/unreachable"
	RuleEmpty         = "fsm/empty"
)

// document is a machine as it is written, with the places of its names.
type document struct {
	Name        jsondoc.Text   `json:"name"`
	Start       jsondoc.Text   `json:"start"`
	Accept      []jsondoc.Text `json:"accept"`
	Transitions transitions    `json:"transitions"`

	source
}

// Parse reads a machine. The path is for the findings, all of which come back;
// with an error among them there is no machine.
func Parse(data []byte, path string) (*Machine, []diag.Diagnostic) {
	p := &parser{data: data, path: path}
	if len(data) > MaxBytes {
		p.report(0, RuleSize, fmt.Sprintf("the machine has %d bytes, more than %d", len(data), MaxBytes), "make it smaller: a lifecycle has a few dozen states")
		return nil, p.found
	}
	var doc document
	if d, ok := jsondoc.Decode(data, &doc, RuleSchema, 1); !ok {
		d.Path = path
		return nil, append(p.found, d)
	}
	p.translate(&doc)
	m := p.machine(&doc)
	if diag.HasErrors(p.found) {
		return nil, p.found
	}
	return m, p.found
}

type parser struct {
	data  []byte
	path  string
	found []diag.Diagnostic
}

func (p *parser) report(offset int64, rule, message, hint string) *diag.Diagnostic {
	line, col := jsondoc.Place(p.data, offset, 1)
	p.found = append(p.found, diag.Diagnostic{Pos: diag.Pos{Path: p.path, Line: line, Col: col}, Rule: rule, Severity: diag.Error, Message: message, Hint: hint})
	return &p.found[len(p.found)-1]
}

func (p *parser) machine(doc *document) *Machine {
	m := &Machine{Name: p.name(doc.Name, "name"), Start: p.name(doc.Start, "start")}
	if len(doc.Transitions) > maxTransitions {
		p.report(0, RuleSize, fmt.Sprintf("the machine has %d transitions, more than %d", len(doc.Transitions), maxTransitions), "make it smaller")
		return m
	}
	first := map[edge]int64{}
	for _, t := range doc.Transitions {
		u := Transition{p.name(t.From, "from"), p.name(t.On, "on"), p.name(t.To, "to")}
		m.Transitions = append(m.Transitions, u)
		if at, twice := first[edge{u.From, u.On}]; twice {
			line, _ := jsondoc.Place(p.data, at, 1)
			p.report(t.From.Offset, RuleDeterministic, fmt.Sprintf("%s has a second transition on %s, the first stands on line %d", u.From, u.On, line), "keep one of them")
		}
		first[edge{u.From, u.On}] = t.From.Offset
	}
	if len(doc.Accept) == 0 {
		p.report(doc.Start.Offset, RuleSchema, "no state accepts: the member /accept is missing or empty", `add "accept": ["..."]`)
	}
	m.index()
	states := m.States()
	for _, a := range doc.Accept {
		if slices.Contains(m.Accept, a.Value) {
			p.report(a.Offset, RuleState, fmt.Sprintf("%q stands in accept already", diag.Clean(a.Value)), "give it once")
		}
		m.Accept = append(m.Accept, p.name(a, "accept"))
		if !slices.Contains(states, a.Value) {
			p.report(a.Offset, RuleState, fmt.Sprintf("%q is not a state: no transition has it", a.Value), near(a.Value, states))
		}
	}
	p.reach(doc, m)
	return m
}

// name checks the name of a state, a symbol or a machine.
func (p *parser) name(t jsondoc.Text, member string) string {
	switch {
	case t.Value == "":
		p.report(t.Offset, RuleName, fmt.Sprintf("the member %q is missing or empty", member), "every machine has name, start, accept and transitions of from, on, to")
	case !plain(t.Value):
		p.report(t.Offset, RuleName, fmt.Sprintf("%q is not a name", diag.Clean(t.Value)), fmt.Sprintf("use letters, digits, dots, dashes and underscores, %d at most", maxName))
	}
	return t.Value
}

func plain(s string) bool {
	for _, c := range []byte(s) {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' || c == '.') {
			return false
		}
	}
	return len(s) <= maxName
}

// reach reports a machine that no word leads to an end, and unreachable states, which are
// probably typing errors.
func (p *parser) reach(doc *document, m *Machine) {
	if len(p.found) > 0 {
		return // after an error in the states
	}
	seen := map[string]bool{m.Start: true}
	for grown := true; grown; {
		grown = false
		for _, t := range m.Transitions {
			if seen[t.From] && !seen[t.To] {
				seen[t.To], grown = true, true
			}
		}
	}
	if !slices.ContainsFunc(m.Accept, func(s string) bool { return seen[s] }) {
		p.report(doc.Start.Offset, RuleEmpty, "no word leads from "+m.Start+" to an accepting state", "add the missing transition, or accept another state")
	}
	for _, t := range doc.Transitions {
		if !seen[t.From.Value] {
			seen[t.From.Value] = true // once
			p.report(t.From.Offset, RuleUnreachable, fmt.Sprintf("no word leads to %s", t.From.Value), "add a transition to it, or drop its own").Severity = diag.Warning
		}
	}
}

func near(word string, candidates []string) string {
	if n := diag.Nearest(word, candidates); n != "" {
		return fmt.Sprintf("did you mean %q?", n)
	}
	return "write one of the states, or add a transition to it"
}
