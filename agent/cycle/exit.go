package cycle

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"git-ward/protocols/loop"
)

// restore reads the branch: which iterations are done, and what they took.
func (l *Loop) restore(ctx context.Context) error {
	name := l.Directive.Name()
	dir := loop.Dir(name) + "/"
	l.budget = loop.BudgetLog{SchemaVersion: loop.SchemaVersion, LoopID: l.Declaration.LoopID, Limits: l.Limits, Iterations: []loop.Usage{}}
	l.manifest = loop.Artifacts{SchemaVersion: loop.SchemaVersion, LoopID: l.Declaration.LoopID, Artifacts: []loop.Artifact{}}
	read, done := l.Work.Files(ctx)
	defer done()
	var budget loop.BudgetLog
	if ok, err := l.decode(read, dir+loop.BudgetFile, &budget); err != nil {
		return err
	} else if ok && budget.LoopID == l.Declaration.LoopID {
		l.budget = budget
	}
	var manifest loop.Artifacts
	if ok, err := l.decode(read, dir+loop.ManifestFile, &manifest); err != nil {
		return err
	} else if ok && manifest.LoopID == l.Declaration.LoopID {
		l.manifest = manifest
	}
	numbers, err := l.iterations(ctx)
	if err != nil {
		return err
	}
	l.certs, l.offset = nil, 0
	for _, n := range numbers {
		var cert loop.Certificate
		ok, err := l.decode(read, loop.IterationDir(name, n)+"/"+loop.CertificateFile, &cert)
		if err != nil {
			return err
		}
		switch {
		case ok && cert.LoopID == l.Declaration.LoopID:
			l.certs = append(l.certs, cert)
		case ok || len(l.certs) == 0 && n < numbers[len(numbers)-1]:
			l.offset = n + 1 // an earlier unit's
		}
	}
	if len(numbers) > 0 && len(l.certs) == 0 && !l.inProgress() {
		l.offset = numbers[len(numbers)-1] + 1
	}
	// What an iteration that was cut off has listed already.
	var listed loop.Artifacts
	if _, err := l.decode(read, loop.IterationDir(name, l.offset+len(l.certs))+"/"+loop.ArtifactsFile, &listed); err != nil {
		return err
	}
	l.manifest = l.manifest.Extend(listed.Artifacts)
	return nil
}

// iterations lists the numbers of iter_N on the branch, ascending.
func (l *Loop) iterations(ctx context.Context) ([]int, error) {
	names, err := l.Work.List(ctx, loop.Dir(l.Directive.Name()))
	if err != nil {
		return nil, err
	}
	var numbers []int
	for _, name := range names {
		if text, ok := strings.CutPrefix(name, "iter_"); ok {
			if n, err := strconv.Atoi(text); err == nil {
				numbers = append(numbers, n)
			}
		}
	}
	slices.Sort(numbers)
	return numbers, nil
}

// decode reads one file of evidence; false where there is none.
func (l *Loop) decode(read func(path string) ([]byte, error), path string, into any) (bool, error) {
	data, err := read(path)
	if err != nil || data == nil {
		return false, err
	}
	if err := json.Unmarshal(bytes.TrimSpace(data), into); err != nil {
		return false, fmt.Errorf("%s of %s: %w", path, l.Work.Branch, err)
	}
	return true, nil
}

// ReadReport is the halting report of this unit, where a run that was killed has
// written it; nil otherwise.
func (l *Loop) ReadReport(ctx context.Context) (*loop.Report, error) {
	var report loop.Report
	read, done := l.Work.Files(ctx)
	defer done()
	ok, err := l.decode(read, loop.Dir(l.Directive.Name())+"/"+loop.ReportFile, &report)
	if !ok || err != nil || report.LoopID != l.Declaration.LoopID {
		return nil, err
	}
	// A unit that was blocked and is ACTIVE again goes on.
	if report.Status == loop.ExitBlocked || report.Status == loop.ExitNeedInfo {
		if !l.Journal.Last().State.Ended() {
			return nil, nil
		}
	}
	return &report, nil
}

