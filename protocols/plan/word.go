package plan

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"git-ward/internal/diag"
	"git-ward/protocols/fsm"
)

// sourceMachines are the machines of seed 002 by the names of its files.
var sourceMachines = map[string]string{"fdc_fsm.json": fsm.FDC, "research_fsm.json": fsm.Research}

// start is a machine and a state that a callee's word begins in.
type start struct{ machine, state string }

// outcome is where a callee's word ends, or its first fault.
type outcome struct {
	end   string
	fault string // with its place, "" for none
}

// machine reads the machine of a plan: an embedded one, or the one at a path.
func (l *Linter) machine(name string) (*fsm.Machine, string, error) {
	if m := l.loaded[name]; m != nil {
		return m, "", nil
	}
	if name == fsm.FDC || name == fsm.Sub || name == fsm.Research {
		m, _ := fsm.Embedded(name)
		l.loaded[name] = m
		return m, "", nil
	}
	if BadPath(name) != "" || l.machines == nil {
		return nil, "is no machine of a plan", nil
	}
	data, err := l.machines(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, "is no machine of a plan, and main has no such file", nil
	}
	if err != nil {
		return nil, "", err
	}
	m, found := fsm.Parse(data, name)
	if m == nil {
		return nil, fmt.Sprintf("is not a sound machine: %s: %s", found[0].Pos, found[0].Message), nil
	}
	l.loaded[name] = m
	return m, "", nil
}

// word checks that the plan is a word of its machine's language (002, rule
// fsm-adherence), and the closure mandate.
func (l *Linter) word(n *node, out *findings) error {
	m, bad, err := l.machine(n.plan.Machine())
	if err != nil {
		return err
	}
	if m == nil {
		hint := nearHint(n.plan.FSM, []string{fsm.FDC, fsm.Sub, fsm.Research}, "write fdc, sub, research, or the path of a machine that main has")
		if ours := sourceMachines[path.Base(n.plan.FSM)]; ours != "" {
			hint = "write `# FSM: " + ours + "`, which is what the source's machine of that name is here"
		}
		out.add(max(n.plan.fsmLine, 1), 1, RuleHeader, fmt.Sprintf("# FSM: %s %s", cut(n.plan.FSM), bad), hint)
		return nil
	}
	if d := Directive(n.path); d != "" && (m.Name == fsm.Sub || !m.Knows(string(CloseOp))) {
		out.add(max(n.plan.fsmLine, 1), 1, RuleMachine, fmt.Sprintf("the plan of %s is of the machine %s, which never closes its task", d, m.Name),
			"write `# FSM: fdc`, set_plan and plan_step_complete before the work, the closing command and submit after it; sub is for plans that others call")
		return nil
	}
	w := &walker{linter: l, node: n, machine: m, fault: func(s *Step, message, hint string) {
		out.at(s, RuleFSM, message, hint)
	}}
	end, err := w.walk(n.plan.Steps, m.Start)
	if err != nil || len(n.plan.Steps) == 0 {
		return err
	}
	last := &n.plan.Steps[len(n.plan.Steps)-1]
	if !m.Accepts(end) {
		out.at(last, RuleFSM, fmt.Sprintf("the plan ends in %s, where the machine %s does not accept", end, m.Name), expects(m, end))
	}
	if m.Knows(string(CloseOp)) {
		closure(n.plan, last, out)
	}
	return nil
}

// closure reports a plan whose last step, but for submit, does not close the task.
func closure(p *Plan, last *Step, out *findings) {
	steps := p.Steps
	if last.Action() == SubmitOp {
		steps = steps[:len(steps)-1]
	}
	if len(steps) > 0 && steps[len(steps)-1].Action() == CloseOp {
		return
	}
	out.at(last, RuleClosure, "the plan does not close its task at its end",
		"end with `run_in_bash_session git ward task close --task-id ID`, and then submit")
}

// walker leads a machine along the steps of a plan.
type walker struct {
	linter  *Linter
	node    *node
	machine *fsm.Machine
	fault   func(s *Step, message, hint string)
}

