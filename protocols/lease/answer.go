package lease

import (
	"fmt"
	"time"
)

// Why is the code of a refusal.
type Why string

// What a directive is not granted for.
const (
	Held   Why = "held"   // by another holder, or by nobody until a person has looked at it
	After  Why = "after"  // what it is to come after is not closed
	Closed Why = "closed" // nothing is to be done on it, or it is not there
	Paused Why = "paused" // its unit is: the PM has the word
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
	Lease *Lease `json:"lease"` // nil for none
}
