package halting

import (
	"context"
	"math"
	"slices"
	"sync"

	"git-ward/vm/halting/code"
	"git-ward/vm/halting/proof"
)

// weights are the combinations of registers that are tried as measures of
// progress: single registers first, then sums and differences of two, then more. They
// are made at the first use: the hook links this package.
var weights = sync.OnceValue(func() (all [][code.Registers]int64) {
	for i := range 81 {
		var w [code.Registers]int64
		for r, n := 0, i; r < code.Registers; r, n = r+1, n/3 {
			w[r] = int64(n%3) - 1
		}
		if w != [code.Registers]int64{} {
			all = append(all, w)
		}
	}
	slices.SortStableFunc(all, func(a, b [code.Registers]int64) int { return terms(a) - terms(b) })
	return all
})

func terms(w [code.Registers]int64) (n int) {
	for _, c := range w {
		if c != 0 {
			n++
		}
	}
	return n
}

// ranker looks for a lexicographic ranking of all loops of an abstraction.
type ranker struct {
	*abstraction
	dropped map[[2]int]bool // outcomes on which a ranking found before falls
	levels  []proof.Ranking
	// overflowing says that some measure is bounded by the range of numbers only: then the
	// proof holds, but the loop may take 2^63 rounds.
	overflowing []component
	unranked    []component
}

// rank tries every loop; what it cannot rank is in unranked.
func (a *abstraction) rank(ctx context.Context) *ranker {
	r := &ranker{abstraction: a, dropped: map[[2]int]bool{}}
	graph := newTarjan(len(a.nodes), r.next)
	for todo := graph.all(); len(todo) > 0; todo = todo[1:] {
		if r.work < 0 || ctx.Err() != nil || !r.rankOne(todo[0]) {
			r.unranked = append(r.unranked, todo[0])
			continue
		}
		todo = append(todo, graph.components(todo[0])...)
	}
	return r
}

// next are the nodes that follow one by outcomes that are not ranked yet.
func (r *ranker) next(n int) (to []int) {
	for k, m := range r.nodes[n].to {
		if !r.dropped[[2]int{n, k}] {
			to = append(to, m)
		}
	}
	return to
}

// arc is an outcome inside a component.
type arc struct {
	from, to int // places in the component
	node, k  int
	o        *outcome
}

// rankOne finds a measure that never grows in a component and falls somewhere;
// one that has a bound of its own is preferred to one that only overflow ends.
func (r *ranker) rankOne(c component) bool {
	at := map[int]int{}
	for i, n := range c {
		at[n] = i
	}
	var arcs []arc
	for i, n := range c {
		for k, m := range r.nodes[n].to {
			if j, inside := at[m]; inside && !r.dropped[[2]int{n, k}] {
				arcs = append(arcs, arc{i, j, n, k, &r.nodes[n].outs[k]})
			}
		}
	}
	for _, bounded := range []bool{true, false} {
		for _, w := range weights() {
			if r.try(c, arcs, w, bounded) {
				if !bounded {
					r.overflowing = append(r.overflowing, c)
				}
				return true
			}
		}
	}
	return false
}

// most is the greatest change of a measure along an outcome.
func most(o *outcome, w [code.Registers]int64) int64 {
	if o.reg == noRegister || w[o.reg] == 0 {
		return 0
	}
	if w[o.reg] > 0 {
		return o.most
	}
	if o.least == math.MinInt64 {
		return open
	}
	return -o.least
}

// try computes offsets for a measure: the longest paths, which exist when no
// cycle makes it grow.
func (r *ranker) try(c component, arcs []arc, w [code.Registers]int64, bounded bool) bool {
	change := make([]int64, len(arcs))
	some := false
	for i, a := range arcs {
		change[i] = most(a.o, w)
		if change[i] > math.MaxInt64/1024 || change[i] < math.MinInt64/1024 {
			if change[i] > 0 {
				return false
			}
			change[i] = math.MinInt64 / 1024 // falls at least so far
		}
		some = some || change[i] < 0
	}
	if !some {
		return false
	}
	depth := make([]int64, len(c))
	if !r.longest(depth, arcs, change) {
		return false
	}
	var falls []int
	for i, a := range arcs {
		if change[i] < depth[a.to]-depth[a.from] {
			falls = append(falls, i)
		}
	}
	if len(falls) == 0 || bounded && !r.bounded(arcs, falls, w) {
		return false
	}
	level := proof.Ranking{Nodes: c, Weight: w, Offset: make([]int64, len(c))}
	for i, d := range depth {
		level.Offset[i] = -d
	}
	r.levels = append(r.levels, level)
	for _, i := range falls {
		r.dropped[[2]int{arcs[i].node, arcs[i].k}] = true
	}
	return true
}

// longest computes the longest paths from anywhere; false when there is none,
// because a cycle grows.
func (r *ranker) longest(depth []int64, arcs []arc, change []int64) bool {
	for range len(depth) + 1 {
		stable := true
		if r.work -= int64(len(arcs)) / 8; r.work < 0 {
			return false
		}
		for i, a := range arcs {
			if d := sum(depth[a.from], change[i]); d > depth[a.to] {
				if d > math.MaxInt64/8 {
					return false
				}
				depth[a.to], stable = d, false
			}
		}
		if stable {
			return true
		}
	}
	return false
}

// bounded reports whether the measure has a lower bound of its own, far from the
// ends of the range, wherever it falls.
func (r *ranker) bounded(arcs []arc, falls []int, w [code.Registers]int64) bool {
	return !slices.ContainsFunc(falls, func(i int) bool {
		return leastOf(&r.nodes[arcs[i].node].facts.zone, w) < math.MinInt64/4
	})
}

// leastOf is a lower bound of a measure, MinInt64 when there is none.
func leastOf(z *zone, w [code.Registers]int64) int64 {
	for i := range w {
		w[i] = -w[i]
	}
	if m := mostOf(z, w); m != open && m != math.MinInt64 {
		return -m
	}
	return math.MinInt64
}

// mostOf is an upper bound of a measure, open when there is none: a difference
// by the zone, else by the ranges.
func mostOf(z *zone, w [code.Registers]int64) int64 {
	total := int64(0)
	var plus, minus []int
	for r, c := range w {
		if c > 0 {
			plus = append(plus, r+1)
			total = sum(total, z[r+1][0])
		} else if c < 0 {
			minus = append(minus, r+1)
			total = sum(total, z[0][r+1])
		}
	}
	if len(plus) == 1 && len(minus) == 1 {
		total = min(total, z[plus[0]][minus[0]])
	}
	return total
}
