// Package command is the commands by which people look at a repository for longer than one
// answer: watch, serve, and report --html.
package command

import (
	"context"

	"git-ward/internal/cli"
)

// Main is the program git-ward-view: the first argument is the command.
func Main(ctx context.Context, env *cli.Env) error {
	return cli.Dispatch("git ward", "Look at a repository of Ward's.", []cli.Group{{Title: "commands", Commands: []cli.Command{
		{Name: "watch", Doc: "show what the agent does, as it does it", Run: watch},
		{Name: "serve", Doc: "show the repository in a browser, live and read-only", Run: serve},
		{Name: "report", Doc: "write the pages of the repository into a directory", Run: report},
	}}})(ctx, env)
}
