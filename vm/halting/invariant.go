package halting

import (
	"slices"

	"git-ward/vm/halting/code"
	"git-ward/vm/halting/proof"
)

// ends are the codes with which the abstraction's nodes may end, each once.
func (a *abstraction) allEnds() (all []string) {
	for _, n := range a.nodes {
		for _, e := range n.ends {
			if !slices.Contains(all, e) {
				all = append(all, e)
			}
		}
	}
	return all
}

// proof writes the nodes as the proof of a claim.
func (a *abstraction) proof(claim proof.Claim, levels []proof.Ranking) *proof.Proof {
	inv := &proof.Invariant{After: a.after, Ranking: levels,
		Cell: proof.Range{Low: a.cells.low, High: a.cells.high, Mod: proof.Residue{a.cells.mod.m, a.cells.mod.r}}}
	for _, n := range a.nodes {
		out := proof.Node{IP: n.ip, Flags: n.flags}
		for k, o := range n.outs {
			for len(out.Next) < o.slot {
				out.Next = append(out.Next, -1)
			}
			out.Next = append(out.Next, n.to[k])
		}
		for i := range dims {
			for j := range dims {
				if i != j && n.facts.zone[i][j] != open {
					out.Zone = append(out.Zone, proof.Bound{int64(i), int64(j), n.facts.zone[i][j]})
				}
			}
		}
		for r := range code.Registers {
			out.Mod[r] = proof.Residue{n.facts.mod[r].m, n.facts.mod[r].r}
		}
		inv.Nodes = append(inv.Nodes, out)
	}
	return &proof.Proof{Claim: claim, Invariant: inv}
}
