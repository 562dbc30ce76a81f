// Package command is the UDC machine's face to the shell: `git ward udc`
// (UDC-4). It reads files, finds the registered plans that they call, and prints
// what the pure packages of the room answer.
package command

import (
	"errors"

	"git-ward/internal/cli"
)

// UDC is `git ward udc VERB FILE...`.
var UDC = cli.Command{Name: "udc", Doc: "run, check and format plans for the UDC machine",
	Verbs: []cli.Command{
		{Name: "run", Doc: "run plans under limits; --trace: print the steps of one", Run: run, Ways: []cli.Way{{Switch: "trace", Doc: "print the steps of a plan", Run: trace}}},
		{Name: "check", Doc: "say all that is wrong with plans' text; --analyze: whether they end", Run: check,
			Ways: []cli.Way{{Switch: "analyze", Doc: "say whether plans end, with a proof", Run: analyze}}},
		{Name: "fmt", Doc: "print or write plans in their canonical form", Run: format},
	}}

// errUnread ends a command that could not read all its plans: exit 2, and why is
// printed already.
var errUnread = cli.ExitCode(2)

// worse is the error that decides the exit code: trouble outranks findings.
func worse(a, b error) error {
	if a == nil || errors.Is(a, cli.ErrFindings) && b != nil {
		return b
	}
	return a
}
