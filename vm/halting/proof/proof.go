// Package proof is the form of a proof that a plan halts or never does, and the
// checker that decides whether one holds. It shares no code with the deciders
// that find proofs: it has its own machine and its own arithmetic of bounds, and
// it believes nothing that a proof says without recomputing it.
package proof

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"

	"git-ward/vm/halting/code"
)

// Claim is what a proof proves.
type Claim string

// The three claims. Overflow: every run goes on until a register leaves the
// 64-bit range, if it ends at all.
const (
	Halts    Claim = "halts"
	Never    Claim = "never halts"
	Overflow Claim = "left only by overflow"
)

// Proof is a claim about one program and one of four certificates for it.
type Proof struct {
	Claim     Claim      `json:"claim"`
	Program   string     `json:"program"` // Fingerprint of the flat program
	Run       *Run       `json:"run,omitempty"`
	Cycle     *Cycle     `json:"cycle,omitempty"`
	Language  *Language  `json:"language,omitempty"`
	Invariant *Invariant `json:"invariant,omitempty"`
}

// Run says that the plan ends: executing it takes Steps instructions, the last
// included, and ends with Code ("" is HALT).
type Run struct {
	Steps int64  `json:"steps"`
	Code  string `json:"code"`
}

// Cycle says that the configuration after At steps comes back after Period
// more, with the head Shift cells further. With Shift 0 the tapes are equal;
// else they are equal, shifted, on all cells that the period can reach and all
// beyond them in the direction of the shift.
type Cycle struct {
	At     int64 `json:"at"`
	Period int64 `json:"period"`
	Shift  int64 `json:"shift"`
}

// Language is a set of local views that holds every configuration from step
// After on and from which no step halts (n-gram closed position set). A view is
// a control point, the N cells to the left of the head (nearest first), the cell
// under it, and the N cells to the right. Left and Right are the windows of N
// cells that may occur further out on each side.
//
// Cells are spelled as marks. Marks[i] is the number that a cell with mark i
// holds; several marks may hold the same, so that a language can remember how a
// cell came about. At step After every cell has the first mark for its number,
// and after that the mark that the last view which left it says.
type Language struct {
	After    int64     `json:"after"`
	N        int       `json:"n"`
	Controls []Control `json:"controls"`
	Marks    []int64   `json:"marks"`
	Words    [][]int   `json:"words"`
	Left     []int     `json:"left"`  // indices of Words
	Right    []int     `json:"right"` // indices of Words
	Views    []View    `json:"views"`
}

// Control is an instruction's index with what is known of registers and flags;
// a register that is nil may hold anything, and so may flags when nil.
type Control struct {
	IP    int32                  `json:"ip"`
	Regs  [code.Registers]*int64 `json:"regs"`
	Flags *code.Flags            `json:"flags"`
}

// View is [control, left word, mark, right word, leaves]: all indices; leaves is
// the mark that the cell has when the head moves on.
type View [5]int

// Invariant is a set of nodes that holds every configuration from step After
// on. For Never no node can halt, for Overflow only by overflow, and for Halts
// Ranking shows that no loop goes on for ever.
type Invariant struct {
	After   int64     `json:"after"`
	Cell    Range     `json:"cell"` // every cell of the tape, always
	Nodes   []Node    `json:"nodes"`
	Ranking []Ranking `json:"ranking,omitempty"`
}

// Node is a control point with facts that hold whenever control is there. Next
// are the nodes to which its outcomes lead, -1 for one that is impossible: of CMP
// less, equal and greater; of a conditional jump under Any not taken and taken;
// of all else the only one. Impossible ones at the end may be left out.
type Node struct {
	IP    int32                   `json:"ip"`
	Flags Outcome                 `json:"flags"`
	Zone  []Bound                 `json:"zone,omitempty"`
	Mod   [code.Registers]Residue `json:"mod"`
	Next  []int                   `json:"next,omitempty"`
}

// Outcome is the flags that a node allows: unset, one outcome of CMP, or any of
// the three.
type Outcome uint8

// The outcomes of a node.
const (
	Unset Outcome = Outcome(code.Unset)
	Any   Outcome = 4
)

// Bound is [i, j, c]: x_i - x_j <= c, where x_0 is 0 and x_1..x_4 are R0..R3.
type Bound [3]int64

// Residue is [m, r]: a register is r modulo m; m = 0 means equal to r, and
// m = 1 says nothing.
type Residue [2]int64

// Range is an interval with a residue.
type Range struct {
	Low  int64   `json:"low"`
	High int64   `json:"high"`
	Mod  Residue `json:"mod"`
}

// Ranking is one level of a lexicographic ranking for one strongly connected
// component: sum(Weight[i] * R_i) + Offset[node] never grows along an edge of
// the component, and it is bounded from below because registers are; so edges
// where it falls are taken finitely often, and the rest is ranked by others.
type Ranking struct {
	Nodes  []int                 `json:"nodes"` // ascending
	Weight [code.Registers]int64 `json:"weight"`
	Offset []int64               `json:"offset"` // one a node
}

// Limits bound the checker's work.
type Limits struct {
	Steps   int64 // instructions executed in all
	Entries int   // views, words and nodes
	Cells   int   // of the tape

	ctx context.Context // of one check
}

// Default are limits that every proof of the deciders' own defaults fits in.
var Default = Limits{Steps: 400_000_000, Entries: 400_000, Cells: 1 << 22}

// Fingerprint identifies a flat program: SHA-256 in hex over all its fields
// that matter, each behind its length or of a fixed one.
func Fingerprint(p code.Program) string {
	h := sha256.New()
	var b []byte
	for i := range p {
		in := &p[i]
		b = append(b[:0], byte(in.Op), in.Reg, byte(in.A.Reg), byte(in.B.Reg))
		b = binary.LittleEndian.AppendUint64(b, uint64(in.A.Lit))
		b = binary.LittleEndian.AppendUint64(b, uint64(in.B.Lit))
		b = binary.LittleEndian.AppendUint32(b, uint32(in.To))
		b = append(append(b, byte(len(in.Code))), in.Code...)
		h.Write(b)
	}
	return hex.EncodeToString(h.Sum(nil))
}
