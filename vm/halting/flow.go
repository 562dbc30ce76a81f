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

// components finds those that hold a cycle, among the given nodes (Tarjan, with
// a stack of its own).
func components(nodes []int, next func(int) []int) (found []component) {
	t := &tarjan{index: map[int]int{}, low: map[int]int{}, onStack: map[int]bool{}, inside: map[int]bool{}, next: next}
	for _, n := range nodes {
		t.inside[n] = true
	}
	for _, n := range nodes {
		if _, seen := t.index[n]; !seen {
			t.visit(n)
		}
	}
	return t.found
}

type tarjan struct {
	index, low      map[int]int
	onStack, inside map[int]bool
	stack           []int
	next            func(int) []int
	found           []component
}

func (t *tarjan) visit(root int) {
	type frame struct {
		node int
		rest []int
	}
	enter := func(n int) frame {
		t.index[n] = len(t.index)
		t.low[n] = t.index[n]
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
		if _, seen := t.index[m]; !seen {
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
