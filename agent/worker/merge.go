package worker

import (
	"context"
	"os"

	"git-ward/agent/stop"
	"git-ward/internal/diag"
	"git-ward/protocols/boot"
	"git-ward/protocols/loop"
	"git-ward/protocols/uow"
)

// merge takes certified work into main where the PM lets the agent do so (HOOK-4);
// the unit completes after it (UOW-1). What the host does not take is the PM's to
// merge, and the report says why.
func (r *unitRun) merge(ctx context.Context, report *loop.Report) error {
	if !r.deps.config.Rights.AgentMerge || report.Status != loop.ExitConverged || r.unit.last().State != uow.Active {
		return nil
	}
	head, err := r.work.Head(ctx)
	if err != nil {
		return err
	}
	if merged, err := r.deps.store.Merged(ctx, head); merged || err != nil {
		return err
	}
	why, err := r.mayMerge(ctx)
	if err != nil {
		return err
	}
	if why != "" {
		r.unmerged = "It is not merged: " + why + "."
		return nil
	}
	err = r.deps.store.Merge(ctx, r.work.Branch, head)
	if refused := stop.As(err, stop.Refused); refused != nil {
		r.log.Warn().Str("findings", refused.Output).Msg("main does not take the work")
		r.unmerged = "Main did not take it:\n\n" + diag.Indent(refused.Output)
		return nil
	}
	return err
}

// mayMerge is why certified work may not go into main from here, "" where it may.
// The agent's own program is merged after it was started from its branch (BOOT-3):
// where that is still to be tried, the error is stop.Restart.
func (r *unitRun) mayMerge(ctx context.Context) (why string, err error) {
	l := r.deps.launch
	if l.Main == "" || l.OnBranch() { // another's program, or just started
		return "", nil
	}
	if same, err := r.work.HasCode(ctx, l.Main); same || err != nil {
		return "", err
	}
	log, err := os.ReadFile(l.Log)
	if err != nil {
		return "", err
	}
	last := boot.Last(log, r.work.Branch)
	same, err := r.work.HasCode(ctx, last.Commit)
	if err != nil {
		return "", err
	}
	switch {
	case last.Event == boot.Failure && (same || boot.Failures(log, r.work.Branch) >= boot.MaxFailures):
		return "it was certified, and then it did not start: " + diag.Clean(last.Reason), nil
	case same:
		return "", nil
	}
	r.log.Info().Str("branch", r.work.Branch).Msg("certified; it is to start before it is merged")
	return "", r.deps.restart(r.work.Branch)
}
