package command

import (
	"context"
	"os"
	"strings"
	"time"

	"git-ward/internal/git"
	"git-ward/internal/worktree"
	"git-ward/protocols/state"
)

// askTimeout bounds the check whether a clone is behind, so that nobody waits longer when
// offline.
const askTimeout = 2 * time.Second

// behind says that a clone has less of the audit than its origin, and how to fetch it; "" if
// it is up to date, if that is unknown, and in the bare repository.
func behind(ctx context.Context, dir string, repo *git.Repo) string {
	tree, err := worktree.Find(dir)
	if err != nil {
		return ""
	}
	have, err := repo.Ref(ctx, state.AuditRef)
	if err != nil {
		return ""
	}
	how, err := git.InCheckout(ctx, tree.Dir, os.Environ())
	if err != nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	out, err := how.Child(ctx, tree.Dir, "ls-remote", "--quiet", "origin", state.AuditRef).Unattended().Output()
	if tip, _, _ := strings.Cut(string(out), "\t"); err != nil || !git.IsID(tip) || tip == have {
		return ""
	}
	return "this clone does not have the newest pushes: git fetch origin " + state.AuditRef + ":" + state.AuditRef
}
