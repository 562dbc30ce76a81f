package plan

// Complexity is how the work of a plan grows with the number of files, by the
// nesting of its loops through calls. The names are 002's: Exponential is what it
// calls loops inside loops, whose steps grow with the power of the nesting.
type Complexity string

// The classes.
const (
	Constant    Complexity = "Constant"
	Polynomial  Complexity = "Polynomial"
	Exponential Complexity = "Exponential"

	// Unbounded is a plan that leads into a circle of calls, and has no class.
	Unbounded Complexity = "Unbounded"
)

// Modality is whether a plan changes files. Closing and submitting belong to
// every cycle and do not count; a command counts, because it can.
type Modality string

// The two modalities.
const (
	ReadOnly  Modality = "Read-Only"
	ReadWrite Modality = "Read-Write"
)

// Analysis is what `plan analyze` says of a plan (PLAN-5).
type Analysis struct {
	Path       string     `json:"path"`
	Machine    string     `json:"machine"`
	Steps      int        `json:"steps"` // as written, those of callees not included
	Calls      int        `json:"calls"`
	Loops      int        `json:"loops"` // nesting, through calls
	Depth      int        `json:"depth"` // plans on the stack, through calls
	Complexity Complexity `json:"complexity"`
	Modality   Modality   `json:"modality"`
}

// Analyze classifies the plan at a path. A plan with findings is classified as far as it could
// be read.
func (l *Linter) Analyze(path string) (Analysis, error) {
	n, err := l.resolved(path)
	if err != nil {
		return Analysis{}, err
	}
	a := Analysis{Path: path, Calls: len(n.calls), Loops: n.loops, Depth: n.depth, Complexity: Exponential, Modality: ReadOnly}
	if n.plan != nil {
		a.Machine, a.Steps = n.plan.Machine(), n.plan.Len()
	}
	switch n.loops {
	case 0:
		a.Complexity = Constant
	case 1:
		a.Complexity = Polynomial
	}
	if n.circles {
		a.Complexity = Unbounded
	}
	if n.writes {
		a.Modality = ReadWrite
	}
	return a, nil
}
