// Package walk reads what a push brings, and what that is compared with: it finds new commits,
// and reads commits, trees and blobs within the push's limits.
//
// Objects are read through a single cat-file child. For every new commit it visits
// the paths that none of the commit's parents has, so a merge brings nothing but what
// the merge itself wrote; for every moved ref it visits the difference between the
// old and the new tree. Its cost follows the change, not the repository (HOOK-1).
//
// Trees, commits and blobs are named by their object ids in hexadecimal; "" stands
// for the empty tree. What is wrong with the pushed objects themselves is an *Exceeded or
// a *BadObject among a function's errors (IsBad); every other error is trouble.
package walk

import (
	"context"
	"errors"
	"fmt"

	"git-ward/hooks/push"
	"git-ward/internal/config"
	"git-ward/internal/git"
)

// Limits bound how much is read of a push.
type Limits struct {
	Commits      int   // new ones of a push
	ChangedPaths int   // of one comparison, directories among them
	Depth        int   // of directories
	PathLength   int   // bytes
	BlobSize     int64 // bytes, inflated
	PushSize     int64 // bytes, inflated, of all that is counted
}

// Walker reads the objects of one push. It is not safe for concurrent use.
type Walker struct {
	ctx      context.Context
	repo     *git.Repo
	batch    *git.Batch
	limits   Limits
	branches string // the prefix of the refs that are the repository's branches
	names    config.Control
	project  string // the commit that the project's branch is at, "" for none
	control  string // the same of the control branch

	bytes   int64 // that were counted
	commits *commits
	trees   *trees
	met     map[string]bool // the objects of the push that led somewhere; see Strays
	seen    map[fresh]bool  // the new commits of the push that were found
}

// fresh is a commit that is new to a history.
type fresh struct {
	history push.History
	id      string
}

// New makes a Walker over a repository, with batch for its reader. Branches is the
// prefix of the refs that count as the repository's branches, and names are two of them.
func New(ctx context.Context, repo *git.Repo, batch *git.Batch, branches string, names config.Control, limits Limits) (*Walker, error) {
	w := &Walker{ctx: ctx, repo: repo, batch: batch, limits: limits, branches: branches, names: names,
		met: map[string]bool{}, seen: map[fresh]bool{},
		commits: &commits{kept: map[string]*git.Commit{}, forms: map[string]*git.FormError{}}, trees: &trees{}}
	project, err := batch.Info(branches + names.Project)
	if err != nil && !errors.Is(err, git.ErrMissing) {
		return nil, err
	}
	w.project, w.control = project.ID, project.ID
	if names.Split() {
		control, err := batch.Info(branches + names.Branch)
		if err != nil && !errors.Is(err, git.ErrMissing) {
			return nil, err
		}
		w.control = control.ID
	}
	return w, nil
}

// Main is the commit that a history's own branch is at before the push, "" when there is
// none: the control branch for Control, the project's for any other.
func (w *Walker) Main(h push.History) string {
	if h == push.Control {
		return w.control
	}
	return w.project
}

// Bytes are how many inflated bytes were counted against the push's limit so far.
func (w *Walker) Bytes() int64 { return w.bytes }

// count counts inflated bytes against the push's limit.
func (w *Walker) count(n int64) error {
	if w.bytes += n; w.bytes > w.limits.PushSize {
		return &Exceeded{"", fmt.Sprintf("the push holds more than %d bytes to check", w.limits.PushSize)}
	}
	return nil
}

// Commit is a new commit of the push.
type Commit struct {
	ID string
	*git.Commit
	Ref     string         // a ref of the push that brings it
	History push.History   // that it is new to
	Form    *git.FormError // where it is not what git writes, but has one meaning
}

// Tag is a tag object that the push makes a ref's value, or that such a tag
// points to.
type Tag struct {
	ID string
	*git.Tag
	Ref  string
	Form *git.FormError // as a Commit's
}

// Change is a path with a new entry (Old zero: added) or without one (New zero:
// deleted).
type Change struct {
	Path     string
	Old, New git.Entry
}

// Deleted reports whether the path is gone.
func (c Change) Deleted() bool { return c.New.ID == "" }

// Tip is a ref's new commit and what it changes.
type Tip struct {
	push.Update
	Commit  *git.Commit
	History push.History
	Steps   []*Commit // of a journal or a record: its new commits, oldest first
	// Beside says that no ref ends here: a record names the commit as its work.
	Beside bool
	// Base is the commit from which Changes are counted: the old value for a fast-forward,
	// else the merge base with its history's main, else "" (the empty tree).
	Base    string
	Forward bool // fast-forward or creation on top of main's tip
	Merges  bool // new commits of this update include a merge, or might
	Changes []Change
}
