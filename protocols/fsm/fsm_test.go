package fsm

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"git-ward/internal/diag"
)

// TestEmbedded: the machines are sound, and are those of PLAN-3.
func TestEmbedded(t *testing.T) {
	for _, name := range Names() {
		text, _ := Source(name)
		m, found := Parse([]byte(text), name)
		if m == nil || len(found) > 0 || m.Name != name {
			t.Fatalf("%s: %v", name, found)
		}
	}
	if _, ok := Embedded("nothing"); ok {
		t.Error("there is a machine nothing")
	}
}

// TestWords walks words of PLAN-3 through the machines.
func TestWords(t *testing.T) {
	for _, c := range []struct{ machine, word, end string }{
		{FDC, "plan_op step_op write_op delete_op move_op tool_exec read_op step_op close_op submit_op", "DONE"},
		{FDC, "plan_op read_op", ""},
		{FDC, "plan_op step_op submit_op", ""},
		{FDC, "step_op", ""},
		{Sub, "read_op write_op", "EXECUTING"},
		{Sub, "close_op", ""},
		{Research, "plan_op read_op tool_exec step_op write_op close_op", "DONE"},
		{Research, "plan_op write_op", ""},
		{Orchestrator, "begin_task orientation_succeeded plan_op step_op step_op all_steps_completed finalization_succeeded", "AWAITING_SUBMISSION"},
		{Orchestrator, "begin_task orientation_succeeded research_requested research_started wait wait result_ready plan_op", "EXECUTING"},
		{Orchestrator, "begin_task orientation_succeeded plan_op code_generation_requested code_generation_completed tests_failed debugging_completed", "EXECUTING"},
		{Orchestrator, "begin_task orientation_failed reorient", "ORIENTING"},
		{Orchestrator, "begin_task orientation_succeeded plan_op execution_failed reorient orientation_succeeded planning_failed", "ERROR"},
	} {
		m, _ := Embedded(c.machine)
		state, ok := m.Start, true
		for on := range strings.FieldsSeq(c.word) {
			if state, ok = m.Next(state, on); !ok {
				break
			}
		}
		if state != c.end {
			t.Errorf("%s: %s ends in %q, not %q", c.machine, c.word, state, c.end)
		}
	}
}

func TestParseFindings(t *testing.T) {
	for doc, want := range map[string]string{
		`{`:                        "m.json:1:2: fsm/schema: not valid JSON: unexpected EOF",
		`{"name":"m","name":"m"}`:  "m.json:1:13: fsm/schema: not valid JSON at /name: duplicate object member name",
		`{"nam":"m"}`:              "m.json:1:2: fsm/schema: unknown member /nam",
		"{\n \"start\": 3}":        "m.json:2:",
		`{"name":"m","start":"A"}`: "m.json:1:21: fsm/schema: no state accepts",
		`{"name":"a b","start":"A","accept":["A"],"transitions":[]}`:                                                                                                      `m.json:1:9: fsm/name: "a b" is not a name`,
		`{"name":"m","start":"A","accept":["A","A"],"transitions":[{"from":"A","on":"x","to":"A"}]}`:                                                                      `m.json:1:39: fsm/state: "A" stands in accept already`,
		`{"name":"m","start":"A","accept":["B"],"transitions":[{"from":"A","on":"x","to":"A"}]}`:                                                                          `m.json:1:35: fsm/state: "B" is not a state`,
		"{\"name\":\"m\",\"start\":\"A\",\"accept\":[\"A\"],\"transitions\":[\n{\"from\":\"A\",\"on\":\"x\",\"to\":\"A\"},\n{\"from\":\"A\",\"on\":\"x\",\"to\":\"B\"}]}": "m.json:3:9: fsm/deterministic: A has a second transition on x, the first stands on line 2",
		`{"name":"m","start":"A","accept":["B"],"transitions":[{"from":"B","on":"x","to":"A"}]}`:                                                                          "m.json:1:21: fsm/empty: no word leads from A to an accepting state",
		`{"name":"m","start":"A","accept":["A"],"transitions":[{"from":"B","on":"x","to":"A"}]}`:                                                                          "m.json:1:63: warning: fsm/unreachable: no word leads to B",
		`{"name":"m","start":"A","accept":["A"],"transitions":[{"on":"x","to":"A"}]}`:                                                                                     `m.json:1:1: fsm/name: the member "from" is missing or empty`,
	} {
		m, found := Parse([]byte(doc), "m.json")
		var b strings.Builder
		diag.WriteText(&b, found)
		if !strings.Contains(b.String(), want) {
			t.Errorf("%s\ngot  %swant %s", doc, b.String(), want)
		}
		if (m == nil) != diag.HasErrors(found) {
			t.Errorf("%s: machine %v with %v", doc, m, found)
		}
	}
	if _, found := Parse(make([]byte, MaxBytes+1), "m"); len(found) != 1 || found[0].Rule != RuleSize {
		t.Error(found)
	}
}

func TestDot(t *testing.T) {
	m, _ := Embedded(FDC)
	dot := m.Dot()
	for _, want := range []string{`digraph "fdc" {`, `"DONE" [peripheries=2]`, `"EXECUTING" -> "EXECUTING" [label="step_op\nread_op\nwrite_op\ndelete_op\nmove_op\ntool_exec"]`, `"" -> "IDLE"`} {
		if !strings.Contains(dot, want) {
			t.Errorf("no %s in\n%s", want, dot)
		}
	}
	if got := fmt.Sprintf("%v %v %s %s %q %v", m.Expects("POST_MORTEM"), m.Expects("DONE"), m.Target("step_op"), m.Target("close_op"), m.Target("x"), m.Knows("x")); got != `[submit_op] [] EXECUTING POST_MORTEM "" false` {
		t.Error(got)
	}
}

// FuzzParse: a machine that parses is the same after it is written and read again.
func FuzzParse(f *testing.F) {
	for _, name := range Names() {
		text, _ := Source(name)
		f.Add([]byte(text))
	}
	f.Add([]byte(`{"name":"m","start":"A","accept":["A"],"transitions":[{"from":"B","on":"x","to":"A"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, found := Parse(data, "m")
		for _, d := range found {
			if d.Line < 1 || d.Col < 1 || d.Message == "" || d.Hint == "" {
				t.Fatalf("incomplete: %+v", d)
			}
		}
		if m == nil {
			return
		}
		text, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		again, found := Parse(text, "m")
		if again == nil {
			t.Fatalf("%s: %v", text, found)
		}
		if again.Dot() != m.Dot() {
			t.Fatalf("%s\n%s", m.Dot(), again.Dot())
		}
	})
}
