// Package lease defines a directive's lease (MANY-2): which worker may work on it, and until
// when. Only the host grants, renews and revokes it.
//
// # Form
//
// refs/ward/lease/D-3 points to a blob, which is the JSON that Format writes, byte for
// byte. It moves by compare-and-swap. No ref is no lease.
//
// # Time
//
// Since and Until were both read from one clock, that of the gate's host, and are compared
// with it alone: a worker's clock says nothing. A lease is live until Until, and free for
// another holder from Grace later on, so that nobody works in between. One whose times this
// clock cannot have written (Doubt) is neither live nor free: nobody works until a person
// has looked at the clock, and revoked it.
//
// # Fencing
//
// ID is made anew at each taking. A worker pushes under the name `D-3.<id>`, and the gate
// compares that with the lease as it is then: what an earlier holder still pushes is refused.
package lease

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"git-ward/internal/diag"
	"git-ward/protocols/jsondoc"
	"git-ward/protocols/uow"
)

// Version is the version of the format that this package reads and writes.
const Version = 1

// The bounds of a lease.
const (
	MaxBytes = 4 << 10 // of the blob
	IDBytes  = 8       // of an id: random enough that no holder meets another's
	maxWhere = 512     // bytes of Where

	DefaultTerm = 10 * time.Minute
	MaxTerm     = 24 * time.Hour

	// Grace is how long after Until a lease is nobody's: what the old holder began before
	// has ended by then.
	Grace = time.Minute
	// MaxSkew is how far the host's clock may have been put back since it wrote a lease.
	MaxSkew = time.Hour
)

// Lease says who works on a directive, and until when. Its times are UTC, in whole seconds.
type Lease struct {
	Version   int       `json:"version"`
	Directive string    `json:"directive"` // "D-3"
	ID        string    `json:"id"`        // of this taking: 16 lower-case hexadecimal digits
	Holder    string    `json:"holder"`    // a pusher's name (internal/token): the host's or launcher's, a dot, the worker's number
	Where     string    `json:"where"`     // for people: "podman", "process", "kube NAMESPACE/JOB"; printable ASCII
	Since     time.Time `json:"since"`     // when it was taken
	Until     time.Time `json:"until"`     // when it ends unless it is renewed
}

// New makes a lease from now for a term. The id is IDBytes random bytes.
func New(directive string, id [IDBytes]byte, holder, where string, now time.Time, term time.Duration) Lease {
	now = now.UTC().Truncate(time.Second)
	return Lease{Version: Version, Directive: directive, ID: fmt.Sprintf("%x", id), Holder: holder, Where: where, Since: now, Until: now.Add(term)}
}

// Renewed is the same lease with a new end.
func (l Lease) Renewed(now time.Time, term time.Duration) Lease {
	l.Until = now.UTC().Truncate(time.Second).Add(term)
	return l
}

// Live reports whether the lease holds at a time of the gate's host.
func (l Lease) Live(now time.Time) bool { return l.Doubt(now) == nil && now.Before(l.Until) }

// Free reports whether another holder may take the directive at a time of the gate's host.
func (l Lease) Free(now time.Time) bool {
	return l.Doubt(now) == nil && !now.Before(l.Until.Add(Grace))
}

// Doubt says why the gate's clock cannot have written a lease's times, nil if it can. Nobody
// may work under a doubtful lease, and nobody takes it over.
func (l Lease) Doubt(now time.Time) error {
	switch {
	case l.Since.After(now.Add(MaxSkew)):
		return diag.Hint(fmt.Errorf("the lease of %s was taken at %s, which is more than an hour ahead of this host's clock", l.Directive, l.Since.Format(time.RFC3339)),
			"look at the clock (date -u); then git ward lease --revoke %s", l.Directive)
	case l.Until.After(now.Add(MaxTerm + MaxSkew)):
		return diag.Hint(fmt.Errorf("the lease of %s ends at %s, later than any lease that this host's clock gives", l.Directive, l.Until.Format(time.RFC3339)),
			"look at the clock (date -u); then git ward lease --revoke %s", l.Directive)
	}
	return nil
}

// Parse reads the lease of a directive. A lease that cannot be read belongs to nobody, and is
// not free either.
func Parse(directive string, data []byte) (Lease, error) {
	var l Lease
	if len(data) > MaxBytes {
		return Lease{}, broken(directive, fmt.Errorf("%d bytes are more than %d", len(data), MaxBytes))
	}
	if fault, ok := jsondoc.Decode(data, &l, "lease", 1); !ok {
		return Lease{}, broken(directive, errors.New(diag.Clean(fault.Message)))
	}
	if err := l.check(); err != nil {
		return Lease{}, broken(directive, err)
	}
	if l.Directive != directive {
		return Lease{}, broken(directive, fmt.Errorf("it is one of %s", l.Directive))
	}
	if again, err := l.Format(); err != nil || !bytes.Equal(again, data) {
		return Lease{}, broken(directive, errors.New("it is not written as Ward writes it"))
	}
	return l, nil
}

func broken(directive string, err error) error {
	return diag.Hint(fmt.Errorf("the lease of %s cannot be read: %w", directive, err), "git ward lease --revoke %s", directive)
}

// Format writes the lease: one line of JSON.
func (l Lease) Format() ([]byte, error) {
	if err := l.check(); err != nil {
		return nil, err
	}
	data, err := json.Marshal(l)
	if err != nil {
		return nil, err
	}
	return append(data, '\n'), nil
}

func (l Lease) check() error {
	if l.Version != Version {
		return fmt.Errorf("version %d is not %d, the one that is known here", l.Version, Version)
	}
	if !IsDirective(l.Directive) {
		return fmt.Errorf("%.40q is no directive, such as D-3", l.Directive)
	}
	if !isID(l.ID) {
		return fmt.Errorf("the id %.40q is not %d hexadecimal digits", l.ID, 2*IDBytes)
	}
	if !isHolder(l.Holder) {
		return fmt.Errorf("the holder %.40q is not letters, digits and . _ @ + -, beginning with a letter, a digit or _", l.Holder)
	}
	if len(l.Where) > maxWhere || strings.ContainsFunc(l.Where, func(r rune) bool { return r < ' ' || r > '~' }) {
		return fmt.Errorf("where is not printable ASCII of at most %d bytes", maxWhere)
	}
	for _, t := range []time.Time{l.Since, l.Until} {
		if t.Location() != time.UTC || t.Nanosecond() != 0 || t.Year() < 2000 || t.Year() > 9999 {
			return errors.New("a time is not in whole seconds of UTC")
		}
	}
	return nil
}

// IsDirective reports whether a text is a directive's name: "D-3".
func IsDirective(s string) bool {
	id, err := uow.ParseID(s + ".1")
	return err == nil && id.Directive == s
}
