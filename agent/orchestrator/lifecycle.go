package orchestrator

import (
	"errors"
	"fmt"
	"slices"

	"github.com/rs/zerolog"

	"git-ward/agent/activity"
	"git-ward/agent/planrun"
	"git-ward/protocols/comms"
	"git-ward/protocols/fsm"
	"git-ward/protocols/plan"
)

// The states that the code compares with; it only passes through the others.
//
// No state is a guess (PLAN-3). RUNNING_TESTS is a step whose command is a criterion of the
// directive, word for word. GENERATING_CODE is a step that writes a file, if such a test
// certainly follows it in the plan: from there the machine leads only to the tests, or to ERROR.
// After failed tests the model is told, and DEBUGGING lasts until it has a new plan.
const (
	stateExecuting  = "EXECUTING"
	stateGenerating = "GENERATING_CODE"
	stateTesting    = "RUNNING_TESTS"
	stateDebugging  = "DEBUGGING"
	stateError      = "ERROR"
)

// lifecycle is the directive's state in the machine ORCHESTRATOR (002). Every transition is a
// line of the activity log.
type lifecycle struct {
	machine   *fsm.Machine
	state     string
	directive comms.Directive
	activity  *activity.Log
	log       zerolog.Logger
}

func newLifecycle(d comms.Directive, a *activity.Log, log zerolog.Logger) *lifecycle {
	m, _ := fsm.Embedded(fsm.Orchestrator)
	return &lifecycle{machine: m, state: m.Start, directive: d, activity: a, log: log}
}

// fire makes and logs a transition; why is a failure's reason, nil for none.
func (l *lifecycle) fire(on string, why error) error {
	from := l.state
	to, ok := l.machine.Next(from, on)
	if !ok {
		return fmt.Errorf("the machine %s has no transition on %s in %s", l.machine.Name, on, from)
	}
	l.state = to
	if from == to {
		return nil // a step, which logs its own line
	}
	e := activity.Transition(l.directive.Name(), l.machine.Name, from, on, to)
	if why != nil {
		if to == stateError {
			e.Action.Type = activity.SystemFailure
		}
		e.Outcome.Status, e.Outcome.Error = activity.Failure, why.Error()
	}
	l.log.Info().Str("from", from).Str("on", on).Str("to", to).Msg("state")
	return l.activity.Append(e)
}

// stepBegins makes the transition at a plan step's begin.
func (l *lifecycle) stepBegins(s planrun.Next) error {
	switch {
	case l.state == stateExecuting && s.Action == plan.WriteOp && slices.ContainsFunc(s.Ahead, func(s plan.Step) bool { return l.decides(s.Command()) }):
		return l.fire("code_generation_requested", nil)
	case l.state == stateGenerating && l.decides(s.Command):
		return l.fire("code_generation_completed", nil)
	}
	return nil
}

// stepEnds makes the transition at its end.
func (l *lifecycle) stepEnds() error {
	switch l.state {
	case stateGenerating:
		return nil // until the tests
	case stateTesting:
		return l.fire("tests_passed", nil)
	}
	return l.fire("step_op", nil)
}

// stepFails makes the transition at its failure.
func (l *lifecycle) stepFails(why error) error {
	if l.state == stateTesting {
		return l.fire("tests_failed", why)
	}
	return l.fire(l.toError(), why)
}

// planned makes the transition to executing a plan.
func (l *lifecycle) planned() error {
	if l.state == stateDebugging {
		return l.fire("debugging_completed", nil)
	}
	return l.fire("plan_op", nil)
}

// fail makes the transition to ERROR if the state has one, and returns why.
func (l *lifecycle) fail(why error) error {
	if on := l.toError(); on != "" {
		return errors.Join(why, l.fire(on, why))
	}
	return why
}

// toError is the event from the state to ERROR, "" if there is none.
func (l *lifecycle) toError() string {
	for _, t := range l.machine.Transitions {
		if t.From == l.state && t.To == stateError {
			return t.On
		}
	}
	return ""
}

// decides reports whether a command decides a criterion of the directive.
func (l *lifecycle) decides(command string) bool {
	return command != "" && slices.ContainsFunc(l.directive.Criteria, func(c comms.Criterion) bool { return c.Command == command })
}
