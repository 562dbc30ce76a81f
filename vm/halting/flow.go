package halting

import (
	"slices"

	"git-ward/vm/halting/code"
)

// loopHeads marks the instructions to which an edge leads back in a depth-first
// search from the start (every cycle has one, natural or irreducible), and gives
// each instruction its place in reverse postorder; unreached ones come last.
func loopHeads(p code.Program) (heads []bool, order []int32) {
	const (
		fresh = iota
		active
		finished
	)
	heads, order = make([]bool, len(p)), make([]int32, len(p))
	state := make([]uint8, len(p))
	type frame struct {
		at   int32
		rest []int32
	}
	stack := []frame{{0, successors(p, 0)}}
	state[0] = active
	number := int32(len(p))
	for i := range order {
		order[i] = number
	}
	for len(stack) > 0 {
		top := &stack[len(stack)-1]
		if len(top.rest) == 0 {
			number--
			order[top.at], state[top.at] = number, finished
			stack = stack[:len(stack)-1]
			continue
		}
		n := top.rest[0]
		top.rest = top.rest[1:]
		switch state[n] {
		case active:
			heads[n] = true
		case fresh:
			state[n] = active
			stack = append(stack, frame{n, successors(p, n)})
		}
	}
	return heads, order
}

// component is a strongly connected part of a graph: nodes, ascending.
type component []int

// tarjan finds components. Its tables are as long as the graph and used again for
// each part of it: plans may have a million instructions, or thousands of loops.
type tarjan struct {
	next            func(int) []int
	index, low      []int32 // 0: not seen
	onStack, inside []bool
	stack           []int
	seen            int32
	found           []component
}

// newTarjan is for graphs of the nodes 0 to size-1.
func newTarjan(size int, next func(int) []int) *tarjan {
	return &tarjan{next: next, index: make([]int32, size), low: make([]int32, size), onStack: make([]bool, size), inside: make([]bool, size)}
}

// all are the components of the whole graph.
func (t *tarjan) all() []component {
	nodes := make([]int, len(t.index))
	for i := range nodes {
		nodes[i] = i
	}
	return t.components(nodes)
}

// components finds those that hold a cycle, among the given nodes (Tarjan, with
// a stack of its own).
func (t *tarjan) components(nodes []int) []component {
	t.seen, t.found = 0, nil
	for _, n := range nodes {
		t.inside[n] = true
	}
	for _, n := range nodes {
		if t.index[n] == 0 {
			t.visit(n)
		}
	}
	for _, n := range nodes {
		t.inside[n], t.index[n] = false, 0
	}
	return t.found
}

func (t *tarjan) visit(root int) {
	type frame struct {
		node int
		rest []int
	}
	enter := func(n int) frame {
		t.seen++
		t.index[n], t.low[n] = t.seen, t.seen
		t.stack = append(t.stack, n)
		t.onStack[n] = true
		return frame{n, t.next(n)}
	}
	calls := []frame{enter(root)}
	for len(calls) > 0 {
		top := &calls[len(calls)-1]
		if len(top.rest) == 0 {
			n := top.node
			calls = calls[:len(calls)-1]
			if len(calls) > 0 {
				parent := calls[len(calls)-1].node
				t.low[parent] = min(t.low[parent], t.low[n])
			}
			t.leave(n)
			continue
		}
		m := top.rest[0]
		top.rest = top.rest[1:]
		if !t.inside[m] {
			continue
		}
		if t.index[m] == 0 {
			calls = append(calls, enter(m))
		} else if t.onStack[m] {
			t.low[top.node] = min(t.low[top.node], t.index[m])
		}
	}
}

// leave pops the component of which n is the root.
func (t *tarjan) leave(n int) {
	if t.low[n] != t.index[n] {
		return
	}
	var c component
	for {
		m := t.stack[len(t.stack)-1]
		t.stack = t.stack[:len(t.stack)-1]
		t.onStack[m] = false
		c = append(c, m)
		if m == n {
			break
		}
	}
	if len(c) == 1 && !slices.Contains(t.next(n), n) {
		return
	}
	slices.Sort(c)
	t.found = append(t.found, c)
}