// walk returns the state after the steps. After a fault it goes on from the state
// that the step was meant for, so that one slip is one finding.
func (w *walker) walk(steps []Step, state string) (string, error) {
	var err error
	for i := range steps {
		s := &steps[i]
		action := s.Action()
		switch {
		case byName[s.Tool] == nil:
			continue // a finding of the grammar
		case s.Tool == ForEachFile:
			err = w.loop(s, state)
		case action == "" || action == ToolExec && s.Tool == CallPlan:
			state, err = w.call(s, state)
		default:
			state = w.step(s, action, state)
		}
		if err != nil {
			return state, err
		}
	}
	return state, nil
}

func (w *walker) step(s *Step, action Action, state string) string {
	if next, ok := w.machine.Next(state, string(action)); ok {
		return next
	}
	w.fault(s, fmt.Sprintf("%s is a %s, which the machine %s has no transition on in %s", s.Tool, action, w.machine.Name, state), expects(w.machine, state))
	if target := w.machine.Target(string(action)); target != "" {
		return target
	}
	return state
}

func (w *walker) loop(s *Step, state string) error {
	end, err := w.walk(s.Body, state)
	if err == nil && end != state {
		w.fault(s, fmt.Sprintf("the body of the loop leads from %s to %s; it must end where it began", state, end), "a body runs once for each file, or never: keep steps that change the state out of it")
	}
	return err
}

// call leads the machine along the callee's word.
func (w *walker) call(s *Step, state string) (string, error) {
	c := w.node.of[s]
	if c == nil || c.target == "" {
		return state, nil // a finding of its own
	}
	if c.program {
		return w.step(s, ToolExec, state), nil
	}
	callee := c.callee
	if callee.plan == nil || callee.circles || diag.HasErrors(callee.found) || callee.plan.Machine() == fsm.FDC {
		return state, nil // the same
	}
	if callee.plan.Machine() == fsm.Research {
		return w.step(s, ToolExec, state), nil // a cycle of its own
	}
	o, err := w.linter.outcome(callee, w.machine, state)
	if err != nil {
		return state, err
	}
	if o.fault != "" {
		w.fault(s, fmt.Sprintf("the steps of %s do not fit here: %s", c.target, o.fault), expects(w.machine, state))
	}
	if o.fault == "" && o.end != state && w.node.plan.Machine() == fsm.Research {
		w.fault(s, fmt.Sprintf("%s leads from %s to %s: research takes these steps itself", c.target, state, o.end), "call what gathers, and write plan_step_complete and the report in this plan")
	}
	return o.end, nil
}

// outcome leads a machine along a callee's word, once for each state that it is
// called in, so that the work is linear in the plans and not in the calls.
func (l *Linter) outcome(n *node, m *fsm.Machine, state string) (outcome, error) {
	key := start{m.Name, state}
	if o, ok := n.words[key]; ok {
		return o, nil
	}
	var o outcome
	w := &walker{linter: l, node: n, machine: m, fault: func(s *Step, message, _ string) {
		if o.fault == "" {
			o.fault = fmt.Sprintf("%s:%d:%d: %s", n.path, s.Line, s.Col, message)
		}
	}}
	var err error
	if o.end, err = w.walk(n.plan.Steps, state); err != nil {
		return o, err
	}
	if n.words == nil {
		n.words = map[start]outcome{}
	}
	n.words[key] = o
	return o, nil
}

// expects says what a machine goes on with.
func expects(m *fsm.Machine, state string) string {
	list := m.Expects(state)
	if len(list) == 0 {
		return fmt.Sprintf("nothing comes after %s", state)
	}
	var parts []string
	for _, on := range list {
		if names := toolsOf(Action(on)); names != "" && len(list) <= 3 {
			on += " (" + names + ")"
		}
		parts = append(parts, on)
	}
	return fmt.Sprintf("in %s comes %s", state, strings.Join(parts, ", or "))
}

// toolsOf names tools of an action type.
func toolsOf(a Action) string {
	if a == CloseOp {
		return "git ward task close --task-id ID"
	}
	var names []string
	for _, t := range tools {
		if t.Action == a && len(names) < 3 {
			names = append(names, t.Name)
		}
	}
	return strings.Join(names, ", ")
}
