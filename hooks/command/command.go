// Package command is what people do with the hooks: install them (init), run the same
// checks in a clone (lint), read what they recorded (log), prove that it is whole
// (fsck), keep it packed (maintain), clone with it (clone), and answer a directive by
// hand (report).
package command

import (
	"context"

	"git-ward/internal/cli"
	"git-ward/internal/git"
)

// repository is the one that a command is about: named by --bare, or as it was once, by the
// one argument, or the one around here.
func repository(ctx context.Context, env *cli.Env, bare string, args []string, usage string) (*git.Repo, error) {
	if len(args) > 1 || len(args) == 1 && bare != "" {
		return nil, env.Usage(usage, "one repository at most")
	}
	if len(args) == 1 {
		bare = args[0]
	}
	return env.Repository(ctx, bare)
}
