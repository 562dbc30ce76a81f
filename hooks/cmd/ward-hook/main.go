// Command ward-hook is the repository's pre-receive and post-receive: it picks
// its part by the path that it is installed under.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"git-ward/hooks/receive"
	"git-ward/internal/cli"
)

func main() { cli.Main("ward", run) }

func run(ctx context.Context, env *cli.Env) error {
	if slices.Equal(env.Args, []string{"-h"}) || slices.Equal(env.Args, []string{"--help"}) {
		_, err := fmt.Fprintln(env.Stdout, "usage: git ward init --bare DIR installs this program as the hooks of a repository; git starts it")
		return err
	}
	hook, err := receive.Named(receive.Path(), env.Args)
	if err != nil {
		return err
	}
	err = hook(ctx, receive.Call{Stdin: env.Stdin, Stdout: env.Stdout, Stderr: env.Stderr,
		RawStdout: cli.Raw(env.Stdout), RawStderr: cli.Raw(env.Stderr), Getenv: env.Getenv, Environ: os.Environ()})
	if errors.Is(err, receive.ErrRefused) {
		return cli.ErrFindings
	}
	return err
}
