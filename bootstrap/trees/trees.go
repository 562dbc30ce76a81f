// Package trees keeps one working tree for each branch that an agent runs from:
// <state>/<branch>/<repository> (BOOT-1). It checks a commit out in one, builds and
// validates it, and removes the tree when the agent has left its branch (BOOT-3).
// Work in a tree that the remote does not have is pushed first (BOOT-4).
//
// The agent owns the trees, so all of this runs with the agent's rights and never
// with the watcher's.
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
	Code   string `json:"code"`   // what it is built from
	Status string `json:"status"` // a hash of git's status: what the build left, unless ignored
}

// maxValid bounds what is remembered.
const maxValid = 20

// Rescue pushes what a tree holds beyond the remote to branches of the remote, and
// returns their names: its commits and, with uncommitted, what is not committed.
type Rescue func(ctx context.Context, tree string, uncommitted bool) ([]string, error)

// Trees are all of them.
type Trees struct {
	Dir        *statedir.Dir
	Bare       string // the remote's path
	Remote     *remote.Remote
	Supervisor *supervisor.Supervisor
	Settings   *config.Config
	Rescue     Rescue
	Record     *Record
	Save       func() // writes the record down
	Log        zerolog.Logger

	rescued []string
}

// Want is the desired state of a tree.
type Want struct {
	Branch   string
	Commit   string
	Code     string // names what of the commit can run (remote.Code)
	Anew     bool   // its contents and its repository are untrusted
	Validate bool
}

// Prepare makes the tree of a branch what is wanted, with what is built in it.
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

// build builds in a tree, and records what the build left there.
func (t *Trees) build(ctx context.Context, dir string, want Want, command []string) error {
	t.Forget(want.Branch)
	if err := t.try(ctx, "build", dir, command, t.Settings.Bootstrap.BuildTimeout.Duration); err != nil {
		return err
	}
	look := t.status
	if len(command) == 0 { // nothing that could arm the repository has run
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

// Forget marks what was built in a branch's tree as not to be trusted.
func (t *Trees) Forget(branch string) {
	delete(t.Record.Built, branch)
	t.Save()
}

// Rescued are the branches of the remote that hold what was kept since the last
// call.
func (t *Trees) Rescued() []string {
	list := t.rescued
	t.rescued = nil
	return list
}

// Of is a branch's tree.
func (t *Trees) Of(branch string) (string, error) {
	if why := boot.CheckBranch(branch); why != "" {
		return "", fmt.Errorf("the branch %q %s", branch, why)
	}
	return filepath.Join(t.Dir.Path, branch, t.name()), nil
}

// name is the repository's.
func (t *Trees) name() string { return strings.TrimSuffix(filepath.Base(t.Bare), ".git") }

// Leave removes the tree of a branch that was left for main. What it held and the
// remote does not have is kept first.
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

// Remove removes something of the agent's user, with its rights.
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
