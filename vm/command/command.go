// Package command is the UDC machine's face to the shell: `git ward udc`
// (UDC-4). It reads files, finds the registered plans that they call, and prints
// what the pure packages of the room answer.
package command

import (
	"errors"

	"git-ward/internal/cli"
)

// UDC is `git ward udc VERB FILE...`.
var UDC = cli.Command{Name: "udc", Doc: "run, analyze, check, format and trace plans for the UDC machine",
	Verbs: []cli.Command{
		{Name: "run", Doc: "run plans under limits", Run: run},
		{Name: "check", Doc: "say all that is wrong with plans' text", Run: check},
		{Name: "analyze", Doc: "say whether plans end, with a proof", Run: analyze},
		{Name: "fmt", Doc: "print or write plans in their canonical form", Run: format},
		{Name: "trace", Doc: "run a plan and print its steps", Run: trace},
	}}

// errUnread ends a command that could not read all its plans: exit 2, and why is
// printed already.
var errUnread = cli.ExitCode(2)

// worse is the error that decides the exit code: trouble before findings.
func worse(a, b error) error {
	if a == nil || errors.Is(a, cli.ErrFindings) && b != nil {
		return b
	}
	return a
}
