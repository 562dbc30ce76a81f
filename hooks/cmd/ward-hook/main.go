// Command ward-hook is the repository's pre-receive and post-receive: it picks
// its part by the path that it is installed under.
package main

import (
	"context"

	"git-ward/hooks/receive"
	"git-ward/internal/cli"
)

func main() {
	cli.Main("ward", func(ctx context.Context, env *cli.Env) error {
		hook, err := receive.Hook(receive.Path(), env.Args)
		if err != nil {
			return err
		}
		return hook(ctx, env)
	})
}
