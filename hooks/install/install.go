// Package install makes or mends the bare repository that Ward guards: git's
// settings, Ward's own files, the hooks in whatever layout the server has, the first
// commit and its record, and the modes of a repository that several users share
// (HOOK-6, ID-3). Run again, it mends what is missing and changes nothing else.
package install

import (
	"context"
	"fmt"
	"io/fs"

	"git-ward/internal/config"
	"git-ward/internal/git"
	"git-ward/internal/hookdir"
)

// Request is the whole desired state.
type Request struct {
	Dir      string // the bare repository, absolute
	Hooks    string // the directory that its server runs hooks from; "" finds it
	Program  string // the path of the hook binary to install
	Config   []byte // the settings with their defaults, for a repository without
	Template fs.FS  // the files of the first commit
}

// Report is what was done.
type Report struct {
	Changes  []string // in words, in their order; none when nothing was missing
	Warnings []error  // what could not be done, and holds up nothing
	Identity config.Identity
	Shared   bool // a group, or everybody, writes to the repository
}

func (r *Report) did(format string, args ...any) {
	r.Changes = append(r.Changes, fmt.Sprintf(format, args...))
}

func (r *Report) warn(err error) { r.Warnings = append(r.Warnings, err) }

// Run brings a repository to the state of a request. The report says what was done
// also when a later step fails.
func Run(ctx context.Context, want Request) (*Report, error) {
	in := &installer{Request: want, repo: git.Open(want.Dir), report: &Report{}}
	in.settings = settings{repo: in.repo, report: in.report}
	in.tree = tree{dir: want.Dir}
	for _, step := range []func(context.Context) error{
		in.repository, in.findLayout, in.wardFiles, in.hooks, in.gitSettings, in.content, in.genesis, in.share, in.giveToOwner, in.look,
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
	settings settings
	tree     tree
	report   *Report
	layout   hookdir.Layout // after findLayout
}

// findLayout takes the layout that the request names, else the one that an earlier
// run recorded, else what it finds.
func (in *installer) findLayout(ctx context.Context) (err error) {
	named := in.Hooks
	if name := hookdir.Names[0]; named == "" {
		if path := in.settings.get(ctx, hookdir.Key(name)); path != "" {
			named = hookdir.DirOf(path, name)
		}
	}
	in.layout, err = hookdir.Find(in.Dir, named)
	return err
}

// look reads for the report who may push, now that all is settled.
func (in *installer) look(ctx context.Context) error {
	c, err := config.Load(in.Dir)
	if err != nil {
		return err
	}
	in.report.Identity = c.Identity
	in.report.Shared = in.settings.get(ctx, sharedKey) != ""
	return nil
}
