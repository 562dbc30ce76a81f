package fsm

import (
	"strings"
	"testing"

	"git-ward/internal/diag"
)

// The machines of seed 002 are read as they are written there, and mean the same.
func TestSourceForms(t *testing.T) {
	for name, text := range map[string]string{
		"a map": `{"description": "the cycle", "alphabet": ["plan_op", "step_op", "close_op"], "states": ["IDLE", "EXECUTING", "DONE"],
			"start_state": "IDLE", "accept_states": ["DONE"],
			"transitions": {"IDLE": {"plan_op": "EXECUTING"}, "EXECUTING": {"step_op": "EXECUTING", "close_op": "DONE"}, "DONE": {}}}`,
		"a list": `{"states": ["IDLE", "EXECUTING", "DONE"], "initial_state": "IDLE", "final_states": ["DONE"], "transitions": [
			{"source": "IDLE", "trigger": "plan_op", "dest": "EXECUTING"}, {"source": "EXECUTING", "trigger": "step_op", "dest": "EXECUTING"},
			{"source": "EXECUTING", "trigger": "close_op", "dest": "DONE"}]}`,
		"no end named": `{"initial_state": "IDLE", "transitions": {"IDLE": {"plan_op": "EXECUTING"}, "EXECUTING": {"step_op": "EXECUTING", "close_op": "DONE"}}}`,
	} {
		m, found := Parse([]byte(text), "tooling/cycle.json")
		if m == nil || len(found) > 0 {
			t.Errorf("%s: %v", name, found)
			continue
		}
		state := m.Start
		for _, on := range []string{"plan_op", "step_op", "close_op"} {
			state, _ = m.Next(state, on)
		}
		if m.Name != "cycle" || !m.Accepts(state) || m.Accepts("IDLE") {
			t.Errorf("%s: %s ends in %s of %v", name, m.Name, state, m.Accept)
		}
	}
}

// A state that is not declared, a second transition and a slip in a member are findings at
// their places.
func TestSourceFaults(t *testing.T) {
	for text, want := range map[string]string{
		`{"initial_state": "A", "states": ["A"], "transitions": {"A": {"x": "B"}}}`:           `x.json:1:68: fsm/state: "B" is not one of the states`,
		`{"initial_state": "A", "transitions": {"A": {"x": 1}}}`:                              `a JSON number where a string belongs`,
		`{"initial_state": "A", "transitions": {"A": 1}}`:                                     `where an object belongs`,
		`{"initial_stat": "A", "transitions": {}}`:                                            `unknown member /initial_stat`,
		`{"initial_state": "A", "transitions": [{"source": "A", "trigger": "x"}]}`:            `the member "to" is missing or empty`,
		`{"initial_state": "A", "start": "B", "name": "n", "transitions": {"A": {"x": "C"}}}`: `no word leads from B`,
	} {
		_, found := Parse([]byte(text), "x.json")
		var b strings.Builder
		diag.WriteText(&b, found)
		if !strings.Contains(b.String(), want) {
			t.Errorf("%s\n%swant %s", text, &b, want)
		}
	}
}
