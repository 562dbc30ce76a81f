package planrun

import (
	"fmt"
	"slices"

	"git-ward/protocols/fsm"
	"git-ward/protocols/plan"
)

// maxExecuted bounds a run's steps, counting each turn of a loop.
const maxExecuted = 100_000

// cursor walks a plan's steps in execution order, on a stack of its own (002: the plan
// execution stack). It depends only on the plans and the loops' files, so that another walk
// gives the same steps.
type cursor struct {
	plans func(name string) (path string, p *plan.Plan, err error)
	files func(glob string) ([]string, error)
	topic string // of the research that the first plan calls, or is
	stack []scope
	n     int
}

// scope is a plan or a loop's body in progress.
type scope struct {
	path    string // of the plan
	machine string
	steps   []plan.Step
	next    int
	loop    bool
	files   []string // of a loop
	turn    int
}

// point is a step to execute.
type point struct {
	*plan.Step
	n       int      // from 1, in the order of execution
	files   []string // turns of the enclosing loops, the outermost first
	stack   []string // the plans, each with its current step
	machine string
}

// start puts the first plan on the stack.
func (c *cursor) start(path string, p *plan.Plan) {
	c.topic = plan.Topic(p)
	c.stack = []scope{{path: path, machine: p.Machine(), steps: c.about(p)}}
}

// about is a plan's steps; those of research have the topic in its places.
func (c *cursor) about(p *plan.Plan) []plan.Step {
	if p.Machine() != fsm.Research {
		return p.Steps
	}
	return plan.On(c.topic, p.Steps)
}

// next is the step to execute; ok is false at the end.
func (c *cursor) next() (p point, ok bool) {
	for len(c.stack) > 0 {
		top := &c.stack[len(c.stack)-1]
		if top.next < len(top.steps) {
			top.next++
			c.n++
			return c.point(&top.steps[top.next-1]), true
		}
		if top.loop && top.turn+1 < len(top.files) {
			top.turn++
			top.next = 0
			continue
		}
		c.stack = c.stack[:len(c.stack)-1]
	}
	return point{}, false
}

func (c *cursor) point(s *plan.Step) point {
	p := point{Step: s, n: c.n}
	for _, sc := range c.stack {
		if sc.loop {
			p.files = append(p.files, sc.files[sc.turn])
			continue
		}
		p.files, p.machine = nil, sc.machine // the caller's loops do not apply to the callee
		p.stack = append(p.stack, fmt.Sprintf("%s#%d", sc.path, sc.next))
	}
	return p
}

// enter pushes a loop's body or a called plan on the stack, and does nothing for other steps.
// The error says why it cannot.
func (c *cursor) enter(p point) error {
	switch {
	case c.n > maxExecuted:
		return fmt.Errorf("more than %d steps were executed", maxExecuted)
	case p.Tool == plan.ForEachFile:
		files, err := c.files(plan.Fill(p.Args, p.files))
		if err == nil && len(files) > 0 {
			top := c.stack[len(c.stack)-1]
			c.stack = append(c.stack, scope{path: top.path, machine: top.machine, steps: p.Body, loop: true, files: files})
		}
		return err
	case p.Tool != plan.CallPlan:
		return nil
	}
	path, callee, err := c.plans(p.Args)
	if err != nil || callee == nil {
		return err // nil, nil: a program
	}
	depth := 1
	for _, sc := range c.stack {
		if !sc.loop {
			depth++
		}
	}
	if depth > plan.MaxRecursionDepth {
		return fmt.Errorf("calling %s would put %d plans on the stack, more than %d", path, depth, plan.MaxRecursionDepth)
	}
	c.stack = append(c.stack, scope{path: path, machine: callee.Machine(), steps: c.about(callee)})
	return nil
}

// research reports whether the step belongs to a research plan.
func (p point) research() bool { return p.machine == fsm.Research }

// match lists the files that a glob matches, in order.
func match(glob string, files []string) []string {
	var list []string
	for _, f := range files {
		if plan.MatchFile(glob, f) {
			list = append(list, f)
		}
	}
	slices.Sort(list)
	return list
}
