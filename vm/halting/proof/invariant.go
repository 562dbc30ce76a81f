package proof

import (
	"errors"
	"fmt"
	"math"

	"git-ward/vm/halting/code"
)

// flow is an invariant in the form in which it is checked.
type flow struct {
	*Invariant
	program code.Program
	claim   Claim
	zones   []*zone // closed; nil where nothing satisfies the node
	edges   [][]edge
}

// edge is one possible outcome of a node's instruction: where it leads, the
// bounds that hold before it, and each register after it as a form of what was
// before.
type edge struct {
	slot  int // in Node.Next
	ip    int32
	flags Outcome
	zone  *zone
	after [code.Registers]form
	mod   [code.Registers]Residue
	to    int
}

// checkInvariant verifies that the nodes hold the start and are closed under
// every step, and then what the claim says of them.
func checkInvariant(p code.Program, claim Claim, inv *Invariant, limits Limits) error {
	if len(inv.Nodes) == 0 || len(inv.Nodes) > limits.Entries {
		return fmt.Errorf("%d nodes are not within the checker's limits", len(inv.Nodes))
	}
	if claim != Halts && len(inv.Ranking) > 0 {
		return fmt.Errorf("a ranking does not prove %q", claim)
	}
	f := &flow{Invariant: inv, program: p, claim: claim, zones: make([]*zone, len(inv.Nodes)), edges: make([][]edge, len(inv.Nodes))}
	m, err := replay(p, inv.After, limits)
	if err != nil {
		return err
	}
	if err := f.shape(); err != nil {
		return err
	}
	if err := f.holdsStart(m); err != nil {
		return err
	}
	for i := range inv.Nodes {
		if err := f.closed(i); err != nil {
			return fmt.Errorf("node %d at instruction %d: %w", i, inv.Nodes[i].IP, err)
		}
	}
	switch claim {
	case Halts:
		return f.ranked(limits)
	case Never, Overflow:
		return nil // closed has looked at the ends
	}
	return fmt.Errorf("no such claim: %q", claim)
}

// shape checks indices and builds each node's zone.
func (f *flow) shape() error {
	if !f.Cell.Mod.valid() {
		return errors.New("the cells' residue is malformed")
	}
	for i := range f.Nodes {
		n := &f.Nodes[i]
		if n.IP < 0 || int(n.IP) >= len(f.program) || n.Flags > Any {
			return fmt.Errorf("node %d is malformed", i)
		}
		z := unbounded()
		for _, b := range n.Zone {
			if !isRegister(b[0]) || !isRegister(b[1]) || b[0] == b[1] {
				return fmt.Errorf("node %d bounds what is not there", i)
			}
			z.tighten(int(b[0]), int(b[1]), b[2])
		}
		for r, c := range n.Mod {
			if !c.valid() {
				return fmt.Errorf("node %d has a malformed residue for R%d", i, r)
			}
		}
		if z.settle(&n.Mod) {
			f.zones[i] = z
		}
	}
	return nil
}

// isRegister: a variable that a node may bound; 0 is the constant.
func isRegister(i int64) bool { return i >= 0 && i < fresh }

// settle closes a zone under its bounds and the residues; false when empty.
func (z *zone) settle(mod *[code.Registers]Residue) bool {
	if !z.close() {
		return false
	}
	for i, c := range mod {
		v := i + 1
		if c[0] == 0 {
			z.tighten(v, 0, c[1])
			if c[1] != math.MinInt64 {
				z.tighten(0, v, -c[1])
			}
			continue
		}
		if high := z[v][0]; high != none {
			z[v][0] = c.below(high)
		}
		if low := z[0][v]; low != none && low != math.MinInt64 {
			if l := c.above(-low); l != math.MinInt64 {
				z[0][v] = -l
			}
		}
	}
	return z.close()
}

// holdsStart checks that node 0 and the range of cells hold a configuration.
func (f *flow) holdsStart(m *machine) error {
	low, high := m.bounds()
	for i := low - 1; i <= high+1; i++ {
		if !f.Cell.has(m.cell(i)) {
			return fmt.Errorf("cell %d is %d, which the invariant excludes", i, m.cell(i))
		}
	}
	e := edge{ip: m.ip, flags: Outcome(m.flags), zone: unbounded(), to: 0}
	for r, v := range m.regs {
		e.after[r], e.mod[r] = constant(v), Residue{0, v}
	}
	if err := f.leads(&e); err != nil {
		return fmt.Errorf("the start is not in node 0: %w", err)
	}
	return nil
}

func (r Range) has(v int64) bool {
	return v >= r.Low && v <= r.High && Residue{0, v}.within(r.Mod)
}

// leads checks that an edge's target holds all that arrives along it.
func (f *flow) leads(e *edge) error {
	n := &f.Nodes[e.to]
	if n.IP != e.ip {
		return fmt.Errorf("control is at instruction %d", e.ip)
	}
	if n.Flags != e.flags && (n.Flags != Any || e.flags == Unset) {
		return errors.New("the flags differ")
	}
	at := func(i int64) form {
		if i == 0 {
			return constant(0)
		}
		return e.after[i-1]
	}
	for _, b := range n.Zone {
		x, y := at(b[0]), at(b[1])
		u := e.zone.upper(x.plus(-1, y))
		// A difference that is too small for 64 bits is bounded by its parts.
		u = min(u, plus(e.zone.upper(x), e.zone.upper(constant(0).plus(-1, y))))
		if u > b[2] || u == none {
			if b[2] != none {
				return fmt.Errorf("bound %v does not hold on entry", b)
			}
		}
	}
	for r := range n.Mod {
		if !e.mod[r].within(n.Mod[r]) && !pinned(e.zone, e.after[r], n.Mod[r]) {
			return fmt.Errorf("the residue of R%d does not hold on entry", r)
		}
	}
	return nil
}

// pinned reports whether bounds leave a form one value, and that is in c.
func pinned(z *zone, f form, c Residue) bool {
	low, ok := z.lower(f)
	return ok && low == z.upper(f) && Residue{0, low}.within(c)
}

// closed checks one node: its ends are such as the claim allows, and its other
// outcomes lead to the nodes that it names.
func (f *flow) closed(i int) error {
	n := &f.Nodes[i]
	if f.zones[i] == nil {
		return nil // nothing is ever here
	}
	outs, ends, err := f.outcomes(n, f.zones[i])
	if err != nil {
		return err
	}
	for _, end := range ends {
		if f.claim == Never || f.claim == Overflow && end != code.Overflow {
			return fmt.Errorf("the plan may end here (%q)", end)
		}
	}
	for k := range outs {
		e := &outs[k]
		if e.slot >= len(n.Next) || !within(n.Next[e.slot], len(f.Nodes)) {
			return fmt.Errorf("outcome %d is possible, and leads nowhere", e.slot)
		}
		e.to = n.Next[e.slot]
		if err := f.leads(e); err != nil {
			return fmt.Errorf("outcome %d, node %d: %w", k, e.to, err)
		}
	}
	f.edges[i] = outs
	return nil
}
