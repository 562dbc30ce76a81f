package cycle

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"git-ward/protocols/loop"
)

// exit writes the halting report and the final learnings (003, section 16). A loop
// that did not begin leaves nothing on the branch.
func (r *run) exit(ctx context.Context, status loop.Status, d loop.Decision) (End, error) {
	if r.state == loop.NullCheck {
		report := loop.NewReport(loop.Outcomes{Declaration: r.deps.Declaration, Limits: r.deps.Limits, Status: status, Decision: d, State: r.state,
			Missing: r.deps.Declaration.Missing()})
		return End{Report: &report}, nil
	}
	out := loop.Outcomes{Declaration: r.deps.Declaration, Limits: r.deps.Limits, Status: status, Decision: d, State: r.state,
		Used: r.past.budget.Used(), Over: r.unpaid, Diagnosis: r.now.review.Diagnosis}
	for i, c := range r.past.certs {
		out.Last, out.History = &r.past.certs[i], append(out.History, c.Residual)
	}
	if best := loop.Best(out.History); best >= 0 {
		out.Best = &r.past.certs[best]
	}
	if r.state != loop.BudgetCheck { // where nothing fails: it is decided on what ended well
		out.Failed = d.Words
	}
	files, err := r.final(ctx, status)
	if err != nil {
		return End{}, err
	}
	var missing []string
	out.Rung, missing = r.rung(ctx, files)
	out.Manifest = r.past.manifest
	if status == loop.ExitNeedInfo {
		out.Missing = []string{r.past.certs[len(r.past.certs)-1].Needs}
	}
	if d.Reason == loop.BackpressureSignal {
		out.Signals = r.pressing(ctx, d)
	}
	report := loop.NewReport(out)
	if status == loop.ExitConverged && out.Rung < r.deps.Declaration.RungTarget {
		report.Lessons = fmt.Sprintf("rung %d is not reached; missing: %s", r.deps.Declaration.RungTarget, strings.Join(missing, ", "))
	}
	return End{Report: &report, Block: r.block}, r.publish(ctx, &report, files)
}

// publish commits and pushes the report.
func (r *run) publish(ctx context.Context, report *loop.Report, files map[string][]byte) (err error) {
	if found := report.Check(); len(found) > 0 {
		return errors.New("the halting report is not whole: " + strings.Join(found, "; "))
	}
	if files[loop.Dir(r.deps.Work.Directive.Name())+"/"+loop.ReportFile], err = loop.Encode(report); err != nil {
		return err
	}
	if err := r.deps.Work.Commit(ctx, fmt.Sprintf("loop: %s halts: %s", r.deps.Declaration.LoopID, report.Status), files); err != nil {
		return err
	}
	return r.deps.Work.Offer(ctx)
}

// final is what the branch gets beside the report. A divergence that no certificate
// says is a learning all the same.
func (r *run) final(ctx context.Context, status loop.Status) (map[string][]byte, error) {
	learnings, err := r.deps.Work.File(ctx, loop.LearningsPath)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	if n := len(r.past.certs); status == loop.ExitDiverged && r.past.certs[n-1].Type != loop.Diverged {
		last := r.past.certs[n-1]
		path := r.path(last.Iteration, loop.CertificateFile)
		data, err := r.deps.Work.File(ctx, path)
		if err != nil {
			return nil, err
		}
		learning := loop.DivergenceLearning(last, loop.Link{Path: path, SHA256: loop.Digest(data), Role: "proof"})
		learnings = []byte(loop.AddFailure(string(learnings), last.LoopID, last.Iteration, learning))
		files[loop.LearningsPath] = learnings
	}
	files[loop.Dir(r.deps.Work.Directive.Name())+"/"+loop.LearningsFinal] = learnings
	return files, r.sum(files)
}

// pressing is the backpressure that a report tells of: what says stop now, or what
// the decision was made on.
func (r *run) pressing(ctx context.Context, d loop.Decision) []loop.Signal {
	if signals := r.deps.Signals(ctx); len(signals) > 0 {
		return signals
	}
	return []loop.Signal{{Kind: loop.UserInterrupt, Detail: d.Words}}
}

// rung is what the evidence reaches, computed and never copied from the target, and
// what is missing for the next one.
func (r *run) rung(ctx context.Context, pending map[string][]byte) (int, []string) {
	if len(r.past.certs) == 0 {
		return 0, nil
	}
	last := r.past.certs[len(r.past.certs)-1]
	e := loop.RungEvidence{Certificate: last, History: last.History, Complete: true}
	if claim := r.deps.Journal.Claimed(); last.Commit != "" && claim != nil {
		if v, err := r.deps.Verdict(ctx, last.Commit, claim.Hash); err == nil {
			e.Verdict = v
		}
	}
	read, done := r.deps.Work.Files(ctx)
	defer done()
	if err := r.past.manifest.CheckManifest(func(path string) ([]byte, error) {
		if data := pending[path]; data != nil {
			return data, nil
		}
		return read(path)
	}); err != nil {
		e.Complete = false
	}
	return loop.Rung(e)
}
