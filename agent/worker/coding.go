package worker

import (
	"context"
	"errors"
	"slices"

	"git-ward/agent/planrun"
	"git-ward/protocols/plan"
)

// States of the orchestrator that a plan's steps lead through (PLAN-3).
//
// Nothing in them is guessed. Tests are the commands of the directive's criteria,
// each as it is written there and in a step of its own. To write a file is to
// generate code where such a command is sure to come behind it in the plan: the
// machine knows no way from GENERATING_CODE but to the tests, or to ERROR. Where
// the tests fail the model is told, and DEBUGGING is until it has a plan again.
const (
	stateExecuting  = "EXECUTING"
	stateGenerating = "GENERATING_CODE"
	stateTesting    = "RUNNING_TESTS"
	stateDebugging  = "DEBUGGING"
	stateError      = "ERROR"
)

// before makes the transition that a step of the plan begins with.
func (o *orchestrator) before(s planrun.Next) error {
	switch {
	case o.state == stateExecuting && s.Action == plan.WriteOp && slices.ContainsFunc(s.Ahead, func(s plan.Step) bool { return o.tests(s.Command()) }):
		return o.fire("code_generation_requested", nil)
	case o.state == stateGenerating && o.tests(s.Command):
		return o.fire("code_generation_completed", nil)
	}
	return nil
}

// after makes the transition that a step ends with.
func (o *orchestrator) after() error {
	switch o.state {
	case stateGenerating:
		return nil // until the tests
	case stateTesting:
		return o.fire("tests_passed", nil)
	}
	return o.fire("step_op", nil)
}

// stepFailed makes the transition that a failed step leads to.
func (o *orchestrator) stepFailed(why error) error {
	if o.state == stateTesting {
		return o.fire("tests_failed", why)
	}
	return o.fire(o.failure(), why)
}

// tests reports whether a command decides a criterion of the directive.
func (o *orchestrator) tests(command string) bool {
	for _, c := range o.directive.Criteria {
		if command != "" && c.Command == command {
			return true
		}
	}
	return false
}

// planned makes the transition that a plan to execute leads to.
func (o *orchestrator) planned() error {
	if o.state == stateDebugging {
		return o.fire("debugging_completed", nil)
	}
	return o.fire("plan_op", nil)
}

// failure is the state's way to ERROR, "" where it has none.
func (o *orchestrator) failure() string {
	for _, t := range o.machine.Transitions {
		if t.From == o.state && t.To == stateError {
			return t.On
		}
	}
	return ""
}

// fail makes the transition to ERROR, where the state has one, and returns why.
func (o *orchestrator) fail(why error) error {
	if on := o.failure(); on != "" {
		return errors.Join(why, o.fire(on, why))
	}
	return why
}

// replan comes back to PLANNING from a state that has no other way to it than by
// ERROR.
func (o *orchestrator) replan(ctx context.Context, why error) error {
	if err := o.fire(o.failure(), why); err != nil {
		return err
	}
	if err := o.fire("reorient", nil); err != nil {
		return err
	}
	return o.orient(ctx, false)
}
