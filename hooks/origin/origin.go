// Package origin says why a line of a project is there: git blame that ends at a reason
// (SEE-4). The reason is a directive, with the unit and the iteration that wrote the line,
// what the host judged of it and who took it; or a person, the time before Ward, or nobody
// yet.
//
// What a commit's message says of itself is a hint and never the answer: that a commit is a
// unit's is what the unit's journal claims, that it was judged what the host's note says,
// and that somebody took it what the audit has.
package origin

import (
	"time"

	"git-ward/internal/diag"
	"git-ward/protocols/loop"
)

// SchemaVersion is of Reason as JSON. Whoever changes a member's name or meaning changes it.
const SchemaVersion = "1.0"

// Kind is the kind of a reason.
type Kind string

// The kinds.
const (
	Directive   Kind = "directive"   // a unit of work wrote it
	Person      Kind = "person"      // a commit that no unit claims
	Older       Kind = "older"       // it was there when Ward was set up
	Uncommitted Kind = "uncommitted" // in the working tree only
)

// Reason says why lines are as they are, or why a commit exists.
type Reason struct {
	SchemaVersion string         `json:"schema_version"`
	Path          diag.Untrusted `json:"path,omitempty"`
	First         int            `json:"first,omitempty"` // lines of the file as it was asked about, from 1
	Last          int            `json:"last,omitempty"`
	Kind          Kind           `json:"kind"`

	Commit  string         `json:"commit"` // that wrote it; "" for Uncommitted
	Author  diag.Untrusted `json:"author"`
	Time    time.Time      `json:"time"`
	Subject diag.Untrusted `json:"subject"`
	WasPath diag.Untrusted `json:"was_path,omitempty"` // the file and the line in that commit
	WasLine int            `json:"was_line,omitempty"`

	Directive  string         `json:"directive"`
	Title      diag.Untrusted `json:"title"` // as COMMS.md has it now; "" where it is gone
	Unit       string         `json:"unit"`
	Iteration  int64          `json:"iteration"` // of the unit, from 1; 0 where none claimed it
	Claim      string         `json:"claim"`     // the commit by which that iteration claimed it
	Verdict    *Verdict       `json:"verdict"`   // on what was taken, else on the claim; null for none
	Taken      *Taken         `json:"taken"`     // null while no branch of the project's has it
	Transcript string         `json:"transcript"`
	Remarks    []string       `json:"remarks"` // what cannot be told, or does not fit
}

// Verdict is the host's word on the commit that brought a line.
type Verdict struct {
	Word     string      `json:"word"` // EXACT, CONVERGED, NONE
	Commit   string      `json:"commit"`
	Unit     string      `json:"unit"`
	Reason   string      `json:"reason"`
	Criteria []Criterion `json:"criteria"`
}

// Criterion is one criterion as the verdict saw it: in the words that it had then.
type Criterion struct {
	Text    diag.Untrusted `json:"text"`
	Command diag.Untrusted `json:"command"`
	Met     bool           `json:"met"`
}

func verdictOf(v loop.Verdict) *Verdict {
	w := &Verdict{v.Verdict, v.Commit, v.Unit, v.Reason, []Criterion{}}
	for _, o := range v.Criteria {
		w.Criteria = append(w.Criteria, Criterion{diag.Untrusted(o.Criterion), diag.Untrusted(o.Command), o.Passed()})
	}
	return w
}

// Taken says how a branch got a commit.
type Taken struct {
	Branch string    `json:"branch"`
	Commit string    `json:"commit"` // of the branch's own line: the merge, the squash, or the commit itself
	How    string    `json:"how"`    // merge, squash, or commit
	Push   int64     `json:"push"`   // in the audit; 0 where it is not known
	Who    string    `json:"who"`    // principal and name, as the audit has them; "" where it is not known
	Time   time.Time `json:"time"`   // of the push, or of the commit where that is not known
}
