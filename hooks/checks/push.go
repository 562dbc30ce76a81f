package checks

import (
	"cmp"
	"strings"

	"git-ward/hooks/leases"
	"git-ward/hooks/push"
	"git-ward/internal/config"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/comms"
	"git-ward/protocols/uow"
)

// Push is a push to judge, with what it is judged against.
type Push struct {
	Principal push.Principal
	Name      string // who it is among those, as the transport proves it; "" where it names nobody
	Lease     push.Lease
	Folds     bool // the host folds messages from workers' records (record.FoldName)
	Updates   []push.Update
	Options   []string // push options, as sent
	Config    *config.Config

	// Branches is the prefix of the repository's branches: refs/heads/, or in a clone the
	// remote's.
	Branches string
	// Received says that the refs are the server's own, during a push: an old value other than
	// the ref's is a lost race or a forgery.
	Received bool
	// Retired reads the used directive ids that are gone (COMMS-1); nil if unknown. Few pushes
	// need them.
	Retired func() (comms.Set, error)
	// Leases reads a directive's present lease; nil if unknown.
	Leases func(directive string) (leases.Standing, error)
	// Redacted are the ids of objects that must not come back (REC-5).
	Redacted map[string]bool
	// UnderWay names the refs that other pushes are about to move, and which may appear any
	// moment; nil if unknown.
	UnderWay func() ([]string, error)
}

// underWay are the refs that other pushes are about to move. Two that are judged concurrently
// may both be refused; otherwise both would enter.
func (p *Push) underWay() ([]string, error) {
	if p.UnderWay == nil {
		return nil, nil
	}
	return p.UnderWay()
}

// isControl reports whether a ref is the control branch, and isProject whether it is the
// project's branch.
func (p *Push) isControl(ref string) bool { return ref == p.Config.Control.Ref() }
func (p *Push) isProject(ref string) bool { return ref == p.Config.Control.ProjectRef() }

// isMain reports whether a ref is either.
func (p *Push) isMain(ref string) bool { return p.Config.Control.Names(ref) }

// control is the history of the control branch.
func (p *Push) control() push.History {
	return push.HistoryOf(p.Config.Control, p.Config.Control.Ref())
}

// after is where a ref will be after the push, git.Zero for a deletion.
func (p *Pass) after(ref string) (string, error) {
	for _, u := range p.Push.Updates {
		if u.Ref == ref {
			return u.New, nil
		}
	}
	if branch, ok := strings.CutPrefix(ref, "refs/heads/"); ok {
		ref = p.Push.Branches + branch
	}
	tip, err := p.Repo.Tip(ref)
	return cmp.Or(tip, git.Zero), err
}

// Result is the judgement. A finding that is not a warning refuses the push. Allowed are the
// findings that the PM let pass by option. Would are those that [hooks] mode = "observe" let
// pass; Findings has them, too, as warnings.
type Result struct {
	Findings []diag.Diagnostic
	Allowed  []diag.Diagnostic
	Would    []diag.Diagnostic
	// InCommits says that a refusing finding is in a commit itself, where a later commit
	// cannot fix it.
	InCommits bool
	Counts    push.Counts
	// Lessons are the lines that commits add to lessons.jsonl, Retired the directive ids that
	// main loses: both for the audit.
	Lessons []push.AddedLines
	Retired []int
	// Sizes are the uncompressed sizes of moved unit records, by ref: for the audit, to which
	// the next push adds.
	Sizes map[string]int64
	// Breaches are journals that the push proves to have been tampered with.
	Breaches []Breach
}

// Breach is a unit whose journal somebody tried to change: the host moves it to
// FAILED_SECURITY_BREACH.
type Breach struct {
	Ref    string
	Reason uow.Reason
	Note   string
}

// Refused reports whether the push must not enter.
func (r *Result) Refused() bool { return diag.HasErrors(r.Findings) }
