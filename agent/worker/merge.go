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

// merge merges certified work into main if the PM allows it (HOOK-4); then the unit completes
// (UOW-1). If the host refuses, the PM has to merge, and the report says why.
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

// mayMerge is why certified work may not be merged from here, "" if it may. The agent's own
// program is merged after a start from its branch (BOOT-3): if that is still to be tried, the
// error is stop.Restart.
func (r *unitRun) mayMerge(ctx context.Context) (why string, err error) {
	l := r.deps.launch
	if l.Main == "" || l.OnBranch() { // another program, or just started
		return "", nil
	}
	if same, err := r.work.HasCode(ctx, l.Main); same || err != nil {
		return "", err
	}
	last, same, err := r.lastStart(ctx)
	if err != nil || same {
		return "", err
	}
	r.log.Info().Str("branch", r.work.Branch).Str("last", string(last.Event)).Msg("certified; it is to start before it is merged")
	return "", r.deps.restart(r.work.Branch)
}

// prove starts a program without a known probation from its branch, which begins one (BOOT-3):
// then the error is stop.Restart. failed says that it was started and failed, or that no
// watcher is there to start it; else the host judges again.
func (r *unitRun) prove(ctx context.Context) (failed bool, err error) {
	l := r.deps.launch
	switch {
	case l.OnBranch():
		return false, nil
	case l.Main == "":
		return true, nil
	}
	last, same, err := r.lastStart(ctx)
	if err == nil && !same {
		r.log.Info().Str("branch", r.work.Branch).Str("last", string(last.Event)).Msg("all else is met; its program is to pass a probation before the claim holds")
		err = r.deps.restart(r.work.Branch)
	}
	return last.Event == boot.Failure, err
}

// lastStart is the branch's last entry in bootstrap.log, and whether it was for the branch's
// present program.
func (r *unitRun) lastStart(ctx context.Context) (last boot.Entry, same bool, err error) {
	log, err := os.ReadFile(r.deps.launch.Log)
	if err != nil {
		return last, false, err
	}
	last = boot.Last(log, r.work.Branch)
	same, err = r.work.HasCode(ctx, last.Commit)
	return last, same || last.Event == boot.Failure && boot.Failures(log, r.work.Branch) >= boot.MaxFailures, err
}

// notStarted reports, for a converged program that is the agent's own, that it did not start
// from its branch: then the directive is not done, whatever its criteria say. "" otherwise.
func (r *unitRun) notStarted(ctx context.Context, report *loop.Report) (string, error) {
	l := r.deps.launch
	if report.Status != loop.ExitConverged || l.Main == "" || l.OnBranch() || r.unit.last().State != uow.Active {
		return "", nil
	}
	if same, err := r.work.HasCode(ctx, l.Main); same || err != nil {
		return "", err
	}
	last, same, err := r.lastStart(ctx)
	if err != nil || !same || last.Event != boot.Failure {
		return "", err
	}
	return "its work passes what decides on it, and then its program did not start from " + r.work.Branch + ": " + diag.Clean(last.Reason), nil
}
