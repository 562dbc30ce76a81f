// Package command has the verbs with which people watch a repository: watch, serve, and report
// --html.
package command

import (
	"context"

	"git-ward/internal/cli"
)

// Main is the program git-ward-view: the first argument is the command, which main.go's
// table says in a line.
func Main(ctx context.Context, env *cli.Env) error {
	return cli.Part(
		cli.Command{Name: "watch", Run: watch,
			Long:     "On a terminal it fills the screen; ? shows its keys, none of which changes anything. In a pipe it prints a line for each change. Only the host shows the worker's words live; a clone shows what it fetches.",
			Examples: []cli.Example{{Line: `watch`, Doc: "all directives, what waits for you first"}, {Line: `watch D-1`, Doc: "one, with the words of the worker"}, {Line: `watch --plain D-1`, Doc: "a line for each change"}}},
		serveCommand,
		cli.Command{Name: "report", Run: report,
			Long:     "The pages that git ward serve shows, as files without a script, to be sent or kept. They say when they were written.",
			Examples: []cli.Example{{Line: `report --html pages`, Doc: "write them into ./pages"}}},
	)(ctx, env)
}
