package walk

import (
	"errors"
	"fmt"

	"git-ward/internal/git"
)

// BadObject is the error for an object that other readers may read differently, or that is not
// of the kind that the reference to it says (GATE-1).
type BadObject struct {
	ID   string
	Path string // where the walk met it, "" where it has no path
	Err  error  // a *git.FormError where its form is wrong
}

func (e *BadObject) Error() string { return fmt.Sprintf("object %s: %v", e.ID, e.Err) }

// Unwrap is what is wrong with the object.
func (e *BadObject) Unwrap() error { return e.Err }

func wrongKind(id, is, want string) error {
	return &BadObject{ID: id, Err: fmt.Errorf("it is a %s where a %s belongs", is, want)}
}

// Exceeded is the error for what exceeds a limit: too many paths, too deep, a path too long.
type Exceeded struct{ Path, Message string }

func (e *Exceeded) Error() string { return e.Message }

// IsBad reports whether an error is about what was pushed, and not a failure of the host.
func IsBad(err error) bool {
	var object *BadObject
	var limit *Exceeded
	return errors.As(err, &object) || errors.As(err, &limit)
}

// tooLarge makes an Exceeded of an object that git was not asked to inflate.
func tooLarge(err error) error {
	if large, ok := errors.AsType[*git.TooLarge](err); ok {
		return &Exceeded{"", large.Error()}
	}
	return err
}

// At gives an error that was met while reading a path that path, unless it has one.
func At(err error, path string) error {
	if limit, ok := errors.AsType[*Exceeded](err); ok && limit.Path == "" {
		limit.Path = path
	}
	if object, ok := errors.AsType[*BadObject](err); ok && object.Path == "" {
		object.Path = path
	}
	return err
}
