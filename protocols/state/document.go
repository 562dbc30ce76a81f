package state

import (
	"fmt"

	"git-ward/internal/diag"
	"git-ward/protocols/comms"
	"git-ward/protocols/loop"
	"git-ward/protocols/uow"
)

// Comms is a revision's COMMS.md.
type Comms struct {
	*comms.Document                   // what can be read of it
	Data            []byte            // nil when there is no such file
	Findings        []diag.Diagnostic // where it breaks its grammar
}

// ReadComms reads a revision's COMMS.md. One over comms.MaxBytes is an error.
func ReadComms(r Files, rev string) (Comms, error) {
	data, err := r.File(rev, comms.Path, comms.MaxBytes)
	if err != nil {
		return Comms{}, fmt.Errorf("%s of %.40s: %w", comms.Path, rev, err)
	}
	doc, found := comms.Parse(data)
	return Comms{doc, data, found}, nil
}

// ReadMain is what a revision, which is main's, says to the units of a directive of
// its COMMS.md, which is nil when it is gone: the directive's hash and totals, and
// the policy (CONF-1). What units spent is the caller's to sum.
func ReadMain(r Files, rev string, d *comms.Directive, base loop.Base) (*uow.Main, error) {
	data, err := r.File(rev, uow.PolicyPath, uow.MaxPolicy)
	if err != nil {
		return nil, fmt.Errorf("%s of main: %w", uow.PolicyPath, err)
	}
	m, found := loop.Main(d, base, data)
	if len(found) > 0 {
		first := found[0]
		pos := diag.Pos{Path: uow.PolicyPath, Line: first.Line}
		return nil, diag.Hint(fmt.Errorf("main's policy cannot be read: %s: %s", pos, first.Message), "%s", first.Hint)
	}
	return m, nil
}
