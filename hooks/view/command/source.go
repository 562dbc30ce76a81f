package command

import (
	"context"

	"git-ward/hooks/view"
	"git-ward/internal/cli"
	"git-ward/internal/diag"
	"git-ward/internal/git"
)

// open is the repository that --bare names, or the one around the command's directory.
func open(ctx context.Context, env *cli.Env, bare string) (*view.Source, error) {
	find, dir := git.Discover, env.Dir
	if bare != "" {
		find, dir = git.Named, env.Path(bare)
	}
	repo, err := find(ctx, dir)
	if err != nil {
		return nil, diag.Hint(err, "run it in a clone of a ward repository, in the bare repository, or with --bare DIR")
	}
	s, err := view.Open(ctx, repo)
	if err != nil {
		return nil, err
	}
	s.Program, err = cli.Program("git-ward")
	return s, err
}
