package state

import (
	"fmt"

	"github.com/go-json-experiment/json"
)

// AuditRef is the chain of records of every push (AUD-1): a commit each, the newest first.
const AuditRef = "refs/ward/audit"

// AuditNotes are the same records, as notes on what was pushed, and MaxAuditNote is how many bytes of
// one are read.
const (
	AuditNotes   = "refs/notes/audit"
	MaxAuditNote = 1 << 20
)

// The file that a commit of the chain has, and the bound of what is read of it, in bytes.
const (
	pushFile = "record.json"
	maxPush  = 16 << 20
)

// Push is what others than its writer need of a record of the audit.
type Push struct {
	ID      string `json:"push"`
	Verdict string `json:"verdict"`
	Refs    []struct {
		Ref     string `json:"ref"`
		New     string `json:"new"`
		Applied bool   `json:"applied"`
	} `json:"refs"`
	// Retired are the directives that were listed once, as comms.Set has them.
	Retired string `json:"retired"`
}

// Accepted reports whether the gate let the push in.
func (p Push) Accepted() bool { return p.Verdict == "accepted" }

// ReadPush reads the record of a commit of the chain, or of a ref that is at one; the zero Push
// where there is none.
func ReadPush(r Files, at string) (p Push, err error) {
	data, err := r.File(at, pushFile, maxPush)
	if err == nil && data != nil {
		err = json.Unmarshal(data, &p)
	}
	if err != nil {
		err = fmt.Errorf("the audit's record of %s: %w", at, err)
	}
	return p, err
}
