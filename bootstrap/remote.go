package bootstrap

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"time"

	"git-ward/internal/git"
	"git-ward/protocols/boot"
)

// remote reads the bare repository, as the watcher's own user: nothing of it is
// the agent's to write but by pushes.
type remote struct{ *git.Repo }

const (
	mainRef     = "refs/heads/main"
	lastGoodRef = "refs/ward/last-good"
)

// lookTime bounds one look.
const lookTime = 30 * time.Second

func openRemote(bare string) remote {
	r := git.Open(bare)
	// What is stored was pushed by an agent, too; a look at it has bounds.
	r.Limits = git.Limits{Memory: 4 << 30, Alloc: 512 << 20, CPU: lookTime}
	return remote{r}
}

// errNoTarget says that the repository has nothing under a name.
var errNoTarget = errors.New("the repository has no such branch, ref or commit")

// commit is what a full ref holds, "" when there is none.
func (r remote) commit(ctx context.Context, ref string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	id, err := r.Ref(ctx, ref)
	if err != nil || id == git.Zero {
		return "", err
	}
	return id, nil
}

// find is the commit that a signal names: a branch for bootstrap; a branch, tag,
// full ref or commit for rollback.
func (r remote) find(ctx context.Context, h *hop) (string, error) {
	refs := []string{"refs/heads/" + h.Name}
	if h.Kind == rollback {
		refs = append(refs, "refs/tags/"+h.Name)
		if strings.HasPrefix(h.Name, "refs/") {
			refs = append(refs, h.Name)
		}
	}
	for _, ref := range refs {
		if id, err := r.commit(ctx, ref); id != "" || err != nil {
			return r.peel(ctx, id, err)
		}
	}
	if h.Kind == rollback && strings.Trim(h.Name, "0123456789abcdef") == "" && len(h.Name) >= 7 {
		return r.peel(ctx, h.Name, nil)
	}
	return "", errNoTarget
}

// peel is the commit that an object id, full or not, stands for.
func (r remote) peel(ctx context.Context, id string, err error) (string, error) {
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	out, err := r.Output(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", id+"^{commit}")
	if err != nil {
		return "", errNoTarget
	}
	return strings.TrimSpace(string(out)), nil
}

// code names what of a commit's tree can run: equal names, the same program. A
// report on main does not make it another.
func (r remote) code(ctx context.Context, commit string) (string, error) {
	entries, err := r.tree(ctx, commit)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	for _, e := range entries {
		if _, name, _ := bytes.Cut(e, []byte("\t")); boot.IsCode(string(name)) {
			fmt.Fprintf(h, "%s\x00", e)
		}
	}
	return fmt.Sprintf("%x", h.Sum(nil)[:20]), nil
}

func (r remote) tree(ctx context.Context, commit string, paths ...string) ([][]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	out, err := r.Output(ctx, append([]string{"ls-tree", "-z", "--full-tree", commit, "--"}, paths...)...)
	if err != nil {
		return nil, err
	}
	return bytes.Split(bytes.TrimSuffix(out, []byte{0}), []byte{0}), nil
}

// wardFiles are by what Ward's own source is known.
var wardFiles = []string{"scripts/build", "scripts/test", "agent/cmd/ward-agent/main.go", "bootstrap/cmd/ward-watcher/main.go"}

// isWard reports whether main is Ward's own source. A branch has no say in it.
func (r remote) isWard(ctx context.Context) bool {
	entries, err := r.tree(ctx, mainRef, wardFiles...)
	return err == nil && len(entries) == len(wardFiles)
}

// commands are how a tree is built, tried and run; an empty one is nothing to do,
// and for run the agent that ships with Ward.
type commands struct{ build, validate, run []string }

func (w *watcher) commands(ctx context.Context) commands {
	b := w.Settings.Bootstrap
	c := commands{b.Build, b.Validate, b.Run}
	if len(c.build)+len(c.validate)+len(c.run) == 0 && w.remote.isWard(ctx) {
		c = commands{[]string{"scripts/build"}, []string{"scripts/test"}, []string{"bin/ward-agent"}}
	}
	return c
}

// folderOf is a branch's tree: <state>/<branch>/<repository>.
func (w *watcher) folderOf(branch string) (string, error) {
	if why := boot.CheckBranch(branch); why != "" {
		return "", fmt.Errorf("the branch %q %s", branch, why)
	}
	return w.place.state + "/" + branch + "/" + w.name, nil
}
