package plan

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"git-ward/internal/diag"
)

// node is a plan in the graph of calls.
type node struct {
	path   string
	plan   *Plan             // nil when there is none
	broken string            // why there is none
	found  []diag.Diagnostic // of its grammar
	calls  []call
	of     map[*Step]*call

	state   visit
	deep    *call // that leads deepest, once it was looked for
	depth   int   // plans on the stack when it runs: 1 without calls
	circles bool  // it is on a circle of calls, or leads to one
	loops   int   // nesting, that of callees included
	writes  bool
	uses    uses

	words   map[start]outcome
	effects *effects
	linted  []diag.Diagnostic // of a lint, nil before
}

// call is a step that calls a plan or a program.
type call struct {
	step    *Step
	loops   int    // around the step
	target  string // a path, "" when there is no such file
	program bool   // a .udc
	callee  *node  // nil for a program
	circles bool   // it leads into a circle of calls
}

// uses are the tools that CSDC models are about, those of callees included.
type uses struct{ names, diagonal bool }

type visit int

const (
	fresh visit = iota
	open        // on the stack of the search
	done
)

// deepest is the call that leads deepest, nil when there is none.
func (n *node) deepest() *call {
	if n.deep == nil {
		for i := range n.calls {
			if c := &n.calls[i]; c.callee != nil && (n.deep == nil || c.callee.depth > n.deep.callee.depth) {
				n.deep = c
			}
		}
	}
	return n.deep
}

// node reads the plan at a path, once.
func (l *Linter) node(path string) (*node, error) {
	if n := l.nodes[path]; n != nil {
		return n, nil
	}
	n := &node{path: path}
	data, err := l.sources.ReadFile(path, MaxBytes)
	l.read += int64(len(data))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		n.broken = "does not exist"
		if kind, _ := l.sources.Kind(path); kind != Missing {
			n.broken = "is a folder, a link or the like"
		}
	case errors.Is(err, diag.ErrTooLarge):
		n.broken = fmt.Sprintf("has more than %d bytes", MaxBytes)
	case err != nil:
		return nil, err
	case len(l.nodes) >= maxPlans || l.read > maxRead:
		n.broken = fmt.Sprintf("is one too many: calls lead to more than %d plans or %d bytes", maxPlans, maxRead)
	default:
		n = l.parse(path, data)
	}
	l.nodes[path] = n
	return n, nil
}

func (l *Linter) parse(path string, data []byte) *node {
	n := &node{path: path}
	n.plan, n.found = Parse(data, path)
	return n
}

// resolved is a node all of whose callees are read.
func (l *Linter) resolved(path string) (*node, error) {
	n, err := l.node(path)
	if err == nil && n.state == fresh {
		err = l.resolve(n)
	}
	return n, err
}

// resolve follows the calls of a plan, depth first.
func (l *Linter) resolve(n *node) error {
	n.state, n.depth = open, 1
	if n.plan != nil {
		if err := l.survey(n, n.plan.Steps, 0); err != nil {
			return err
		}
	}
	n.of = make(map[*Step]*call, len(n.calls))
	for i := range n.calls {
		c := &n.calls[i]
		n.of[c.step] = c
		if c.callee == nil {
			continue
		}
		switch c.callee.state {
		case fresh:
			if err := l.resolve(c.callee); err != nil {
				return err
			}
		case open:
			c.circles = true
		}
		n.inherit(c)
	}
	n.state = done
	return nil
}

// inherit takes over from a callee what the caller is because of it.
func (n *node) inherit(c *call) {
	m := c.callee
	c.circles = c.circles || m.circles
	n.circles = n.circles || c.circles
	n.depth = max(n.depth, m.depth+1)
	n.loops = max(n.loops, c.loops+m.loops)
	n.writes = n.writes || m.writes
	n.uses.names = n.uses.names || m.uses.names
	n.uses.diagonal = n.uses.diagonal || m.uses.diagonal
}

// circle is the circle of calls that a call of n leads into: one through n itself
// if there is one, else the nearest. Nil when there were too many circles to look
// for all of them.
func (l *Linter) circle(n *node, c *call) []string {
	if way := l.way(c.callee, func(m *node) bool { return m == n }); way != nil {
		return names(append([]*node{n}, way...))
	}
	var ring []*node
	l.way(c.callee, func(m *node) bool {
		for i := range m.calls {
			if next := m.calls[i].callee; next != nil {
				if way := l.way(next, func(o *node) bool { return o == m }); way != nil {
					ring = append([]*node{m}, way...)
					return true
				}
			}
		}
		return false
	})
	return names(ring)
}

func names(nodes []*node) []string {
	list := make([]string, len(nodes))
	for i, n := range nodes {
		list[i] = n.path
	}
	return list
}

// way is the shortest chain of calls from a plan to one that is meant, both
// included; nil when there is none, or when maxSearch calls were followed already
// in search of such chains.
func (l *Linter) way(n *node, meant func(*node) bool) []*node {
	from := map[*node]*node{n: nil}
	for queue := []*node{n}; len(queue) > 0 && l.searched < maxSearch; queue = queue[1:] {
		m := queue[0]
		l.searched += 1 + len(m.calls)
		if meant(m) {
			var chain []*node
			for ; m != nil; m = from[m] {
				chain = append(chain, m)
			}
			slices.Reverse(chain)
			return chain
		}
		for i := range m.calls {
			next := m.calls[i].callee
			if _, seen := from[next]; !seen && next != nil {
				from[next] = m
				queue = append(queue, next)
			}
		}
	}
	return nil
}

// survey collects calls, the nesting of loops, and what kinds of steps there are.
func (l *Linter) survey(n *node, steps []Step, loops int) error {
	n.loops = max(n.loops, loops)
	for i := range steps {
		s := &steps[i]
		switch s.Tool {
		case ForEachFile:
			if err := l.survey(n, s.Body, loops+1); err != nil {
				return err
			}
			n.loops = max(n.loops, loops+1)
		case DefineNames:
			n.uses.names = true
		case DefineDiagonal:
			n.uses.diagonal = true
		case CallPlan:
			if s.Args == "" || strings.ContainsAny(s.Args, " \t{") || (!IsName(s.Args) && BadPath(s.Args) != "") {
				continue // a finding of the grammar
			}
			c, err := l.call(s, loops)
			if err != nil {
				return err
			}
			n.calls = append(n.calls, c)
		default:
			switch s.Action() {
			case WriteOp, DeleteOp, MoveOp, ToolExec:
				n.writes = true
			}
		}
	}
	return nil
}

// call finds what a step calls.
func (l *Linter) call(s *Step, loops int) (call, error) {
	c := call{step: s, loops: loops}
	target, err := l.Resolve(s.Args)
	if err != nil {
		return c, err
	}
	kind, err := l.sources.Kind(target)
	if err != nil {
		return c, err
	}
	if kind != File && l.nodes[target] == nil {
		return c, nil
	}
	c.target = target
	if strings.HasSuffix(target, ".udc") {
		c.program = true
		return c, nil
	}
	c.callee, err = l.node(target)
	return c, err
}
