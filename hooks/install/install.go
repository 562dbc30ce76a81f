// Package install makes or mends the bare repository that Ward guards: git's
// settings, Ward's own files, the hooks in whatever layout the server has, the first
// commit and its record, and the modes of a repository that several users share
// (HOOK-6, ID-3). A repository that was there before is adopted: the documents go to a
// branch of their own, and no branch, tag or file of the project changes (CTRL-1). Run
// again, it mends what is missing and changes nothing else. What stood before is written
// down first, so that Remove takes Ward out exactly, also after a kill in the middle.
package install

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"git-ward/internal/config"
	"git-ward/internal/diag"
	"git-ward/internal/failpoint"
	"git-ward/internal/git"
	"git-ward/internal/hookdir"
)

// Request is the complete desired state.
type Request struct {
	Dir      string // the bare repository, absolute
	Hooks    string // the directory that its server runs hooks from; "" finds it
	Control  string // the control branch; "" is "ward" beside a project's own, else what it is
	Program  string // the path of the hook binary to install
	Config   []byte // the settings with their defaults, for a repository without
	Template fs.FS  // the files of the first commit
	Update   bool   // bring the settings of an earlier version to this one
	DryRun   bool   // say what would be done, and do nothing
}

// Report lists what was done, or with DryRun what would be done.
type Report struct {
	Changes  []Change       // in their order; none when nothing was missing
	Warnings []error        // what could not be done, and holds up nothing
	Settings *config.Config // those that count, or with DryRun would
	Stale    []config.Stale // settings left at an earlier version's default
	Project  string         // the commit of the project's branch, where this run adopts it; "" else
	Shared   bool           // a group, or everybody, writes to the repository
}

func (r *Report) warn(err error) { r.Warnings = append(r.Warnings, err) }

// Run brings a repository to the state of a request. The report says what was done
// also when a later step fails. What cannot be adopted is refused before anything is
// changed.
func Run(ctx context.Context, want Request) (*Report, error) {
	in := newInstaller(want)
	unlock, err := in.lock(ctx)
	if err != nil {
		return in.report, err
	}
	defer unlock()
	for _, step := range []func(context.Context) error{
		in.examine, in.direct, in.findLayout, in.repository, in.wardFiles, in.updateSettings, in.hooks, in.gitSettings, in.content, in.genesis, in.share, in.giveToOwner, in.look,
	} {
		if err := step(ctx); err != nil {
			return in.report, err
		}
	}
	return in.report, nil
}

// installer is one run.
type installer struct {
	Request
	repo     *git.Repo
	settings *settings
	tree     tree
	report   *Report
	before   *before
	fresh    bool           // the repository is not there, or is an empty directory
	branches config.Control // after examine
	layout   hookdir.Layout // after findLayout
}

func newInstaller(want Request) *installer {
	in := &installer{Request: want, repo: git.Open(want.Dir), report: &Report{}, tree: tree{dir: want.Dir}}
	in.before = &before{dir: want.Dir}
	in.settings = &settings{repo: in.repo, in: in}
	return in
}

// do makes a change, unless only the plan is asked for, and reports it.
func (in *installer) do(c Change, work func() error) error {
	if !in.DryRun {
		if err := work(); err != nil {
			return err
		}
		failpoint.Reach("install/changed")
	}
	in.report.Changes = append(in.report.Changes, c)
	return nil
}

// findLayout takes the layout that the request names, else the one that an earlier
// run recorded, else what it finds.
func (in *installer) findLayout(ctx context.Context) (err error) {
	named := in.Hooks
	if name := hookdir.Names[0]; named == "" && !in.fresh {
		if path := in.settings.get(ctx, hookdir.Key(name)); path != "" {
			named = hookdir.DirOf(path, name)
		} else if named, err = in.ownLayout(ctx); err != nil {
			return err
		}
	}
	if in.layout, err = hookdir.Find(in.Dir, named); err != nil {
		return err
	}
	return errors.Join(in.relativeLinks(), in.strangers())
}

// strangers refuses a program of somebody else's that has the name of Ward's below a delegate.
func (in *installer) strangers() error {
	for _, name := range hookdir.Names {
		path := in.layout.Path(name)
		if path == filepath.Join(in.layout.Dir, name) {
			continue
		}
		if info, err := os.Lstat(path); err == nil && !(info.Mode().IsRegular() && hookdir.IsWard(path)) {
			return diag.Hint(fmt.Errorf("%s is not Ward's, whose hook has that name there", path), "mv %s %s-own; the delegate runs it under any name", path, path)
		}
	}
	return nil
}

// loaded are the settings that count, or that would.
func (in *installer) loaded() (*config.Config, error) {
	if _, err := os.Stat(filepath.Join(in.Dir, config.Path)); err != nil && in.DryRun {
		text, err := in.settingsText()
		if err != nil {
			return nil, err
		}
		return config.Parse(text, config.Path)
	}
	return config.Load(in.Dir)
}

// look reads for the report who may push, now that all is settled.
func (in *installer) look(ctx context.Context) (err error) {
	if in.report.Settings, err = in.loaded(); err != nil {
		return err
	}
	if !in.DryRun {
		if err := hookdir.Check(ctx, in.Dir); err != nil { // such as a file that the config includes
			in.report.warn(err)
		}
	}
	in.report.Shared = !in.fresh && in.settings.get(ctx, sharedKey) != ""
	path := filepath.Join(in.Dir, config.Path)
	if data, err := config.ReadFile(path); err == nil && !in.Update {
		in.report.Stale, err = config.OldDefaults(data, path)
		return err
	}
	return nil
}
