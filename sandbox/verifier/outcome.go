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

// met reports whether the command held, a residual by its value.
func (r *Run) met() bool {
	if !r.Residual || !r.OK() {
		return r.OK()
	}
	value, err := loop.ParseResidual(r.LastLine)
	below, bad := loop.ParseResidual(r.Below)
	return err == nil && (value.Zero() || bad == nil && !below.IsNull() && value.Less(below.Decimal))
}

// zero reports whether a residual is zero.
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

// Outcome says how a command ended, and what it printed.
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

// blank reduces a held-out command's outcome to whether it held. The work can read held-out files while
// it runs, and print them or choose its exit code by them; nobody gets to see either (PROOF-5).
func (o *Outcome) blank() Outcome {
	met := Outcome{End: Exited, whole: o}
	if !o.OK() {
		met.Exit = 1
	}
	return met
}

// all returns a command's whole outcome, held out or not. Only the controls use it, and they publish
// nothing but their own result.
func (o *Outcome) all() *Outcome {
	if o.whole != nil {
		return o.whole
	}
	return o
}

// Watched is what was observed of files (PROOF-2).
type Watched struct {
	Files []string `json:"files"` // that were opened
	// Not says why any other file may have been opened, too, or why nothing was observed at all.
	Not string `json:"not,omitempty"`
	// Rewritten are the guarded files that were written to. RewrittenNot says why it may have been any.
	Rewritten    []string `json:"rewritten,omitempty"`
	RewrittenNot string   `json:"rewritten_not,omitempty"`
	// Checks are those of the job that were opened. ChecksNot says why it may have been any.
	Checks    []string `json:"-"`
	ChecksNot string   `json:"-"`
}

// Last joins the last three lines of the output into one, cleaned for people.
func (o *Outcome) Last() string {
	lines := strings.Split(strings.TrimSpace(o.Tail), "\n")
	return diag.Clean(strings.Join(lines[max(0, len(lines)-3):], "; "))
}
