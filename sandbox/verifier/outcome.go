package verifier

import (
	"strings"
	"time"

	"git-ward/internal/diag"
	"git-ward/protocols/loop"
)

// Run is one command's result.
type Run struct {
	Command
	Outcome
}

// met reports whether the command was met, a residual by its value.
func (r *Run) met() bool {
	if !r.Residual || !r.OK() {
		return r.OK()
	}
	value, err := loop.ParseResidual(r.LastLine)
	below, bad := loop.ParseResidual(r.Below)
	return err == nil && (value.Zero() || bad == nil && !below.IsNull() && value.Less(below.Decimal))
}

// zero reports whether a residual is.
func (r *Run) zero() bool {
	value, err := loop.ParseResidual(r.LastLine)
	return err == nil && r.OK() && value.Zero()
}

// The ways in which a command ends.
const (
	Exited   = "exit"    // by itself; see Exit
	TimedOut = "timeout" // [verify] timeout
	Flooded  = "output"  // more output than [verify] output_size
)

// Outcome is how a command ended and what it said.
type Outcome struct {
	End    string        `json:"end"`
	Exit   int           `json:"exit"` // 128 and more where End is not Exited
	Bytes  int64         `json:"bytes"`
	SHA256 string        `json:"sha256"` // of its output, both streams as they came
	Tail   string        `json:"tail"`   // the last of it, valid UTF-8
	Time   time.Duration `json:"-"`
	// Stdout's last line that is not blank, for the residual; at most 4 KiB.
	LastLine string   `json:"-"`
	Said     string   `json:"-"`                // with the job's Keep: at most 1 MiB of both streams
	Opened   *Watched `json:"opened,omitempty"` // of the job's Watch, Guard and Checks; nil: there was nothing to watch
	whole    *Outcome // of what is held out: all that it came to, for the controls; nil else
}

// OK reports whether the command ended by itself with exit code 0.
func (o *Outcome) OK() bool { return o.End == Exited && o.Exit == 0 }

// blank is an outcome of what is held out: whether it was met. The work can read what is held
// out while that runs, and print it, or end by it; nothing that anybody gets says so (PROOF-5).
func (o *Outcome) blank() Outcome {
	met := Outcome{End: Exited, whole: o}
	if !o.OK() {
		met.Exit = 1
	}
	return met
}

// all is what a command came to, held out or not. It is for the controls, of which only their
// own word goes on.
func (o *Outcome) all() *Outcome {
	if o.whole != nil {
		return o.whole
	}
	return o
}

// Watched is what was observed of files (PROOF-2).
type Watched struct {
	Files []string `json:"files"` // that were opened
	// Not is why each of the others may have been opened, too, or why nothing was seen at all.
	Not string `json:"not,omitempty"`
	// Rewritten are the guarded files that were written to, and RewrittenNot is why any of them
	// may have been.
	Rewritten    []string `json:"rewritten,omitempty"`
	RewrittenNot string   `json:"rewritten_not,omitempty"`
	// Checks are the job's that were opened, and ChecksNot is why each of the others may have been.
	Checks    []string `json:"-"`
	ChecksNot string   `json:"-"`
}

// Last is the last three lines of the output, joined into one and cleaned for people.
func (o *Outcome) Last() string {
	lines := strings.Split(strings.TrimSpace(o.Tail), "\n")
	return diag.Clean(strings.Join(lines[max(0, len(lines)-3):], "; "))
}
