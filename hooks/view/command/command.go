// Package command is the commands by which people look at a repository for longer than one
// answer: watch, serve, and report --html.
package command

import (
	"context"

	"git-ward/internal/cli"
)

// Main is the program git-ward-view: the first argument is the command, which main.go's
// table says in a line.
func Main(ctx context.Context, env *cli.Env) error {
	return cli.Part(
		cli.Command{Name: "watch", Run: watch},
		serveCommand,
		cli.Command{Name: "report", Run: report},
	)(ctx, env)
}
