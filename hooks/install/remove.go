package install

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"git-ward/internal/branches"
	"git-ward/internal/config"
	"git-ward/internal/diag"
	"git-ward/internal/failpoint"
	"git-ward/internal/flock"
	"git-ward/internal/git"
	"git-ward/internal/hookdir"
	"git-ward/internal/scratch"
)

// Removal says how Ward is taken out of a repository.
type Removal struct {
	Dir   string // the bare repository, absolute
	Purge bool   // refs, too: the control branch, audit, units, records, verdicts, the agent's branches

	Webhook func(ctx context.Context, page string) error // takes the webhook of a forge's project away
}

// Plan lists the steps of a removal in order.
type Plan struct {
	Steps []Step
	Lost  []string // what nobody has after it, in words
	Stays []string // what is left behind, in words, with what would take it away

	want Removal
}

// Step is one change of a plan. It is idempotent, so that the next removal can finish one that
// was killed.
type Step struct {
	Change
	do func() error
}

// launchLock is the directory that a running launcher locks (sandbox/launch): its lock file
// may have been removed as stale, or replaced from a backup.
const launchLock = "ward"

// remover is one removal.
type remover struct {
	*installer
	plan   *Plan
	purge  bool
	page   string // on the forge, of a project that has a webhook
	unread error  // of settings that are there
}

// PlanRemoval plans the removal of Ward from a repository and changes nothing. The plan
// restores hooks, git's settings and file modes to what they were before init, removes ward/,
// and with Purge the refs that Ward made. What was merged into the project's branches stays.
func PlanRemoval(ctx context.Context, want Removal) (*Plan, error) {
	r := &remover{installer: newInstaller(Request{Dir: want.Dir}), plan: &Plan{want: want}, purge: want.Purge}
	entries, err := os.ReadDir(r.Dir)
	if err != nil {
		return nil, err
	}
	if len(entries) == 0 {
		return nil, fmt.Errorf("%s is an empty directory", r.Dir)
	}
	if err := r.existing(ctx); err != nil {
		return nil, err
	}
	if err := r.before.load(); err != nil {
		return nil, err
	}
	if err := r.findInstalled(ctx); err != nil {
		return nil, err
	}
	if !r.installed() {
		return r.plan, r.refs(ctx) // some may be left
	}
	if err := r.webhook(ctx); err != nil {
		return nil, err
	}
	if left := r.leftovers(); len(left) > 0 {
		for i, path := range left {
			left[i] = diag.Clean(hookdir.Relative(r.Dir, path))
		}
		r.step(change("remove", "what an init that was killed left: %s", strings.Join(left, ", ")), r.sweep)
	}
	for _, part := range []func(context.Context) error{r.hooksBack, r.settingsBack, r.modesBack, r.refs, r.reflogs, r.files} {
		if err := part(ctx); err != nil {
			return nil, err
		}
	}
	return r.plan, nil
}

// Carry carries out a plan and reports each step. No launcher and no init may run meanwhile.
func (p *Plan) Carry(ctx context.Context, did func(Change)) error {
	dir := p.want.Dir
	held, err := lockDir(ctx, dir)
	if err != nil {
		return err
	}
	defer held.Close()
	if err := p.holds(ctx); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(dir, launchLock)); err == nil && len(p.Steps) > 0 {
		lock, err := flock.Within(ctx, filepath.Join(dir, launchLock), flock.Exclusive, 0)
		if errors.Is(err, flock.ErrHeld) {
			lock.Close()
			return diag.Hint(fmt.Errorf("the agent runs on %s", dir), "git ward launch --stop --bare %s", diag.Word(dir))
		}
		if err != nil {
			return err
		}
		defer lock.Close()
	}
	for _, s := range p.Steps {
		if err := s.do(); err != nil {
			return err
		}
		failpoint.Reach("install/removed")
		did(s.Change)
	}
	return nil
}

// holds refuses a plan if an init or another removal has changed something since.
func (p *Plan) holds(ctx context.Context) error {
	now, err := PlanRemoval(ctx, p.want)
	if err == nil && !slices.EqualFunc(p.Steps, now.Steps, func(a, b Step) bool { return a.Change == b.Change }) {
		err = diag.Hint(fmt.Errorf("%s was changed while Ward's removal was planned", p.want.Dir), "git ward init --remove --bare %s again", diag.Word(p.want.Dir))
	}
	return err
}

func (r *remover) step(c Change, do func() error) { r.plan.Steps = append(r.plan.Steps, Step{c, do}) }

