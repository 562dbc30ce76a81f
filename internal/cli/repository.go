package cli

import (
	"context"
	"errors"
	"flag"

	"git-ward/internal/diag"
	"git-ward/internal/git"
)

// Bare defines a verb's --bare flag, the same everywhere.
func Bare(fs *flag.FlagSet, bare *string) {
	fs.StringVar(bare, "bare", "", "the repository `DIR`; default: the one around here, as git finds it")
}

// Config defines a verb's --config flag, the same everywhere.
func Config(fs *flag.FlagSet, file *string) {
	fs.StringVar(file, "config", "", "the host's settings, a `FILE`; default: Ward's own, where the repository's are not at hand")
}

// Repository returns the repository that --bare names, bare or a clone. Without --bare it
// finds one as git does: by GIT_DIR, or from the current directory upwards.
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
