package halting

import (
	"slices"

	"git-ward/vm/halting/proof"
)

// Risk is how likely a plan is not to end.
type Risk string

// The risks (UDC-5). Low and High are proved.
const (
	Low     Risk = "LOW"     // it halts
	Medium  Risk = "MEDIUM"  // an exit depends on what the tape or a tool holds
	Unknown Risk = "UNKNOWN" // none of the deciders knows
	High    Risk = "HIGH"    // it never halts, or by overflow only
)

// Loop is a loop that may not end: the lines that it spans, and why.
type Loop struct {
	StartLine int    `json:"start_line"`
	EndLine   int    `json:"end_line"`
	Reason    string `json:"reason"`
}

// Report is the verdict on one plan. Proof is there for Low and High.
type Report struct {
	Risk   Risk         `json:"estimated_risk"`
	Reason string       `json:"reason"`
	Loops  []Loop       `json:"potential_infinite_loops"`
	Proof  *proof.Proof `json:"proof,omitempty"`
}

// Order is the risks from the least to the greatest (HOOK-3): nothing is known to
// be worse than what is proved never to end.
var Order = []Risk{Low, Medium, Unknown, High}

// Above reports whether a risk is greater than another.
func (r Risk) Above(other Risk) bool { return slices.Index(Order, r) > slices.Index(Order, other) }
