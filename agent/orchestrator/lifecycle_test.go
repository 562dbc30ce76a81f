package orchestrator

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"git-ward/agent/activity"
	"git-ward/agent/interaction"
	"git-ward/agent/planrun"
	"git-ward/internal/diag"
	"git-ward/protocols/comms"
	"git-ward/protocols/plan"
)

// newTestLifecycle is that of a directive which `make test` decides, with its
// activity log.
func newTestLifecycle(t *testing.T) (l *lifecycle, log string) {
	dir := t.TempDir()
	a, err := activity.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	doc, _ := comms.Parse([]byte("# COMMS\n\n## Directives\n\n### D-1: greet\n\nSay hello.\n\n- [ ] it greets (`make test`)\n\n## Reports\n"))
	return newLifecycle(doc.Directives[0], a, zerolog.Nop()), filepath.Join(dir, activity.Name)
}

// TestLifecycle: the way of a plan's steps through the machine (PLAN-3). A step that
// writes is code where a test is sure to follow it, and else a step.
func TestLifecycle(t *testing.T) {
	p, found := plan.Parse([]byte("# FSM: fdc\nset_plan the way\nrun_in_bash_session make test\n"), "p.txt")
	if len(found) > 0 {
		t.Fatal(found)
	}
	tests := p.Steps
	write, test := planrun.Next{Action: plan.WriteOp}, planrun.Next{Command: "make test"}
	writeCode := planrun.Next{Action: plan.WriteOp, Ahead: tests}
	begins := func(n planrun.Next) func(*lifecycle) error {
		return func(l *lifecycle) error { return l.stepBegins(n) }
	}
	ends := func(l *lifecycle) error { return l.stepEnds() }
	fails := func(l *lifecycle) error { return l.stepFails(errors.New("exit 1")) }
	planned := func(l *lifecycle) error { return l.planned() }
	fires := func(on string) func(*lifecycle) error {
		return func(l *lifecycle) error { return l.fire(on, nil) }
	}
	for name, c := range map[string]struct {
		steps []func(*lifecycle) error
		way   string // the states that are entered, from EXECUTING on
	}{
		"a step":              {[]func(*lifecycle) error{begins(write), ends}, ""},
		"code, then its test": {[]func(*lifecycle) error{begins(writeCode), ends, begins(test), ends}, "GENERATING_CODE RUNNING_TESTS EXECUTING"},
		"tests that fail":     {[]func(*lifecycle) error{begins(writeCode), ends, begins(test), fails, planned}, "GENERATING_CODE RUNNING_TESTS DEBUGGING EXECUTING"},
		"a step that fails":   {[]func(*lifecycle) error{begins(write), fails, fires("reorient")}, "ERROR ORIENTING"},
		"the end":             {[]func(*lifecycle) error{begins(write), ends, fires("all_steps_completed")}, "FINALIZING"},
	} {
		l, log := newTestLifecycle(t)
		l.state = stateExecuting
		for i, step := range c.steps {
			if err := step(l); err != nil {
				t.Errorf("%s, step %d: %v", name, i, err)
			}
		}
		if got := way(t, log); got != c.way {
			t.Errorf("%s: %q, want %q", name, got, c.way)
		}
	}
}

// way is the states that the activity log says were entered.
func way(t *testing.T, log string) string {
	data, err := os.ReadFile(log)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	var states []string
	for line := range strings.Lines(string(data)) {
		_, rest, _ := strings.Cut(line, `"phase":"`)
		state, _, _ := strings.Cut(rest, `"`)
		states = append(states, state)
	}
	return strings.Join(states, " ")
}

func TestUnknownTransition(t *testing.T) {
	l, log := newTestLifecycle(t)
	if err := l.fire("all_steps_completed", nil); err == nil || !strings.Contains(err.Error(), "no transition") || l.state != l.machine.Start {
		t.Errorf("%v, and the state is %s", err, l.state)
	}
	cause := errors.New("no plan")
	if err := l.fail(cause); !errors.Is(err, cause) {
		t.Error(err)
	}
	if got := way(t, log); strings.Contains(got, "FINALIZING") {
		t.Error(got)
	}
}

func TestPrompts(t *testing.T) {
	l, _ := newTestLifecycle(t)
	o := &Orchestrator{Directive: l.directive}
	for name, text := range map[string]string{
		"a first plan":   o.Ask("L1 self-awareness\n", PlanPath("D-1")).Text(),
		"an iteration's": o.Ask("", IterationPlanPath("D-1", 2)).Text(),
		"a refusal":      tellPushRefused("agent/D-1", "a:1: r/x: no\n", PlanPath("D-1")),
		"findings":       tellFindings("a:1: r/x: no\n", PlanPath("D-1")),
		"a failed step":  tellStepFailed(errors.New("step p#1 failed"), PlanPath("D-1")),
	} {
		if !strings.Contains(text, "plans/D-1.plan.txt") && !strings.Contains(text, "plans/D-1.iter_2.plan.txt") {
			t.Errorf("%s does not say where the plan goes:\n%s", name, text)
		}
	}
	if text := askForWords("step:\n    ok\n", ".ward/postmortems"); !strings.HasSuffix(text, "What the last steps gave:\n\nstep:\n    ok\n") {
		t.Error(text)
	}
	if strings.Contains(askForWords("", ".ward/postmortems"), "gave") {
		t.Error("no step gave anything")
	}
	if text := stepOutput("p#1", strings.Repeat("x", 20<<10)); len(text) > 17<<10 || !strings.HasSuffix(text, "    [cut]\n") {
		t.Errorf("%d bytes", len(text))
	}
}

// TestCallsLeft: a plan of more steps than the iteration may still take is refused, with both
// numbers. Loops are not counted: nobody knows what they come to.
func TestCallsLeft(t *testing.T) {
	gate := &interaction.Gate{MaxCalls: 5}
	gate.Note(2)
	c := &critic{directive: "D-1", runner: &planrun.Runner{Gate: gate}}
	for text, want := range map[string]string{
		"set_plan\nplan_step_complete x\nsubmit\n":                                          "",
		"set_plan\nplan_step_complete x\nfor_each_file *.md\n  read_file {file1}\nsubmit\n": "",
		"set_plan\nplan_step_complete x\nread_file a\nsubmit\n":                             "the plan has 4 steps, and 3 uses of tools are left to this iteration (max_tool_calls_per_iteration)",
	} {
		p, _ := plan.Parse([]byte(text), "p.txt")
		got := ""
		for _, d := range c.steps("p.txt", p) {
			got += d.Message
		}
		if got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
	p, _ := plan.Parse([]byte("set_plan\nplan_step_complete x\nread_file a\nsubmit\n"), "p.txt")
	if found := c.steps("p.txt", p); !diag.HasErrors(found) {
		t.Errorf("%+v is no refusal", found)
	}
	// After a failed step two of these are done, and of the uses that are taken.
	if c.amends = true; diag.HasErrors(c.steps("p.txt", p)) {
		t.Error("the plan that goes on after a failed step is refused")
	}
	c.runner.Gate = nil
	if p, _ := plan.Parse([]byte("set_plan\n"), "p.txt"); c.steps("p.txt", p) != nil {
		t.Error("a plan without a bound is refused")
	}
}
