package cycle

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"git-ward/protocols/loop"
)

// exit writes the halting report and the final learnings (003, section 16) for the journal's
// step. A loop that did not begin leaves both, but no declaration.
func (r *run) exit(ctx context.Context, status loop.Status, d loop.Decision) (End, error) {
	report, err := r.halt(ctx, status, d)
	if err != nil {
		return End{}, err
	}
	ended := r.now
	again := func(ctx context.Context) error {
		if ended.cert != nil && ended.before.ended < r.past.ended {
			if err := r.again(ctx, ended); err != nil {
				return err
			}
		}
		_, err := r.halt(ctx, status, d)
		return err
	}
	return End{Report: report, Calls: r.calls, Note: r.deps.Unit.Note(), Block: r.block, Again: again}, nil
}

// halt commits the halting report and the files that go with it.
func (r *run) halt(ctx context.Context, status loop.Status, d loop.Decision) (*loop.Report, error) {
	files, err := r.final(ctx, status)
	if err != nil {
		return nil, err
	}
	out, missing, err := r.outcomes(ctx, status, d)
	if err != nil {
		return nil, err
	}
	report := loop.NewReport(out)
	if status == loop.ExitConverged && !loop.Reaches(out.Rung, r.deps.Declaration.RungTarget) {
		report.Lessons = fmt.Sprintf("rung %d is not reached; missing: %s", r.deps.Declaration.RungTarget, strings.Join(missing, ", "))
	}
	if found := report.Check(); len(found) > 0 {
		return nil, errors.New("the halting report is not whole: " + strings.Join(found, "; "))
	}
	if files[r.top(loop.ReportFile)], err = loop.Encode(report); err != nil {
		return nil, err
	}
	if err := r.close(files); err != nil {
		return nil, err
	}
	return &report, r.commit(ctx, fmt.Sprintf("loop: %s halts: %s", r.deps.Declaration.LoopID, status), files)
}

// outcomes is the report's content, and what is missing for the next rung.
func (r *run) outcomes(ctx context.Context, status loop.Status, d loop.Decision) (out loop.Outcomes, missing []string, err error) {
	out = loop.Outcomes{Declaration: r.deps.Declaration, Limits: r.deps.Limits, Status: status, Decision: d, State: r.state,
		Last: r.past.last, Used: r.used(), Over: r.unpaid, Refused: r.refused, Diagnosis: r.now.review.Diagnosis, Manifest: r.left()}
	if out.History, err = r.history(ctx); err != nil {
		return out, nil, err
	}
	switch {
	case r.unpaid == "":
	case r.unpaid == r.deps.Unit.Over():
		out.Limit = loop.LaunchTime
	default:
		out.Limit = r.deps.Unit.Limit(ctx)
	}
	if best := loop.Best(out.History); best >= 0 && status == loop.ExitBudgetExceeded {
		if out.Best, err = r.certificate(ctx, best); err != nil {
			return out, nil, err
		}
	}
	if r.state != loop.BudgetCheck { // at BUDGET_CHECK nothing failed: the last iteration ended
		out.Failed = d.Words
	}
	if status == loop.ExitNeedInfo {
		out.Missing = r.deps.Declaration.Missing()
	}
	if v := r.now.result.Verdict; d.Reason == loop.NotIncluded {
		out.Missing = v.Unsaid()
	}
	learnings, err := r.deps.Work.Record.File(ctx, loop.LearningsPath)
	if err != nil {
		return out, nil, err
	}
	out.Learnings = string(learnings)
	if d.Reason == loop.BackpressureSignal {
		out.Signals = r.pressing(ctx, d)
	}
	out.Verdict = r.lastVerdict(ctx)
	out.Rung, missing = r.rung(ctx, out.Verdict, out.History)
	return out, missing, nil
}

// left is the last completed iteration's manifest with its own hash.
func (r *run) left() loop.Artifacts {
	m := r.past.manifest
	m.Previous = r.past.newest
	return m
}

