// Package trees manages one working tree for each branch that an agent runs from:
// <state>/<branch>/<repository> (BOOT-1). It checks out, builds and validates a commit, and removes the tree
// when the agent has left its branch (BOOT-3). Before that it pushes work that the remote lacks (BOOT-4).
//
// The agent owns the trees, so commands in them run with the agent's rights, never with the watcher's.
package trees

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"git-ward/bootstrap/remote"
	"git-ward/bootstrap/statedir"
	"git-ward/bootstrap/supervisor"
	"git-ward/internal/config"
	"git-ward/protocols/boot"
)

// Record is the state that must outlive the watcher.
type Record struct {
	Built map[string]Built `json:"built,omitzero"` // by branch
	Valid []string         `json:"valid,omitzero"` // code that passed validate, the newest last
}

// Built describes what was built in a branch's tree.
type Built struct {
	Code   string `json:"code"`   // the code that was built (remote.Code)
	Status string `json:"status"` // hash of git's status after the build, ignored files not included
}

// maxValid bounds Record.Valid.
const maxValid = 20

// Rescue pushes a tree's commits that the remote lacks and, if uncommitted is set, its uncommitted changes
// to branches of the remote. It returns the branches' names.
type Rescue func(ctx context.Context, tree string, uncommitted bool) ([]string, error)

// Trees manages all trees.
type Trees struct {
	Dir        *statedir.Dir
	Bare       string // the remote's path
	Remote     *remote.Remote
	Supervisor *supervisor.Supervisor
	Settings   *config.Config
	Rescue     Rescue
	Record     *Record
	Save       func() // saves Record
	Log        zerolog.Logger

	rescued []string
}

// Want is the desired state of a tree.
type Want struct {
	Branch   string
	Commit   string
	Code     string // identifies the runnable part of the commit (remote.Code)
	Anew     bool   // do not trust an existing tree and its repository
	Validate bool
}

// Prepare brings a branch's tree to the desired state, builds and validates it, and returns its directory.
func (t *Trees) Prepare(ctx context.Context, want Want) (dir string, err error) {
	if dir, err = t.Of(want.Branch); err != nil {
		return "", err
	}
	c := t.commands(ctx)
	built, found := t.Record.Built[want.Branch]
	fresh := len(c.Build) > 0 && (!found || built.Code != want.Code)
	if fresh, err = t.checkout(ctx, dir, want.Commit, built.Status, fresh, want.Anew); err != nil {
		return "", err
	}
	if fresh {
		if err := t.build(ctx, dir, want, c.Build); err != nil {
			return "", err
		}
	}
	if want.Validate && !slices.Contains(t.Record.Valid, want.Code) {
		if err := t.try(ctx, "validate", dir, c.Validate, t.Settings.Bootstrap.ValidateTimeout.Duration); err != nil {
			return "", err
		}
		t.Record.Valid = append(t.Record.Valid, want.Code)
		t.Record.Valid = t.Record.Valid[max(0, len(t.Record.Valid)-maxValid):]
		t.Save()
	}
	return dir, nil
}

// build runs the build in a tree and records its status.
func (t *Trees) build(ctx context.Context, dir string, want Want, command []string) error {
	t.Forget(want.Branch)
	if err := t.try(ctx, "build", dir, command, t.Settings.Bootstrap.BuildTimeout.Duration); err != nil {
		return err
	}
	look := t.status
	if len(command) == 0 { // no command has run, so the repository is still disarmed
		look = t.differs
	}
	status, err := look(ctx, dir)
	if err != nil {
		return err
	}
	if t.Record.Built == nil {
		t.Record.Built = map[string]Built{}
	}
	t.Record.Built[want.Branch] = Built{want.Code, status}
	t.Save()
	return nil
}

// Forget discards the record of a branch's build, so that it is built again.
func (t *Trees) Forget(branch string) {
	delete(t.Record.Built, branch)
	t.Save()
}

// Rescued returns the branches to which work was rescued since the last call.
func (t *Trees) Rescued() []string {
	list := t.rescued
	t.rescued = nil
	return list
}

// Of returns the directory of a branch's tree.
func (t *Trees) Of(branch string) (string, error) {
	if why := boot.CheckBranch(branch); why != "" {
		return "", fmt.Errorf("the branch %q %s", branch, why)
	}
	return filepath.Join(t.Dir.Path, branch, t.name()), nil
}

// name returns the repository's name.
func (t *Trees) name() string { return strings.TrimSuffix(filepath.Base(t.Bare), ".git") }

// Leave removes the tree of a branch that the agent left for main. It rescues unpushed work first.
func (t *Trees) Leave(ctx context.Context, branch string) {
	dir, err := t.Of(branch)
	if err != nil || !statedir.Exists(dir) {
		return
	}
	status, err := t.status(ctx, dir)
	t.rescue(ctx, dir, err != nil || status != t.Record.Built[branch].Status)
	if err := t.Remove(ctx, dir); err != nil {
		t.Log.Error().Err(err).Msg("the old tree stays")
		return
	}
	t.Forget(branch)
	for dir = filepath.Dir(dir); dir != t.Dir.Path && !statedir.Exists(filepath.Join(dir, ".git")); dir = filepath.Dir(dir) {
		if names, err := os.ReadDir(dir); err != nil || len(names) > 0 || t.Remove(ctx, dir) != nil {
			break
		}
	}
	t.Log.Info().Str("branch", branch).Msg("the old tree is removed")
}

// rescue saves the unpushed work of a tree. A failure does not prevent a restart.
func (t *Trees) rescue(ctx context.Context, dir string, uncommitted bool) {
	branches, err := t.Rescue(ctx, dir, uncommitted)
	for _, branch := range branches {
		t.Log.Warn().Str("tree", dir).Str("branch", branch).Msg("what the tree held is kept")
	}
	t.rescued = append(t.rescued, branches...)
	if err != nil {
		t.Log.Error().Err(err).Str("tree", dir).Msg("not all that the tree held could be pushed")
	}
}

// treeTime bounds one git command in a tree.
const treeTime = 10 * time.Minute

// Remove removes a path below the state directory with the rights of the agent's user.
func (t *Trees) Remove(ctx context.Context, path string) error {
	rel, err := filepath.Rel(t.Dir.Path, path)
	if err != nil || !filepath.IsLocal(rel) || rel == "." {
		return fmt.Errorf("%s is not in the state directory", path)
	}
	// Caches of build tools are read-only.
	var out supervisor.Tail
	err = t.Supervisor.Run(ctx, supervisor.Command{Dir: t.Dir.Path, Time: treeTime, Output: &out,
		Args: []string{"sh", "-c", `chmod -R u+rwX -- "$1" 2>/dev/null; rm -rf -- "$1"`, "sh", path}})
	if err != nil {
		return fmt.Errorf("%s cannot be removed: %w: %s", path, err, out.LastLines())
	}
	return nil
}
