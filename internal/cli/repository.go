package cli

import (
	"context"
	"errors"
	"flag"

	"git-ward/internal/diag"
	"git-ward/internal/git"
)

// Bare gives a verb the flag by which a repository is named, the same everywhere.
func Bare(fs *flag.FlagSet, bare *string) {
	fs.StringVar(bare, "bare", "", "the repository `DIR`; default: the one around here, as git finds it")
}

// Config gives a verb the flag by which the host's settings are named, the same everywhere.
func Config(fs *flag.FlagSet, file *string) {
	fs.StringVar(file, "config", "", "the host's settings, a `FILE`; default: Ward's own, where the repository's are not at hand")
}

// Repository is the one that --bare names, bare or a clone, or else the one around here, as
// git finds it: GIT_DIR, a working tree and what is below it, a linked one, a bare repository.
func (e *Env) Repository(ctx context.Context, bare string) (*git.Repo, error) {
	find, dir := git.Discover, e.Dir
	if bare != "" {
		find, dir = git.Named, e.Path(bare)
	}
	repo, err := find(ctx, dir)
	if hinted := (*diag.Hinted)(nil); err != nil && !errors.As(err, &hinted) {
		err = diag.Hint(err, "go into a repository of Ward's or a clone of it, or name it: --bare DIR")
	}
	if err != nil {
		return nil, err
	}
	return repo, nil
}
