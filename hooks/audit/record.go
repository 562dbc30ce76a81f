// Package audit keeps the record of every push: a chain of commits on
// refs/ward/audit, one a push, and the same records as notes on the new tips
// (AUD-1). Only the host writes it; a record is never changed.
package audit

import (
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"git-ward/hooks/checks"
	"git-ward/internal/diag"
	"git-ward/internal/git"
)

// The refs that this package moves, and the file in each commit of the chain.
const (
	ChainRef   = "refs/ward/audit"
	NotesRef   = "refs/notes/audit"
	LessonsRef = "refs/notes/lessons"
	recordFile = "record.json"
)

// Verdict is how a push ended.
type Verdict string

// The verdicts. A push that was admitted by the checks but moved no ref, because
// others were faster, is lost.
const (
	Accepted Verdict = "accepted"
	Refused  Verdict = "refused"
	Lost     Verdict = "lost"
)

// Ref is one ref of a push. Applied says that it moved.
type Ref struct {
	checks.Update
	Applied bool `json:"applied"`
}

// Record is what is kept of a push. It holds rule ids and places, never content,
// so that no secret can enter it.
type Record struct {
	ID         int64         `json:"id"` // position in the chain, from 1
	Time       time.Time     `json:"time"`
	Principal  string        `json:"principal"`      // pm, agent, or unknown when it was not proved
	Name       string        `json:"name,omitempty"` // who pushed, as the transport proves it
	User       string        `json:"user"`           // the hook's user id
	Push       string        `json:"push"`           // push id
	Refs       []Ref         `json:"refs"`
	Verdict    Verdict       `json:"verdict"`
	Rules      []string      `json:"rules"`             // rule ids of all findings, sorted
	Allowed    []string      `json:"allowed,omitempty"` // RULE:PATH that the PM let pass
	Counts     checks.Counts `json:"counts"`
	DurationMS int64         `json:"duration_ms"`
	// Repeats is how many identical refusals followed the one before this record
	// and were not recorded one by one.
	Repeats int `json:"repeats,omitzero"`
	// Reconciled says that the push's own post-receive died and a later one wrote
	// this from the reflog.
	Reconciled bool `json:"reconciled,omitzero"`
	// Retired are the directive ids that were used and are gone, as ranges.
	Retired string `json:"retired,omitempty"`
}

// Marshal gives the canonical JSON of a record (RFC 8785), one line.
func (r *Record) Marshal() ([]byte, error) {
	data, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	value := jsontext.Value(data)
	err = value.Canonicalize()
	return value, err
}

// ParseRecord reads a record, strictly.
func ParseRecord(data []byte) (*Record, error) {
	r := new(Record)
	if err := json.Unmarshal(data, r, json.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf("broken audit record: %w", err)
	}
	return r, nil
}

// Tips are the objects that an accepted push made the value of a ref.
func (r *Record) Tips() []string {
	var tips []string
	seen := map[string]bool{git.Zero: true}
	for _, ref := range r.Refs {
		if ref.Applied && !seen[ref.New] {
			seen[ref.New] = true
			tips = append(tips, ref.New)
		}
	}
	return tips
}

// subject is the first line of the record's commit.
func (r *Record) subject() string {
	names := make([]string, 0, len(r.Refs))
	for _, ref := range r.Refs[:min(3, len(r.Refs))] {
		names = append(names, strings.TrimPrefix(strings.TrimPrefix(ref.Ref, "refs/"), "heads/"))
	}
	if len(r.Refs) > 3 {
		names = append(names, fmt.Sprintf("and %d more", len(r.Refs)-3))
	}
	return diag.Clean(fmt.Sprintf("push %d %s: %s %s", r.ID, r.Verdict, r.Principal, strings.Join(names, ", ")))
}

// sameRefusal reports whether two refusals say the same about the same push.
func (r *Record) sameRefusal(o *Record) bool {
	if r.Verdict != Refused || o.Verdict != Refused || r.Principal != o.Principal ||
		len(r.Refs) != len(o.Refs) || strings.Join(r.Rules, " ") != strings.Join(o.Rules, " ") {
		return false
	}
	for i := range r.Refs {
		if r.Refs[i] != o.Refs[i] {
			return false
		}
	}
	return true
}
