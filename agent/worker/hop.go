package worker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"git-ward/agent/cycle"
	"git-ward/agent/stop"
	"git-ward/internal/diag"
	"git-ward/protocols/boot"
	"git-ward/protocols/comms"
	"git-ward/protocols/uow"
)

// hop is what an agent does that was started from a branch (BOOT-3): it has shown
// that it builds, passes and starts. It claims the work, waits for the verdict and
// merges where it may, or reports that it is ready to be merged; then it hands over
// to main. It solves nothing: the branch that runs does not change its own code.
func (a *agent) hop(ctx context.Context, doc *comms.Document) error {
	branch, commit := a.Start.Branch, a.Start.Commit
	log := a.log.With().Str("branch", branch).Str("commit", diag.Short(commit)).Logger()
	merged, err := a.store.Merged(ctx, commit)
	if err != nil {
		return err
	}
	if merged {
		log.Info().Msg("this branch is in main")
		return a.signal(boot.Main)
	}
	d := a.branchDirective(doc)
	why := "[rights] agent_merge is off."
	if a.Config.Rights.AgentMerge {
		proved, err := a.prove(ctx, doc, d)
		if proved || err != nil {
			if err == nil {
				err = a.signal(boot.Main)
			}
			return errors.Join(err, a.store.RemoveAside())
		}
		why = "There is no ACTIVE unit of work on this code, so nothing was claimed and the host has no verdict on it."
	}
	r := comms.NewReport{Time: time.Now(), Directive: "-", Status: comms.Info,
		Text: fmt.Sprintf("Ready to merge: %s, commit %s, was built, validated and started, and main runs again. `git merge origin/%s` takes it. %s",
			branch, diag.Short(commit), branch, why)}
	if d != nil {
		r.Directive = d.Name()
	}
	if err := a.store.ReportOnce(ctx, "ready "+diag.Short(commit), r); err != nil {
		return err
	}
	return a.signal(boot.Main)
}

// branchDirective is the directive that the branch is for, nil for none.
func (a *agent) branchDirective(doc *comms.Document) *comms.Directive {
	name, _ := strings.CutPrefix(a.Start.Branch, "agent/")
	return doc.Directive(name)
}

// prove takes the branch's unit of work through its claim and verdict to its end,
// the merge with it, as far as no more is to be solved. It reports false where
// there is no such unit, or where its code is not what was started.
func (a *agent) prove(ctx context.Context, doc *comms.Document, d *comms.Directive) (bool, error) {
	if d == nil || doc.State(*d) == comms.Closed || !a.Config.Agent.Loop {
		return false, nil
	}
	journals, err := a.store.Journals(ctx, d.Name())
	if err != nil || len(journals) == 0 {
		return false, err
	}
	if last := journals[len(journals)-1].Last(); last.State != uow.Active || last.DirectiveHash != d.Hash() {
		return false, nil
	}
	j := &job{agent: a, directive: *d, log: a.log.With().Str("directive", d.Name()).Logger()}
	if j.work, err = a.store.Work(ctx, *d); err != nil {
		return false, err
	}
	if same, err := j.work.HasCode(ctx, a.Start.Commit); !same || err != nil {
		return false, err
	}
	return true, j.bounded(ctx)
}

// started is the team on a branch that was started: what it has to show is there,
// or is not its own to make.
type started struct{ *team }

func (t started) Solve(ctx context.Context, b cycle.Brief, refusal string) (string, int, error) {
	base, err := t.work.Before(ctx, b.CapsulePath)
	if err != nil {
		return "", 0, err
	}
	if same, err := t.work.HasCode(ctx, base); err != nil {
		return "", 0, err
	} else if same || refusal != "" {
		return "", 0, stop.New(stop.Suspended, "the rest is done from main")
	}
	return fmt.Sprintf("%s, commit %s, was built, validated and started.", t.Start.Branch, diag.Short(t.Start.Commit)), 0, nil
}

// mayMerge says whether certified work may go into main from here, or why not. The
// agent's own program is merged after it was started from its branch (BOOT-3): where
// that is still to be tried, the error is the hop.
func (u *unit) mayMerge(ctx context.Context) (why string, err error) {
	if u.Start.Main == "" || u.Start.onBranch() { // another's program, or just started
		return "", nil
	}
	if same, err := u.work.HasCode(ctx, u.Start.Main); same || err != nil {
		return "", err
	}
	log, err := os.ReadFile(u.Start.Log)
	if err != nil {
		return "", err
	}
	last := boot.Last(log, u.work.Branch)
	same, err := u.work.HasCode(ctx, last.Commit)
	if err != nil {
		return "", err
	}
	switch {
	case last.Event == boot.Failure && (same || boot.Failures(log, u.work.Branch) >= boot.MaxFailures):
		return "it was certified, and then it did not start: " + diag.Clean(last.Reason), nil
	case same:
		return "", nil
	}
	u.log.Info().Str("branch", u.work.Branch).Msg("certified; it is to start before it is merged")
	return "", u.signal(u.work.Branch)
}
