// Package checks decides what may enter the repository: one file a check, all
// of them listed in Table, and one walk that feeds them.
//
// The walk reads the pushed objects through a single cat-file child. For every
// new commit it visits the paths that none of the commit's parents has, so a
// merge brings nothing to judge but what the merge itself wrote; for every
// moved ref it visits the difference between the old and the new tree. Its cost
// follows the change, not the repository (HOOK-1).
package checks

import (
	"context"
	"fmt"
	"time"

	"git-ward/hooks/push"
	"git-ward/hooks/secret"
	"git-ward/internal/config"
	"git-ward/internal/diag"
	"git-ward/internal/filename"
	"git-ward/internal/git"
	"git-ward/protocols/comms"
)

// Push is what is judged, and against what.
type Push struct {
	Principal push.Principal
	Name      string // who it is among those, as the transport proves it; "" where it names nobody
	Updates   []push.Update
	Options   []string // push options, as sent
	Config    *config.Config

	// Branches is the prefix of the refs that count as the repository's branches:
	// refs/heads/, or in a clone the remote's.
	Branches string
	// Received says that the refs are the server's own, in a push under way: an
	// old value that is not the ref's is then a lost race or a forgery.
	Received bool
	// Retired reads the directive ids that were used and are gone (COMMS-1); nil
	// when nobody knows. Few pushes need them.
	Retired func() (comms.Set, error)
	// UnderWay names the refs that other pushes are about to move, which may be there
	// any moment; nil when nobody knows.
	UnderWay func() ([]string, error)
}

// Result is the judgement. A finding that is not a warning refuses the push.
// Allowed are the findings that the PM let pass by option.
type Result struct {
	Findings []diag.Diagnostic
	Allowed  []diag.Diagnostic
	// InCommits says that a refusing finding stands in a commit itself, where no
	// later commit mends it.
	InCommits bool
	Counts    push.Counts
	// Lessons are the lines that commits add to lessons.jsonl, Retired the
	// directive ids that main loses: both are for the audit.
	Lessons []push.AddedLines
	Retired []int
	// Breaches are journals that the push proves somebody tried to change.
	Breaches []Breach
}

// Refused reports whether the push must not enter.
func (r *Result) Refused() bool { return diag.HasErrors(r.Findings) }

// Check is one concern. Each function is optional and is called by the walk:
// Ref for every update before anything is read, Tag for every tag object that an
// update leads through, Commit for every new commit,
// Path for every path that a new commit adds or changes, Blob once for every new
// content, Names for every directory with names that no parent has together, Whole for every new commit
// once more when all of that is done, and Tip for every ref that ends at a commit,
// with its difference; Unit, in its place, for every journal of a unit of work.
type Check struct {
	Name string
	Doc  string // what it refuses, and why; one sentence or two

	Ref    func(*Run, push.Update)
	Tag    func(*Run, *Tag)
	Commit func(*Run, *Commit)
	Path   func(*Run, *Commit, Change)
	Blob   func(*Run, *Commit, Change, []byte)
	Names  func(r *Run, c *Commit, dir string, entries []git.Entry, in []uint16) // in: bit i is set where parent i has the name
	Whole  func(r *Run, c *Commit, parents []string) error                       // parents: their trees
	Tip    func(*Run, *Tip) error
	Unit   func(*Run, *Tip) error
}

// Commit is a new commit of the push.
type Commit struct {
	ID string
	*git.Commit
	Ref string // a ref of the push that brings it
}

// Tag is a tag object that the push makes a ref's value, or that such a tag
// points to.
type Tag struct {
	ID string
	*git.Tag
	Ref string
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

// Table is every check, in the order in which their findings are explained to
// people. A room that brings a document adds its line here.
func Table() []Check {
	return []Check{
		refCheck, rightsCheck, protectedCheck, optionCheck,
		commitCheck, pathCheck, namesCheck, modeCheck, bareCheck, linkCheck, runtimeCheck,
		textCheck, secretCheck,
		commsCheck, versionCheck, metaCheck, planCheck, udcCheck, registryCheck, lessonsCheck, protocolCheck, replayCheck,
		unitCheck, policyCheck, evidenceCheck,
	}
}

// Run is a walk in progress, as a check sees it.
type Run struct {
	*Push
	ctx         context.Context // of this one walk
	trees       *trees
	batch       *git.Batch
	repo        *git.Repo
	table       []Check
	result      Result
	errors      int // findings that refuse, those included that were too many to keep
	warnings    int
	mainTip     string
	secrets     *secret.Scanner
	harmless    map[string]bool                 // authors and committers that are no secret
	protected   *filename.List                  // what the agent may not change; see protectedPaths
	refs        []refName                       // see refNames
	followed    int                             // names on the ways of links; see follow
	folded      map[string]map[string]git.Entry // by tree; see foldedDir
	foldedNames int
	commits     map[string]*git.Commit
	forms       map[string]*git.FormError // of commits that are not what git writes, but have one meaning
	commitBytes int64
	judged      map[content]bool
	met         map[string]bool   // the objects that were judged, or held something that was
	sources     map[string][]byte // protocols by blob, sourceBytes of them
	sourceBytes int
	inCommits   map[finding]bool // what judgeCommits reported
	walking     bool             // in judgeCommits
	stopped     bool             // something refuses in such a way that nothing after it is worth reading

	lessonLines, lessonBytes int // that the push adds to refs/notes/lessons

	udcDeadline time.Time // of all analyses of UDC plans together; zero before the first
}

// main is the ref that counts as main.
func (p *Push) main() string { return p.Branches + "main" }

// maxFindings bounds the findings of either severity that are kept of a push: a
// bomb must not fill memory with them. What is left out still refuses.
const maxFindings = 1000

// Report adds a finding.
func (r *Run) Report(d diag.Diagnostic) {
	kept := &r.warnings
	if d.IsError() {
		kept = &r.errors
	}
	if *kept++; *kept <= maxFindings {
		r.result.Findings = append(r.result.Findings, d)
		if r.walking && d.IsError() {
			r.inCommits[finding{d.Commit, d.Rule}] = true
		}
	}
}

// finding is what names a finding before and after its text is redacted.
type finding struct{ commit, rule string }

// tooMany turns the findings that were left out into one of their own, which
// nobody can pass: among them may be anything.
func (r *Run) tooMany() {
	if left := r.errors - maxFindings; left > 0 {
		r.result.Findings = append(r.result.Findings, diag.Diagnostic{Rule: "limit/findings",
			Message: fmt.Sprintf("%s more than the %d that are kept of one push", diag.Count(left, "finding"), maxFindings),
			Hint:    "mend the first ones, or push in smaller parts"})
	}
}

// at is the place of a path in a commit.
func at(c *Commit, path string) diag.Pos { return diag.Pos{Commit: c.ID, Path: path} }
