package halting

import (
	"container/heap"
	"context"
	"math"
	"slices"

	"git-ward/vm/halting/code"
	"git-ward/vm/halting/proof"
)

// place is where an abstract state belongs: an instruction, the outcome of the
// last CMP, as far as it still matters, and the values of the registers that are
// modes (modes.go).
type place struct {
	ip    int32
	flags proof.Outcome
	modes [code.Registers]int64
}

// node is a place with what is known there, and its outcomes.
type node struct {
	place
	facts  facts
	joined int // how often it grew
	outs   []outcome
	to     []int
	ends   []string
}

// abstraction is the fixed point of an abstract interpretation: nodes that hold
// every configuration that the plan can reach from a given one.
type abstraction struct {
	program    code.Program
	live       []liveSet
	modes      [code.Registers]bool // registers that are modes
	heads      []bool               // instructions where loops close: only there bounds widen
	order      []int32
	thresholds []int64
	nodes      []*node
	at         map[place]int
	cells      cells
	after      int64
	work       int64 // steps of the interpretation that are left
	unknown    bool  // met something that it cannot interpret
}

// start is a configuration from which to interpret.
type start struct {
	control control
	cells   []int64 // all values on the tape besides 0
	after   int64   // instructions before it
}

// Widening: how often a node may just grow, and how often more it may grow to
// the next threshold, before bounds are given up.
const (
	plainJoins     = 3
	thresholdJoins = 60
	narrowings     = 3
)

// interpret computes the fixed point, or nil when work runs out.
func interpret(ctx context.Context, p code.Program, live []liveSet, s start) *abstraction {
	a := &abstraction{program: p, live: live, at: map[place]int{}, after: s.after, work: abstractWork, cells: cells{mod: exactly(0)}}
	for _, v := range s.cells {
		a.cells.admit(v, v, exactly(v))
	}
	a.heads, a.order = loopHeads(p)
	a.thresholds = thresholds(p, s)
	a.modes = modes(p)
	initial := concrete(s.control.regs)
	first := a.node(a.place(s.control.ip, proof.Outcome(s.control.flags), &initial))
	a.nodes[first].facts = initial
	if !a.ascend(ctx, first) {
		return nil
	}
	for range narrowings {
		if !a.descend(first, initial) {
			return nil
		}
	}
	a.connect()
	return a
}

// flagsAt forgets the outcome of CMP where it is dead.
func (a *abstraction) flagsAt(ip int32, f proof.Outcome) proof.Outcome {
	if f != proof.Unset && a.live[ip]&flagsBit == 0 {
		return proof.Any
	}
	return f
}

func (a *abstraction) place(ip int32, flags proof.Outcome, f *facts) place {
	p := place{ip: ip, flags: a.flagsAt(ip, flags)}
	for r, c := range f.mod {
		if a.modes[r] {
			p.modes[r] = c.r // it is a known number: m is 0
		}
	}
	return p
}

func (a *abstraction) node(p place) int {
	i, ok := a.at[p]
	if !ok {
		i = len(a.nodes)
		a.at[p] = i
		a.nodes = append(a.nodes, &node{place: p})
	}
	return i
}

// ascend grows the nodes until they are closed under every step, always taking
// the node that comes first in the order of the text's flow.
func (a *abstraction) ascend(ctx context.Context, first int) bool {
	queue := &ordered{a: a, queued: map[int]bool{}}
	queue.push(first)
	reached := map[int]bool{first: true}
	for n := 0; queue.Len() > 0; n++ {
		if a.work--; a.work < 0 || n&1023 == 0 && ctx.Err() != nil {
			return false
		}
		i := queue.pop()
		current := a.nodes[i]
		if a.writes(current) {
			for j := range reached { // readers see more now; order does not matter to a queue in order
				if a.program[a.nodes[j].ip].Op == code.Read {
					queue.push(j)
				}
			}
		}
		if a.program[current.ip].Op == code.Havoc {
			a.unknown = true
			return false
		}
		outs, _ := step(&a.program[current.ip], current.ip, current.flags, &current.facts, &a.cells)
		for k := range outs {
			o := &outs[k]
			if j := a.node(a.place(o.ip, o.flags, &o.facts)); !reached[j] {
				reached[j] = true
				a.nodes[j].facts = o.facts
				queue.push(j)
			} else if a.grow(a.nodes[j], &o.facts) {
				queue.push(j)
			}
		}
	}
	return true
}

// writes admits what a WRITE puts on the tape; true when that is new.
func (a *abstraction) writes(n *node) bool {
	in := &a.program[n.ip]
	if in.Op != code.Write {
		return false
	}
	low, high, mod := n.facts.operand(in.A)
	c := a.cells
	if !c.admit(low, high, mod) {
		return false
	}
	if n.joined > plainJoins { // as with registers, growth must end
		if low < a.cells.low {
			c.low = -nextThreshold(a.thresholds, saturatedNegative(low))
			if c.low == -open {
				c.low = math.MinInt64
			}
		}
		if high > a.cells.high {
			c.high = nextThreshold(a.thresholds, high)
		}
	}
	a.cells = c
	n.joined++
	return true
}

