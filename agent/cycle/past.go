package cycle

import (
	"bytes"
	"context"
	"fmt"

	"github.com/go-json-experiment/json"

	"git-ward/agent/store"
	"git-ward/protocols/loop"
)

// past is the loop's history according to the record. Reading it needs few files, however long the loop
// is, because each file summarizes its predecessors.
type past struct {
	ended    int               // completed iterations of this unit
	last     *loop.Certificate // the last one's certificate, nil before the first
	budget   loop.BudgetLog
	manifest loop.Artifacts // the last one's manifest
	newest   *loop.Link     // that manifest's hash; nil before the first
}

// evidence reads files of a record's newest commit.
type evidence struct {
	read   func(path string) ([]byte, error) // nil where there is none
	record string
}

// evidenceOf reads a record's current state.
func evidenceOf(ctx context.Context, w *store.Work) evidence {
	read, _ := w.Record.Files(ctx)
	return evidence{read, w.Record.Ref()}
}

func (r *run) evidence(ctx context.Context) evidence { return evidenceOf(ctx, r.deps.Work) }

// decode reads one file; false if it is missing.
func (e evidence) decode(path string, into any) (bool, error) {
	data, err := e.read(path)
	if err != nil || data == nil {
		return false, err
	}
	if err := json.Unmarshal(bytes.TrimSpace(data), into); err != nil {
		return false, fmt.Errorf("%s of %s: %w", path, e.record, err)
	}
	return true, nil
}

// enter reads the record and the journal, and the loop's state from them. A running loop is
// declared again, because main or the settings may have changed.
func (r *run) enter(ctx context.Context) error {
	files := r.evidence(ctx)
	if err := r.restore(ctx, files); err != nil {
		return err
	}
	var plan loop.Declaration
	declared, err := files.decode(r.top(loop.PlanFile), &plan)
	if err != nil || !declared || plan.LoopID != r.deps.Declaration.LoopID || len(r.deps.Declaration.Missing()) > 0 {
		r.state = loop.Init // unreadable: rewritten
		return nil
	}
	if r.state = r.stands(); r.state == loop.Init {
		return nil
	}
	_, err = r.declare(ctx)
	return err
}

// stands returns the state according to the journal.
func (r *run) stands() loop.State {
	switch {
	case r.inProgress() && r.claimed():
		return loop.CheckHalting
	case r.inProgress():
		return loop.SpawnSubagent
	case r.past.ended > 0:
		return loop.BudgetCheck
	}
	return loop.Init
}

// restore reads which iterations are complete, and what they used.
func (r *run) restore(ctx context.Context, files evidence) error {
	id := r.deps.Declaration.LoopID
	r.past = past{budget: loop.BudgetLog{SchemaVersion: loop.LinearVersion, LoopID: id, Limits: r.deps.Limits, Iterations: []loop.Usage{}}}
	var budget loop.BudgetLog
	if _, err := files.decode(r.top(loop.BudgetFile), &budget); err != nil {
		return err
	} else if budget.LoopID == id {
		r.past.budget = budget
	}
	var manifest loop.Artifacts
	if _, err := files.decode(r.top(loop.ManifestFile), &manifest); err != nil {
		return err
	}
	if manifest.LoopID != id || len(manifest.Artifacts) == 0 {
		return nil // none ended
	}
	return r.restoreFrom(files, manifest.Artifacts[0].Iteration)
}

// restoreFrom takes an iteration as the last completed one, if it is complete.
func (r *run) restoreFrom(files evidence, n int) error {
	var cert loop.Certificate
	if ok, err := files.decode(r.path(n, loop.CertificateFile), &cert); !ok || err != nil {
		return err
	}
	data, err := files.read(r.path(n, loop.ManifestFile))
	if err != nil || data == nil || cert.LoopID != r.deps.Declaration.LoopID {
		return err
	}
	r.ends(cert)
	r.past.newest = &loop.Link{Path: r.path(n, loop.ManifestFile), SHA256: loop.Digest(data), Role: "snapshot"}
	_, err = files.decode(r.path(n, loop.ManifestFile), &r.past.manifest)
	return err
}

// ends makes a certificate that of the last completed iteration.
func (r *run) ends(cert loop.Certificate) {
	r.past.last, r.past.ended = &cert, cert.Ended()
}

// history is the residuals of all completed iterations.
func (r *run) history(ctx context.Context) ([]loop.Residual, error) {
	if r.past.last == nil {
		return nil, nil
	}
	return loop.FullHistory(*r.past.last, func(n int) (*loop.Certificate, error) { return r.certificate(ctx, n) })
}

// certificate is an iteration's certificate, nil for none.
func (r *run) certificate(ctx context.Context, n int) (*loop.Certificate, error) {
	var c loop.Certificate
	ok, err := r.evidence(ctx).decode(r.path(n, loop.CertificateFile), &c)
	if !ok || err != nil {
		return nil, err
	}
	return &c, nil
}

// inProgress reports whether the journal has begun an iteration that has no certificate yet.
func (r *run) inProgress() bool { return int(r.deps.Journal.Last().Iteration) > r.past.ended }

// claimed reports whether the work of the iteration in progress is claimed. A claim of the project as it
// was (mayHold) does not count.
func (r *run) claimed() bool {
	last := r.deps.Journal.Last()
	return last.Claim != nil && last.Claim.Iteration == last.Iteration && !r.mayHold()
}

// number is the evidence's number of the first iteration without a certificate.
func (r *run) number() int { return r.past.ended }

// counted converts the evidence's number of an iteration, from 0, to the journal's, from 1.
func (r *run) counted(n int) int { return n + 1 }

// path is the path of an iteration's file.
func (r *run) path(iteration int, name string) string {
	return loop.IterationDir(r.deps.Work.Directive.Name(), iteration) + "/" + name
}

// top is the path of a file of the whole loop.
func (r *run) top(name string) string { return loop.Dir(r.deps.Work.Directive.Name()) + "/" + name }

// ReadReport returns the halting report on the record of the journal's unit, nil for none. A unit that was
// blocked or waited for the PM, and continues, has none.
func ReadReport(ctx context.Context, w *store.Work, j *store.Journal) (*loop.Report, error) {
	var report loop.Report
	_, err := evidenceOf(ctx, w).decode(loop.Dir(w.Directive.Name())+"/"+loop.ReportFile, &report)
	if err != nil || report.LoopID != j.ID.String() {
		return nil, err
	}
	waited := report.Status == loop.ExitBlocked || report.Status == loop.ExitNeedInfo
	if waited && !j.Last().State.Ended() {
		return nil, nil
	}
	return &report, nil
}