// findInstalled finds where the hooks are and what the branches are called.
func (r *remover) findInstalled(ctx context.Context) error {
	r.branches = config.Control{Branch: branches.Adopted, Project: mainName}
	if r.before.known {
		r.branches = r.before.Control
	}
	if _, err := os.Stat(filepath.Join(r.Dir, config.Path)); err == nil {
		var c *config.Config
		if c, r.unread = config.Load(r.Dir); r.unread == nil { // a file that cannot be read goes, too
			r.branches = c.Control
			if c.Forge.WebhookURL != "" {
				r.page = c.Forge.URL
			}
		}
	}
	named := ""
	if path := r.settings.get(ctx, hookdir.Key(hookdir.Names[0])); path != "" {
		named = hookdir.DirOf(path, hookdir.Names[0])
	}
	layout, err := hookdir.Find(r.Dir, named)
	r.layout = layout
	return err
}

// installed reports whether the repository has anything of Ward's besides refs.
func (r *remover) installed() bool {
	return r.before.known || r.guarded() || r.wards()
}

// guarded reports whether an init got so far as to change git settings: before that it records
// the old ones; an earlier version has its own settings.
func (r *remover) guarded() bool {
	_, err := os.Lstat(filepath.Join(r.Dir, config.Path))
	return err == nil || slices.ContainsFunc(hookdir.Names, func(name string) bool { return hookdir.IsWard(r.layout.Path(name)) })
}

// wards reports whether ward/ is there, and Ward's.
func (r *remover) wards() bool {
	info, err := os.Lstat(filepath.Join(r.Dir, "ward"))
	return err == nil && info.IsDir() && (r.before.known || r.guarded() || r.place() == nil)
}

// webhook removes the forge's webhook, before the settings go that say where it is, and the control
// branch by which it is known. If that branch is gone, a killed removal has taken the webhook away.
func (r *remover) webhook(ctx context.Context) error {
	if r.unread != nil {
		r.plan.Stays = append(r.plan.Stays, "a webhook on the forge, if there is one, because the settings cannot be read")
	}
	if r.page == "" {
		return nil
	}
	if tip, err := r.repo.Ref(ctx, r.branches.Ref()); err != nil || tip == git.Zero {
		return err
	}
	r.step(change("remove", "the webhook of %s", r.page), func() error { return r.plan.want.Webhook(ctx, r.page) })
	return nil
}

// modesBack restores the modes of paths that were opened to a group.
func (r *remover) modesBack(context.Context) error {
	if len(r.before.Modes) == 0 {
		return nil
	}
	r.step(change("close", "%s that were opened to a group; objects stay open to it", diag.Count(len(r.before.Modes), "path")), func() error {
		root, err := os.OpenRoot(r.Dir)
		if err != nil {
			return err
		}
		defer root.Close()
		for _, m := range r.before.Modes {
			if err := errors.Join(root.Lchown(m.Path, -1, m.GID), root.Chmod(m.Path, m.Mode)); err != nil && !errors.Is(err, os.ErrNotExist) {
				return err
			}
		}
		return nil
	})
	return nil
}

// unmounted refuses a directory with a mount below it: its files are elsewhere, and a removal
// would delete them.
func unmounted(dir string) error {
	mounts, err := scratch.MountsBelow(dir)
	if err != nil || len(mounts) == 0 {
		return err
	}
	return diag.Hint(fmt.Errorf("%s is mounted below %s, so that its files would go, too", diag.Clean(mounts[0]), dir), "umount it, and try again")
}

// reflogs removes those that exist only because of Ward's core.logAllRefUpdates: none if git
// would have written some anyway.
func (r *remover) reflogs(ctx context.Context) error {
	logs := filepath.Join(r.Dir, "logs")
	const key = "core.logAllRefUpdates"
	s, now := r.before.Settings[key], r.settings.all(ctx, key)
	theirs := slices.ContainsFunc(s.Before, func(v string) bool { return v != "false" }) ||
		len(now) > 0 && !slices.Equal(now, s.After) && !slices.Equal(now, s.Before) // somebody wants them now
	if _, err := os.Stat(logs); err == nil && !theirs && r.before.known && !r.before.Reflogs && !r.before.Made {
		if worked(r.Dir) { // git writes reflogs for these whatever the setting is
			r.plan.Stays = append(r.plan.Stays, "logs/, the reflogs: somebody has a worktree or a stash, and theirs are among them")
			return nil
		}
		r.step(change("remove", "logs/, the reflogs that were begun for Ward"), func() error {
			root, err := os.OpenRoot(r.Dir)
			if err != nil {
				return err
			}
			defer root.Close()
			if err := errors.Join(root.RemoveAll("logs/HEAD"), root.RemoveAll("logs/refs")); err != nil {
				return err
			}
			if err := root.Remove("logs"); !errors.Is(err, syscall.ENOTEMPTY) { // else somebody has logs of his own there
				return err
			}
			return nil
		})
	}
	return nil
}

// worked reports whether somebody has a worktree or a stash of a bare repository.
func worked(dir string) bool {
	for _, name := range []string{"worktrees", "logs/refs/stash"} {
		if _, err := os.Lstat(filepath.Join(dir, name)); !errors.Is(err, fs.ErrNotExist) {
			return true
		}
	}
	return false
}

func ignore(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