func saturatedNegative(n int64) int64 {
	if n == math.MinInt64 {
		return open
	}
	return -n
}

// grow joins new facts into a node, by widening where loops close.
func (a *abstraction) grow(n *node, f *facts) bool {
	if !a.heads[n.ip] || n.joined < plainJoins {
		changed := n.facts.join(f)
		if changed {
			n.joined++
		}
		return changed
	}
	limits := a.thresholds
	if n.joined > plainJoins+thresholdJoins {
		limits = nil
	}
	changed := n.facts.zone.widen(&f.zone, limits)
	changed = n.facts.joinMod(f) || changed
	if changed {
		n.joined++
	}
	return changed
}

// descend recomputes every node once from what leads to it, which only sharpens
// a closed set.
func (a *abstraction) descend(first int, initial facts) bool {
	next := make([]*facts, len(a.nodes))
	next[first] = &initial
	c := cells{mod: exactly(0)}
	c.admit(a.cells.low, a.cells.high, a.cells.mod)
	for _, n := range a.nodes {
		if a.work--; a.work < 0 {
			return false
		}
		if !n.facts.settle() {
			continue
		}
		outs, _ := step(&a.program[n.ip], n.ip, n.flags, &n.facts, &c)
		for k := range outs {
			o := &outs[k]
			if j := a.at[a.place(o.ip, o.flags, &o.facts)]; next[j] == nil {
				f := o.facts
				next[j] = &f
			} else {
				next[j].join(&o.facts)
			}
		}
	}
	a.keep(next)
	return true
}

// keep replaces the facts of all nodes and drops the nodes that nothing reaches.
func (a *abstraction) keep(next []*facts) {
	old := a.nodes
	a.nodes, a.at = nil, map[place]int{}
	for i, n := range old {
		if next[i] != nil {
			n.facts = *next[i]
			a.at[n.place] = len(a.nodes)
			a.nodes = append(a.nodes, n)
		}
	}
}

// connect computes each node's outcomes from its final facts.
func (a *abstraction) connect() {
	for _, n := range a.nodes {
		n.outs, n.to, n.ends = nil, nil, nil
		f := n.facts
		if !f.settle() {
			continue
		}
		n.outs, n.ends = step(&a.program[n.ip], n.ip, n.flags, &f, &a.cells)
		for k := range n.outs {
			o := &n.outs[k]
			n.to = append(n.to, a.at[a.place(o.ip, o.flags, &o.facts)])
		}
	}
}

// thresholds are the numbers of the plan, their neighbours and their negatives:
// where a counter is likely to stop.
func thresholds(p code.Program, s start) []int64 {
	set := map[int64]bool{}
	add := func(v int64) {
		for _, t := range [...]int64{v - 1, v, v + 1} {
			if t > math.MinInt64/2 && t < math.MaxInt64/2 {
				set[t], set[-t] = true, true
			}
		}
	}
	add(0)
	for _, v := range s.control.regs {
		add(v)
	}
	for i := range p {
		if len(set) > 4096 {
			break
		}
		for _, v := range [...]code.Value{p[i].A, p[i].B} {
			if v.Reg == code.Literal {
				add(v.Lit)
			}
		}
	}
	all := make([]int64, 0, len(set))
	for t := range set {
		all = append(all, t)
	}
	slices.Sort(all)
	return all
}

// ordered is a queue of nodes by the order of their instructions.
type ordered struct {
	a      *abstraction
	heap   []int
	queued map[int]bool
}

func (q *ordered) Len() int { return len(q.heap) }

func (q *ordered) Less(i, j int) bool {
	x, y := q.a.nodes[q.heap[i]].place, q.a.nodes[q.heap[j]].place
	if x.ip != y.ip {
		return q.a.order[x.ip] < q.a.order[y.ip]
	}
	if x.flags != y.flags {
		return x.flags < y.flags
	}
	return slices.Compare(x.modes[:], y.modes[:]) < 0
}

func (q *ordered) Swap(i, j int) { q.heap[i], q.heap[j] = q.heap[j], q.heap[i] }

func (q *ordered) Push(x any) { q.heap = append(q.heap, x.(int)) }

func (q *ordered) Pop() any {
	last := q.heap[len(q.heap)-1]
	q.heap = q.heap[:len(q.heap)-1]
	return last
}

func (q *ordered) push(i int) {
	if !q.queued[i] {
		q.queued[i] = true
		heap.Push(q, i)
	}
}

func (q *ordered) pop() int {
	i := heap.Pop(q).(int)
	q.queued[i] = false
	return i
}
