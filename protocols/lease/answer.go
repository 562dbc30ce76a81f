package lease

import (
	"fmt"
	"time"
)

// Why is the code of a refusal.
type Why string

// What a directive is not granted for.
const (
	Held    Why = "held"    // by another holder, or by nobody until a person has looked at it
	After   Why = "after"   // what it is to come after is not closed
	Closed  Why = "closed"  // nothing is to be done on it, or it is not there
	Paused  Why = "paused"  // its unit is, or is cancelled: the PM has the word
	TooMany Why = "toomany" // this worker took so many just now
)

// Refused is the host's answer to a worker that does not get a directive, as JSON.
type Refused struct {
	Why    Why       `json:"why"`
	Text   string    `json:"text"`            // for people
	Holder string    `json:"holder,omitzero"` // where it is held
	Until  time.Time `json:"until,omitzero"`  // until when it is, unless that is renewed
}

// Error makes a refusal one.
func (r *Refused) Error() string { return fmt.Sprintf("%s: %s", r.Why, r.Text) }

// Standing is the host's answer to a worker that asks how it stands, as JSON.
type Standing struct {
	Lease   *Lease         `json:"lease"`   // its own, nil for none
	Refused map[string]Why `json:"refused"` // directives that it would not get now
}
