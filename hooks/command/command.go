// Package command is what people do with the hooks: install them (init), run the same
// checks in a clone (lint), read what they recorded (log), prove that it is whole
// (fsck), keep it packed (maintain), clone with it (clone), and answer a directive by
// hand (report).
package command

import (
	"context"
	"errors"

	"git-ward/internal/cli"
	"git-ward/internal/diag"
	"git-ward/internal/git"
)

// repository is the one that an optional argument names, or the current one.
func repository(ctx context.Context, env *cli.Env, args []string, usage string) (*git.Repo, error) {
	if len(args) > 1 {
		return nil, env.Usage(usage, "one directory at most")
	}
	find, dir := git.Discover, env.Dir
	if len(args) == 1 {
		find, dir = git.Named, env.Path(args[0])
	}
	repo, err := find(ctx, dir)
	if _, hinted := errors.AsType[*diag.Hinted](err); err != nil && !hinted {
		err = diag.Hint(err, "name the bare repository or a clone of it")
	}
	if err != nil {
		return nil, err
	}
	return repo, nil
}
