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
	Folds     bool // the host brings what workers left on their records (record.FoldName)
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
	// Leases reads the lease of a directive as it is now; nil when nobody knows.
	Leases func(directive string) (leases.Standing, error)
	// Redacted are the object ids of what must not come back (REC-5).
	Redacted map[string]bool
	// UnderWay names the refs that other pushes are about to move, which may be there
	// any moment; nil when nobody knows.
	UnderWay func() ([]string, error)
}

// underWay are the refs that other pushes are about to move. Two that are judged at
// the same time may both be refused; else both would enter.
func (p *Push) underWay() ([]string, error) {
	if p.UnderWay == nil {
		return nil, nil
	}
	return p.UnderWay()
}

// isControl reports whether a ref is the branch that the PM's directives and the
// agent's reports meet on, and isProject whether it is that of the project's code.
func (p *Push) isControl(ref string) bool { return ref == p.Config.Control.Ref() }
func (p *Push) isProject(ref string) bool { return ref == p.Config.Control.ProjectRef() }

// isMain reports whether a ref is either.
func (p *Push) isMain(ref string) bool { return p.isControl(ref) || p.isProject(ref) }

// control is the history of the control branch.
func (p *Push) control() push.History {
	return push.HistoryOf(p.Config.Control, p.Config.Control.Ref())
}

// after is where a ref is when the push has entered, git.Zero for nowhere.
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
	// InCommits says that a refusing finding stands in a commit itself, where no
	// later commit mends it.
	InCommits bool
	Counts    push.Counts
	// Lessons are the lines that commits add to lessons.jsonl, Retired the
	// directive ids that main loses: both are for the audit.
	Lessons []push.AddedLines
	Retired []int
	// Sizes are the inflated bytes of the records of units that the push moves, by ref:
	// for the audit, from which the next push counts on.
	Sizes map[string]int64
	// Breaches are journals that the push proves somebody tried to change.
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