// declare writes plan.json and the loop's section of LEARNINGS.md, once
// (DREAM_GOAL).
func (l *Loop) declare(ctx context.Context) error {
	top := loop.Dir(l.Directive.Name()) + "/"
	plan, err := loop.Encode(l.Declaration)
	if err != nil {
		return err
	}
	learnings, err := l.Work.File(ctx, loop.LearningsPath)
	if err != nil {
		return err
	}
	files := map[string][]byte{
		top + loop.PlanFile: plan,
		loop.LearningsPath:  []byte(loop.StartLoop(string(learnings), l.Declaration, l.Now().UTC().Format("2006-01-02"))),
	}
	if len(l.Limits.Reductions) > 0 {
		files[top+loop.ReductionFile] = []byte(strings.Join(l.Limits.Reductions, "\n") + "\n")
	}
	return l.Work.Commit(ctx, "loop: "+l.Declaration.LoopID+" declares its goal and how it may halt", files)
}

// exit writes the halting report and the final learnings (003, section 16).
func (l *Loop) exit(ctx context.Context, d loop.Decision, at loop.State, failed string) (*loop.Report, error) {
	top := loop.Dir(l.Directive.Name()) + "/"
	learnings, err := l.Work.File(ctx, loop.LearningsPath)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{top + loop.LearningsFinal: learnings}
	for path, v := range map[string]any{top + loop.ManifestFile: l.manifest, top + loop.BudgetFile: l.budget} {
		if files[path], err = loop.Encode(v); err != nil {
			return nil, err
		}
	}
	rung, missing := l.rung(ctx, files)
	out := loop.Outcomes{Declaration: l.Declaration, Limits: l.Limits, Decision: d, State: at, Certs: l.certs, Used: l.budget.Used(),
		Manifest: l.manifest, Rung: rung, Failed: failed, Over: l.over, Diagnosis: l.review.Diagnosis}
	if d.Status == loop.ExitNeedInfo {
		out.Missing = []string{l.certs[len(l.certs)-1].Needs}
	}
	if d.Reason == loop.BackpressureSignal {
		out.Signals = []loop.Signal{{Kind: loop.UserInterrupt, Detail: d.Words}}
		if signals := l.Signals(ctx); len(signals) > 0 {
			out.Signals = signals
		}
	}
	report := loop.NewReport(out)
	if d.Status == loop.ExitConverged && rung < l.Declaration.RungTarget {
		report.Lessons = fmt.Sprintf("rung %d is not reached; missing: %s", l.Declaration.RungTarget, strings.Join(missing, ", "))
	}
	if found := report.Check(); len(found) > 0 {
		return nil, fmt.Errorf("the halting report is not whole: %s", strings.Join(found, "; "))
	}
	if files[top+loop.ReportFile], err = loop.Encode(report); err != nil {
		return nil, err
	}
	if err := l.Work.Commit(ctx, fmt.Sprintf("loop: %s halts: %s", l.Declaration.LoopID, d.Status), files); err != nil {
		return nil, err
	}
	return &report, l.Work.Offer(ctx)
}

// rung is what the evidence reaches, computed and never copied from the target.
func (l *Loop) rung(ctx context.Context, pending map[string][]byte) (int, []string) {
	if len(l.certs) == 0 {
		return 0, nil
	}
	last := l.certs[len(l.certs)-1]
	e := loop.RungEvidence{Certificate: last, Complete: true}
	if claim := l.Journal.Claimed(); last.Commit != "" && claim != nil {
		if v, err := l.Verdict(ctx, last.Commit, claim.Hash); err == nil {
			e.Verdict = v
		}
	}
	read, done := l.Work.Files(ctx)
	defer done()
	if err := l.manifest.CheckManifest(func(path string) ([]byte, error) {
		if data := pending[path]; data != nil {
			return data, nil
		}
		return read(path)
	}); err != nil {
		e.Complete = false
	}
	return loop.Rung(e)
}
