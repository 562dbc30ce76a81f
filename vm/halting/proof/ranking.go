package proof

import (
	"errors"
	"fmt"
	"slices"
)

// maxWeight bounds the weights of a ranking: the bounds of sums try every
// pairing of their terms.
const maxWeight = 2

// ranked checks that no loop of the invariant goes on for ever: every strongly
// connected component has a ranking that never grows in it, and what remains
// without the edges on which it falls is ranked again.
func (f *flow) ranked(limits Limits) error {
	levels := map[string][]*Ranking{} // by component, outermost first
	for i := range f.Ranking {
		r := &f.Ranking[i]
		if len(r.Offset) != len(r.Nodes) || slices.ContainsFunc(r.Weight[:], func(w int64) bool { return w < -maxWeight || w > maxWeight }) {
			return fmt.Errorf("ranking %d is malformed", i)
		}
		k := fmt.Sprint(r.Nodes)
		levels[k] = append(levels[k], r)
	}
	next := slices.Clone(f.edges)
	work := limits.Steps
	for todo := components(next); len(todo) > 0; todo = todo[1:] {
		k := fmt.Sprint(todo[0])
		if len(levels[k]) == 0 {
			return fmt.Errorf("the loop of nodes %v is not ranked", todo[0])
		}
		rest, err := f.fall(todo[0], levels[k][0], next, &work)
		if err != nil {
			return err
		}
		levels[k] = levels[k][1:]
		todo = append(todo, rest...)
	}
	return nil
}

// fall checks one ranking on one component, removes the edges on which it falls
// from next, and returns the components that remain.
func (f *flow) fall(nodes []int, r *Ranking, next [][]edge, work *int64) ([][]int, error) {
	offset := map[int]int64{}
	for i, n := range nodes {
		offset[n] = r.Offset[i]
	}
	fell := false
	sub := make([][]edge, len(next))
	for _, n := range nodes {
		var keep []edge
		for _, e := range next[n] {
			to, inside := offset[e.to]
			if !inside {
				continue
			}
			if *work -= 100; *work < 0 {
				return nil, errors.New("the ranking is beyond the checker's limit")
			}
			change := constant(to).plus(-1, constant(offset[n]))
			for i, w := range r.Weight {
				if w != 0 {
					change = change.plus(w, e.after[i]).plus(-w, variable(i+1))
				}
			}
			switch u := e.zone.upper(change); {
			case u > 0:
				return nil, fmt.Errorf("the ranking may grow from node %d to %d", n, e.to)
			case u < 0:
				fell = true
			default:
				keep = append(keep, e)
			}
		}
		sub[n] = keep
	}
	if !fell {
		return nil, fmt.Errorf("the ranking of nodes %v never falls", nodes)
	}
	for _, n := range nodes {
		next[n] = sub[n]
	}
	return componentsOf(nodes, next), nil
}

func components(next [][]edge) [][]int {
	all := make([]int, len(next))
	for i := range all {
		all[i] = i
	}
	return componentsOf(all, next)
}

// componentsOf finds the strongly connected components with an edge inside, by
// Kosaraju's two passes, each ascending.
func componentsOf(nodes []int, next [][]edge) [][]int {
	inside := map[int]bool{}
	before := map[int][]int{}
	for _, n := range nodes {
		inside[n] = true
	}
	for _, n := range nodes {
		for _, e := range next[n] {
			if inside[e.to] {
				before[e.to] = append(before[e.to], n)
			}
		}
	}
	order := finished(nodes, func(n int) (to []int) {
		for _, e := range next[n] {
			if inside[e.to] {
				to = append(to, e.to)
			}
		}
		return to
	})
	slices.Reverse(order)
	var found [][]int
	done := map[int]bool{}
	for _, n := range order {
		if done[n] {
			continue
		}
		group := finished([]int{n}, func(n int) (to []int) {
			for _, b := range before[n] {
				if !done[b] {
					to = append(to, b)
				}
			}
			return to
		})
		for _, g := range group {
			done[g] = true
		}
		if len(group) > 1 || slices.ContainsFunc(next[n], func(e edge) bool { return e.to == n }) {
			slices.Sort(group)
			found = append(found, group)
		}
	}
	return found
}

// finished is the order in which a depth-first search leaves the nodes.
func finished(roots []int, next func(int) []int) []int {
	type frame struct {
		node int
		rest []int
	}
	var order []int
	seen := map[int]bool{}
	for _, root := range roots {
		if seen[root] {
			continue
		}
		seen[root] = true
		stack := []frame{{root, next(root)}}
		for len(stack) > 0 {
			top := &stack[len(stack)-1]
			if len(top.rest) == 0 {
				order = append(order, top.node)
				stack = stack[:len(stack)-1]
				continue
			}
			n := top.rest[0]
			top.rest = top.rest[1:]
			if !seen[n] {
				seen[n] = true
				stack = append(stack, frame{n, next(n)})
			}
		}
	}
	return order
}
