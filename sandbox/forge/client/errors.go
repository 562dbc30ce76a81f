package client

import (
	"errors"
	"fmt"
	"time"

	"git-ward/internal/diag"
)

// ErrNotFound is that there is no such thing, or that the token may not see it: a forge does
// not say which.
var ErrNotFound = errors.New("the forge knows no such thing, or the token may not see it")

// ErrTooMuch is within an ErrAnswer: the forge has more on it than is read.
var ErrTooMuch = errors.New("it is too much to be read")

// NotTaken is the right that a token lacks which the forge does not know.
const NotTaken = "to be known at all: the forge does not take it, it may have been revoked or have expired"

// ErrDenied is that the token may not do it. To ask again changes nothing until somebody
// gives it the right.
type ErrDenied struct {
	Call  string
	Right string         // what it lacks
	Said  diag.Untrusted // by the forge
}

func (e *ErrDenied) Error() string {
	return fmt.Sprintf("%s: the token lacks a right: %s%s", e.Call, e.Right, said(e.Said))
}

// ErrLater is that the forge was not there, or wants to be asked less. What was to be made may
// have been made: read it back before the next try.
type ErrLater struct {
	Call string
	At   time.Time // not before
	Err  error
	// One is that it is of this one thing, which the forge is still looking at; all else goes on.
	One bool
}

func (e *ErrLater) Error() string { return fmt.Sprintf("%s: not now: %v", e.Call, e.Err) }
func (e *ErrLater) Unwrap() error { return e.Err }

// ErrConflict is that the forge refuses it as things are: the head moved, there is one
// already, a rule of the branch forbids it. Read back what there is.
type ErrConflict struct {
	Call string
	Code int // of HTTP
	Said diag.Untrusted
}

func (e *ErrConflict) Error() string {
	return fmt.Sprintf("%s: the forge refuses it as things are (%d)%s", e.Call, e.Code, said(e.Said))
}

// ErrMoved is that the project has another name now. The token goes nowhere by itself.
type ErrMoved struct {
	Call string
	To   diag.Untrusted // the URL
}

func (e *ErrMoved) Error() string {
	return fmt.Sprintf("%s: it has moved to %q, and the token follows no redirect", e.Call, e.To)
}

// ErrAnswer is an answer that is none: HTML, half of one, a wrong type, or too much; or the forge's
// own trouble with one issue or request. What was to be made may have been made.
type ErrAnswer struct {
	Call string
	Err  error
}

func (e *ErrAnswer) Error() string { return fmt.Sprintf("%s: the answer is none: %v", e.Call, e.Err) }
func (e *ErrAnswer) Unwrap() error { return e.Err }

// said appends the forge's own text to an error.
func said(words diag.Untrusted) string {
	if words == "" {
		return ""
	}
	return fmt.Sprintf("; it says %q", diag.CutWord(words.String(), 300))
}
