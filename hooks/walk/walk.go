// Package walk reads what a push brings and what it is compared with: which commits
// are new, and commits, trees and blobs within the push's limits.
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
	"git-ward/internal/git"
)

// Limits are how much is read of a push.
type Limits struct {
	Commits      int   // new ones of a push
	ChangedPaths int   // of one comparison, directories among them
	Depth        int   // of directories
	PathLength   int   // bytes
	BlobSize     int64 // bytes, inflated
	PushSize     int64 // bytes, inflated, of all that is counted
}

// Walker reads for one push. It is not safe for concurrent use.
type Walker struct {
	ctx      context.Context
	repo     *git.Repo
	batch    *git.Batch
	limits   Limits
	branches string // the prefix of the refs that are the repository's branches
	main     string // the commit that main is at, "" for none

	bytes   int64 // that were counted
	commits commits
	trees   trees
	met     map[string]bool // the objects of the push that led somewhere; see Strays
}

// New makes a Walker over a repository, with batch for its reader. Branches is the
// prefix of the refs that count as the repository's branches, and main is below it.
func New(ctx context.Context, repo *git.Repo, batch *git.Batch, branches string, limits Limits) (*Walker, error) {
	w := &Walker{ctx: ctx, repo: repo, batch: batch, limits: limits, branches: branches, met: map[string]bool{},
		commits: commits{kept: map[string]*git.Commit{}, forms: map[string]*git.FormError{}}}
	main, err := batch.Info(branches + "main")
	if err != nil && !errors.Is(err, git.ErrMissing) {
		return nil, err
	}
	w.main = main.ID
	return w, nil
}

// Main is the commit that main is at before the push, "" when there is none.
func (w *Walker) Main() string { return w.main }

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
	Ref  string         // a ref of the push that brings it
	Form *git.FormError // where it is not what git writes, but has one meaning
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
	Commit *git.Commit
	Steps  []*Commit // of a journal: its new records, oldest first
	// Base is the commit that Changes are counted from: the old value for a
	// fast-forward, else the merge base with main, else "" (the empty tree).
	Base    string
	Forward bool // fast-forward or creation on top of main's tip
	Merges  bool // new commits of this update include a merge, or might
	Changes []Change
}
