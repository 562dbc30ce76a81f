package git

import (
	"errors"
	"fmt"
)

// FormError says how an object departs from the one form that git itself would
// write (GATE-1). Two readers of another form may see two different objects: git
// takes a commit's first `tree` line, another reader the last.
type FormError struct {
	Kind    string // commit, tree or tag
	Message string // what is wrong, quoting nothing that a terminal obeys
	// OneMeaning says that every reader sees the same object all the same. Such an
	// object may stand in old history; the parser returns it together with this
	// error, and it does not enter anew.
	OneMeaning bool
	// Remedy says what to do, where plain git makes such an object, too; else "".
	Remedy string
	// Legacy says that older gits wrote this form, with one meaning.
	Legacy bool
}

func (e *FormError) Error() string { return "broken " + e.Kind + ": " + e.Message }

// Forgive drops an error about an object that departs from git's form but has only one
// meaning. Readers of stored objects use it.
func Forgive(err error) error {
	if form, ok := errors.AsType[*FormError](err); ok && form.OneMeaning {
		return nil
	}
	return err
}

// broken is a form in which readers may disagree.
func broken(kind, format string, args ...any) *FormError {
	return &FormError{Kind: kind, Message: fmt.Sprintf(format, args...)}
}

// odd is a form with one meaning that git does not write.
func odd(kind, format string, args ...any) *FormError {
	return &FormError{Kind: kind, Message: fmt.Sprintf(format, args...), OneMeaning: true}
}

// legacy is a form with one meaning that git used to write.
func legacy(kind, format string, args ...any) *FormError {
	return &FormError{Kind: kind, Message: fmt.Sprintf(format, args...), OneMeaning: true, Legacy: true}
}
