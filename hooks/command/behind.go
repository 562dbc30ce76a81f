package command

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"git-ward/hooks/audit"
	"git-ward/internal/git"
	"git-ward/internal/process"
	"git-ward/internal/worktree"
)

// askTimeout bounds the question whether a clone is behind: who is offline waits no longer.
const askTimeout = 2 * time.Second

// behind says that a clone has less of the audit than its origin, and how to fetch it; ""
// where it has all, where nobody can tell, and in the bare repository, whose own it is.
func behind(ctx context.Context, dir string, repo *git.Repo) string {
	tree, err := worktree.Find(dir)
	if err != nil {
		return ""
	}
	have, err := repo.Ref(ctx, audit.ChainRef)
	if err != nil {
		return ""
	}
	how, err := git.InCheckout(ctx, tree.Dir, os.Environ())
	if err != nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", how.Args([]string{"ls-remote", "--quiet", "origin", audit.ChainRef})...)
	cmd.Dir, cmd.Env = tree.Dir, append(how.Env, "GIT_TERMINAL_PROMPT=0")
	process.EndGroup(cmd, syscall.SIGTERM, time.Second)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // ssh finds no terminal to ask on
	out, err := cmd.Output()
	tip, _, _ := strings.Cut(string(out), "\t")
	if err != nil || !git.IsID(tip) || tip == have {
		return ""
	}
	return "this clone does not have the newest pushes: git fetch origin " + audit.ChainRef + ":" + audit.ChainRef
}