// final is what the record gets with the report. A divergence without a certificate is still a
// learning.
func (r *run) final(ctx context.Context, status loop.Status) (map[string][]byte, error) {
	learnings, err := r.deps.Work.Record.File(ctx, loop.LearningsPath)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	if last := r.past.last; status == loop.ExitDiverged && last.Type != loop.Diverged {
		path := r.path(last.Iteration, loop.CertificateFile)
		data, err := r.deps.Work.Record.File(ctx, path)
		if err != nil {
			return nil, err
		}
		learning := loop.DivergenceLearning(*last, loop.Link{Path: path, SHA256: loop.Digest(data), Role: "proof"})
		learnings = []byte(loop.AddFailure(string(learnings), last.LoopID, last.Iteration, learning))
		files[loop.LearningsPath] = learnings
	}
	if learnings == nil { // nothing began
		learnings = []byte(loop.NoLearnings())
	}
	files[r.top(loop.LearningsFinal)] = learnings
	return files, nil
}

// close adds the loop's last manifest: the exit's files, and the hash of everything before.
func (r *run) close(files map[string][]byte) (err error) {
	n := 0
	if r.past.last != nil {
		n = r.past.last.Iteration
	}
	m := loop.Artifacts{SchemaVersion: loop.LinearVersion, LoopID: r.deps.Declaration.LoopID, Previous: r.past.newest, Artifacts: []loop.Artifact{}}
	for _, name := range []string{loop.LearningsFinal, loop.ReportFile} {
		path := r.top(name)
		m.Artifacts = append(m.Artifacts, loop.Artifact{Iteration: n, Path: path, SHA256: loop.Digest(files[path]), Role: "log"})
	}
	files[r.top(loop.ManifestFile)], err = loop.Encode(m)
	if r.past.last == nil && err == nil {
		files[r.top(loop.BudgetFile)], err = loop.Encode(r.past.budget)
	}
	return err
}

// pressing is the backpressure for the report: the current signal, or the one that decided.
func (r *run) pressing(ctx context.Context, d loop.Decision) []loop.Signal {
	if signals := r.deps.Unit.Signals(ctx); len(signals) > 0 {
		return signals
	}
	return []loop.Signal{{Kind: loop.UserInterrupt, Detail: d.Words}}
}

// lastVerdict is the host's verdict on the last claim, nil for none, even if the loop did not
// wait for it.
func (r *run) lastVerdict(ctx context.Context) *loop.Verdict {
	if v := r.now.result.Verdict; v != nil {
		return v
	}
	claim := r.deps.Journal.Claimed()
	if r.past.last == nil || r.past.last.Commit == "" || claim == nil {
		return nil
	}
	v, err := r.deps.Unit.Verdict(ctx, r.past.last.Commit, claim.Hash)
	if err != nil {
		return nil
	}
	return v
}

// rung is the rung that the evidence reaches, computed and never copied from the target, and
// what is missing for the next.
func (r *run) rung(ctx context.Context, v *loop.Verdict, history []loop.Residual) (int, []string) {
	if r.past.last == nil {
		return 0, nil
	}
	e := loop.RungEvidence{Certificate: *r.past.last, Verdict: v, History: history}
	if r.past.newest != nil {
		e.Complete = loop.CheckChain(r.past.newest.Path, r.evidence(ctx).read, nil) == nil
	}
	return loop.Rung(e)
}

// Late returns the halting report of a loop that somebody else has ended, as an exit by decision d would
// make it. It reads the record and does not write to it.
func (l *Loop) Late(ctx context.Context, d loop.Decision) (*loop.Report, error) {
	r := &run{deps: l, state: loop.BudgetCheck}
	if err := r.restore(ctx, r.evidence(ctx)); err != nil {
		return nil, err
	}
	status := loop.ExitBlocked
	if l.Journal.Cancelled() != nil {
		status = loop.ExitCancelled
	}
	out, _, err := r.outcomes(ctx, status, d)
	if err != nil {
		return nil, err
	}
	report := loop.NewReport(out)
	return &report, nil
}
