package command

import (
	"context"

	"git-ward/hooks/view"
	"git-ward/internal/cli"
)

// open opens the repository in --bare, or the one that contains the working directory.
func open(ctx context.Context, env *cli.Env, bare string) (*view.Source, error) {
	repo, err := env.Repository(ctx, bare)
	if err != nil {
		return nil, err
	}
	s, err := view.Open(ctx, repo)
	if err != nil {
		return nil, err
	}
	s.Program, err = cli.Program("git-ward")
	return s, err
}
