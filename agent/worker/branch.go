package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"git-ward/internal/diag"
	"git-ward/protocols/boot"
	"git-ward/protocols/comms"
	"git-ward/protocols/uow"
)

// branchRun is what an agent started from a branch does (BOOT-3): the branch has been shown to
// build, pass and start. It claims the work, waits for the verdict, and merges if it may, or
// reports that the branch is ready; then it hands over to main. It never solves: a running
// branch does not change its own code.
type branchRun struct {
	deps *deps
	doc  *comms.Document // of main
}

func (b *branchRun) run(ctx context.Context) error {
	d := b.deps
	merged, err := d.store.Merged(ctx, d.launch.Commit)
	if err != nil {
		return err
	}
	if merged {
		d.log.Info().Str("branch", d.launch.Branch).Str("commit", diag.Short(d.launch.Commit)).Msg("this branch is in main")
		return d.restart(boot.Main)
	}
	why := "[rights] agent_merge is off."
	if d.config.Rights.AgentMerge {
		proved, err := b.prove(ctx)
		if err == nil && proved {
			err = d.restart(boot.Main)
		}
		if proved || err != nil {
			return errors.Join(err, d.store.RemoveAside())
		}
		why = "There is no ACTIVE unit of work on this code, so nothing was claimed and the host has no verdict on it."
	}
	if err := b.report(ctx, why); err != nil {
		return err
	}
	return d.restart(boot.Main)
}

// report reports once that the branch is ready to be merged, and why the agent does not.
func (b *branchRun) report(ctx context.Context, why string) error {
	l := b.deps.launch
	commit := diag.Short(l.Commit)
	r := comms.NewReport{Time: time.Now(), Directive: cmp.Or(b.deps.only, "-"), Status: comms.Info,
		Text: fmt.Sprintf("Ready to merge: %s, commit %s, was built, validated and started, and main runs again. `git merge origin/%s` takes it. %s",
			l.Branch, commit, l.Branch, why)}
	if d := b.directive(); d != nil && b.own(d) {
		r.Directive = d.Name()
	}
	return b.deps.store.ReportOnce(ctx, "ready "+commit, r)
}

// directive is the branch's directive, nil for none.
func (b *branchRun) directive() *comms.Directive {
	name, _ := strings.CutPrefix(b.deps.launch.Branch, "agent/")
	return b.doc.Directive(name)
}

// own reports whether this process may report on a directive.
func (b *branchRun) own(d *comms.Directive) bool {
	return b.deps.only == "" || b.deps.only == d.Name()
}

// prove takes the branch's unit through claim and verdict to its end, and merges, if no more work is
// needed. It returns false if there is no such unit, or if its code is not the code that was started.
func (b *branchRun) prove(ctx context.Context) (bool, error) {
	deps, d := b.deps, b.directive()
	if d == nil || !b.own(d) || b.doc.State(*d) == comms.Closed || !deps.config.Agent.Loop {
		return false, nil
	}
	journals, err := deps.store.Journals(ctx, d.Name())
	if err != nil || len(journals) == 0 {
		return false, err
	}
	if last := journals[len(journals)-1].Last(); last.State != uow.Active || last.DirectiveHash != d.Hash() {
		return false, nil
	}
	work, err := deps.store.Work(ctx, *d)
	if err != nil {
		return false, err
	}
	if same, err := work.HasCode(ctx, deps.launch.Commit); !same || err != nil {
		return false, err
	}
	return true, newUnitRun(deps, *d, work, deps.log.With().Str("directive", d.Name()).Logger()).run(ctx)
}
