package command

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"git-ward/internal/branches"
	"git-ward/internal/cli"
	"git-ward/internal/config"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/review"
)

// Here is `git ward` alone: what waits for you in the repository around the command's
// directory. Where that is none of Ward's it is cli.ErrTable.
func Here(ctx context.Context, env *cli.Env) error {
	repo, err := git.Discover(ctx, env.Dir)
	if err != nil {
		return cli.ErrTable
	}
	l, err := look(ctx, env, "", false)
	if err != nil {
		if guarded(ctx, repo) {
			return err
		}
		return cli.ErrTable
	}
	if l.stale != "" {
		fmt.Fprintf(env.Stdout, "warning: %s\n", l.stale)
	}
	if len(l.Waiting) == 0 {
		fmt.Fprintln(env.Stdout, "nothing waits for you here")
	}
	l.waiting(env.Stdout)
	l.unbegun(env.Stdout)
	_, err = fmt.Fprintln(env.Stdout, "`git ward status` says more, `git ward help` lists the commands")
	return err
}

// unbegun says that there is work and no worker: on the host how to start one, in a clone,
// which cannot know, whom to ask.
func (l *looked) unbegun(w io.Writer) {
	var open, begun int
	for _, line := range l.Directives {
		switch line.State {
		case review.Working:
			begun++
		case review.Open:
			open++
		}
	}
	switch {
	case open+begun == 0 || l.Host == nil && begun > 0 || l.Host != nil && (l.Host.Running || !l.Host.MayAsk):
	case l.Host != nil && begun > 0:
		fmt.Fprintf(w, "%s to do, %d begun, and nothing runs here: git ward launch --bare %s\n", diag.Count(open+begun, "directive"), begun, diag.Word(l.Dir()))
	case l.Host != nil:
		fmt.Fprintf(w, "%s open and not begun, and nothing runs here: git ward launch --bare %s\n", diag.Count(open, "directive"), diag.Word(l.Dir()))
	default:
		fmt.Fprintf(w, "%s open and not begun: nobody begins while no agent is launched on the host\n", diag.Count(open, "directive"))
	}
}

// guarded reports whether a repository is one of Ward's, or a clone that git ward made.
func guarded(ctx context.Context, repo *git.Repo) bool {
	if _, err := os.Stat(filepath.Join(repo.Dir, config.Path)); err == nil {
		return true
	}
	set, err := repo.Exits(ctx, "config", "--get", branches.ControlKey)
	return err == nil && set
}
