// Package stop is the error type that steers the agent: it says why a piece of work ended
// early, and its Kind says what the caller must do. Any other error is a failure, which the
// next pass tries again.
package stop

import (
	"fmt"
	"slices"
	"strings"

	"git-ward/internal/diag"
)

// Kind says what a caller must do about a Stop.
type Kind int

// The kinds. None is the kind of an error that wraps no Stop.
const (
	None Kind = iota
	// Refused is a push, a record or a merge that the remote, or the working tree's state,
	// does not allow. Its author can fix it.
	Refused
	// Findings is a plan that fails the lint: nothing of it was executed.
	Findings
	// StepFailed is a failed step of a plan. Its changes are reverted; earlier steps stay
	// committed.
	StepFailed
	// Unfinished is a worker that was stopped or failed. Its work so far is kept, and another
	// worker may get further.
	Unfinished
	// Spent is Unfinished because tokens, money or time are used up: another worker would not
	// get further.
	Spent
	// Blocked is work that cannot be done: it is reported, and waits for the PM.
	Blocked
	// Suspended is a unit that the agent may not continue now. Nothing is reported; the next
	// pass looks again.
	Suspended
	// Asked is a worker that asks the PM the question in Why. Its work so far is kept, and the
	// unit waits for the answer.
	Asked
	// Outage is a model that is temporarily unavailable.
	Outage
	// Denied is a model, or a program, that the settings make unusable: its key is refused, it does
	// not exist, it is called wrongly. The work so far is kept, and the unit waits for the admin.
	Denied
	// Killed is a program that a signal ended, for instance for lack of memory, while the
	// agent lives. Its work so far is kept, and it is tried again.
	Killed
	// Missing is a program that ended because what it runs is not where it runs, or cannot be
	// executed there, before it changed anything. The unit waits for the admin's image.
	Missing
	// Restart is a signal to the watcher: this process ends, and another starts from what the
	// signal names.
	Restart
)

var names = [...]string{"none", "refused", "findings", "step failed", "unfinished", "spent", "blocked", "suspended", "asked", "outage", "denied", "killed", "missing", "restart"}

func (k Kind) String() string { return names[k] }

// Stop is the early end of a piece of work.
type Stop struct {
	Kind   Kind
	Why    string // for a reader: a sentence, or its beginning
	Output string // what a program, a model or the remote said of it, as clean lines; "" for nothing

	Findings []diag.Diagnostic // of Refused and Findings, if structured
	Err      error             // what led to it; may be nil
}

// New makes a Stop with a reason and no details.
func New(kind Kind, format string, args ...any) *Stop {
	return &Stop{Kind: kind, Why: fmt.Sprintf(format, args...)}
}

// Refuse makes the Stop for a push or record with findings; text has them for a reader, one a
// line.
func Refuse(text string, findings ...diag.Diagnostic) *Stop {
	return &Stop{Kind: Refused, Why: "refused", Output: text, Findings: findings}
}

// Error is the reason, with a refusal's findings, or else with the wrapped error.
func (s *Stop) Error() string {
	switch {
	case s.Kind == Refused || s.Kind == Findings:
		return s.Why + ":\n" + strings.TrimSuffix(s.Output, "\n")
	case s.Err != nil:
		return s.Why + ": " + s.Err.Error()
	}
	return s.Why
}

// Unwrap is the cause.
func (s *Stop) Unwrap() error { return s.Err }

// Of returns the outermost Stop in an error's tree, nil when there is none.
func Of(err error) *Stop { return find(err, func(*Stop) bool { return true }) }

// As returns the first Stop of one of the kinds in an error's tree, nil when there is none.
func As(err error, kinds ...Kind) *Stop {
	return find(err, func(s *Stop) bool { return slices.Contains(kinds, s.Kind) })
}

// Is reports whether an error's tree has a Stop of that kind.
func Is(err error, kind Kind) bool { return As(err, kind) != nil }

// KindOf is the kind of the outermost Stop in an error's tree.
func KindOf(err error) Kind {
	if s := Of(err); s != nil {
		return s.Kind
	}
	return None
}

// find walks an error's tree in errors.As's order, which cannot look for a field.
func find(err error, wanted func(*Stop) bool) *Stop {
	if s, ok := err.(*Stop); ok && s != nil && wanted(s) {
		return s
	}
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		return find(e.Unwrap(), wanted)
	case interface{ Unwrap() []error }:
		for _, err := range e.Unwrap() {
			if s := find(err, wanted); s != nil {
				return s
			}
		}
	}
	return nil
}
