package checks

import (
	"context"
	"slices"

	"git-ward/hooks/push"
	"git-ward/hooks/walk"
	"git-ward/internal/diag"
	"git-ward/internal/filename"
	"git-ward/internal/git"
	"git-ward/protocols/state"
)

// Repository is what a check may ask of the repository, with the push in it. Object
// ids are hexadecimal, "" is the empty tree; what is too large is a *git.TooLarge or a
// *walk.Exceeded, limits are bytes.
type Repository interface {
	state.Reader
	// Main is the commit of a history's own branch before the push, "" for none: the control
	// branch for push.Control, else the project's.
	Main(h push.History) string
	// Object reads what an object id or full ref name refers to; a missing one is
	// git.ErrMissing.
	Object(name string) (git.Object, error)
	// Commit reads a commit.
	Commit(id string) (*git.Commit, error)
	// Tree reads a tree's entries, in git's order.
	Tree(id string) ([]git.Entry, error)
	// Lookup finds the entry at a path of a tree; a trailing slash asks for a directory.
	Lookup(tree, path string) (e git.Entry, ok bool, err error)
	// Regular reads an entry that is a regular file, nil for others, and counts its bytes
	// towards the push's limit.
	Regular(e git.Entry, limit int64) ([]byte, error)
	// Blob reads a blob without counting it.
	Blob(id string, limit int64) ([]byte, error)
	// Before is the content that a change replaces, nil if unavailable.
	Before(walk.Change) []byte
	// Compare visits each path of a tree whose entry no parent has, and each path of the first
	// parent that the tree lacks. A visit's error ends it.
	Compare(parents []string, tree string, visit func(walk.Change) error) error
	// Size is the uncompressed size of a tree's blobs, and Grown its growth by changes.
	Size(tree string, most int64) (int64, error)
	Grown(changes []walk.Change) (int64, error)
	// Paths visits each path of a tree, reading at most budget bytes of trees.
	Paths(tree string, budget int64, visit func(walk.Change) error) error
	// Chain finds the commits from a tip to its ref's old value, with at most so many parents
	// each.
	Chain(t *walk.Tip, most, parents int) ([]*walk.Commit, error)
	// RevList is git rev-list's answer to its arguments, the newest commit first.
	RevList(args ...string) ([]string, error)
	// MergeBase is a merge base of two commits, "" when they share nothing.
	MergeBase(a, b string) (string, error)
	// RefNames lists the refs below prefixes.
	RefNames(prefixes ...string) ([]string, error)
	// Abbreviated finds an object by the first digits of its id, "" for none.
	Abbreviated(digits string) (string, error)
}

// Pass is one push as its checks see it: the push, the repository with the push in it, and the
// list of findings.
type Pass struct {
	Push *Push
	Repo Repository

	ctx       context.Context // of this judgement
	result    *Result
	protected *filename.List // see Protected
	listing   *listing       // see refs

	errors, warnings int // number of findings, dropped ones included
	// inCommits are the findings reported while judging commits.
	inCommits        map[finding]bool
	judgingInCommits bool
}

// finding identifies a finding independently of redaction.
type finding struct{ commit, rule string }

// maxFindings bounds the stored findings of each severity, so that a bomb cannot fill memory.
// Dropped ones still refuse.
const maxFindings = 1000

// Report adds a finding.
func (p *Pass) Report(d diag.Diagnostic) {
	kept := &p.warnings
	if d.IsError() {
		kept = &p.errors
	}
	if *kept++; *kept > maxFindings {
		return
	}
	p.result.Findings = append(p.result.Findings, d)
	if p.judgingInCommits && d.IsError() {
		p.inCommits[finding{d.Commit, d.Rule}] = true
	}
}

// Protected are the paths that the agent may change on no ref.
func (p *Pass) Protected() *filename.List {
	if p.protected == nil {
		p.protected = filename.NewList(p.Push.Config.Rights.Protected...)
	}
	return p.protected
}

// at is the position of a path in a commit.
func at(c *walk.Commit, path string) diag.Pos { return diag.Pos{Commit: c.ID, Path: path} }

// brings reports whether the push sets a ref to a commit.
func (p *Push) brings(commit string) bool {
	return slices.ContainsFunc(p.Updates, func(u push.Update) bool { return u.New == commit })
}
