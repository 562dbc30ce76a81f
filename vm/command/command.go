// Package command is the UDC machine's face to the shell: `git ward udc`
// (UDC-4). It reads files, finds the registered plans that they call, and prints
// what the pure packages of the room answer.
package command

import (
	"context"
	"errors"

	"git-ward/internal/cli"
)

// UDC is `git ward udc VERB FILE...`.
func UDC(ctx context.Context, env *cli.Env) error {
	return cli.Dispatch("git ward udc", "Plans for the UDC machine: Turing-complete, behind hard limits.", []cli.Group{
		{Title: "verbs", Commands: []cli.Command{
			{Name: "run", Doc: "run plans under limits", Run: run},
			{Name: "check", Doc: "say all that is wrong with plans' text", Run: check},
			{Name: "analyze", Doc: "say whether plans end, with a proof", Run: analyze},
			{Name: "fmt", Doc: "print or write plans in their canonical form", Run: format},
			{Name: "trace", Doc: "run a plan and print its steps", Run: trace},
		}},
	})(ctx, env)
}

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
