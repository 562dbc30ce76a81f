package cycle

import (
	"bytes"
	"context"
	"fmt"

	"github.com/go-json-experiment/json"

	"git-ward/agent/store"
	"git-ward/protocols/loop"
)

// past is what the record says of the loop so far. It is read from few files, however
// long the loop is: each names what came before it.
type past struct {
	ended    int               // iterations of this unit that have ended
	last     *loop.Certificate // of the last one of them, nil before the first
	budget   loop.BudgetLog
	manifest loop.Artifacts // what that iteration left
	newest   *loop.Link     // that manifest's; nil before the first
}

// evidence reads the files of a record's newest commit.
type evidence struct {
	read   func(path string) ([]byte, error) // nil where there is none
	record string
}

// evidenceOf reads a record as it stands now.
func evidenceOf(ctx context.Context, w *store.Work) evidence {
	read, _ := w.Record.Files(ctx)
	return evidence{read, w.Record.Ref()}
}

func (r *run) evidence(ctx context.Context) evidence { return evidenceOf(ctx, r.deps.Work) }

// decode reads one file; false where there is none.
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

// enter reads the record and the journal, and the state that they say the loop is in. A
// loop that has begun is declared again: main or the settings may say more by now.
func (r *run) enter(ctx context.Context) error {
	files := r.evidence(ctx)
	if err := r.restore(ctx, files); err != nil {
		return err
	}
	var plan loop.Declaration
	declared, err := files.decode(r.top(loop.PlanFile), &plan)
	if err != nil || !declared || plan.LoopID != r.deps.Declaration.LoopID || len(r.deps.Declaration.Missing()) > 0 {
		r.state = loop.Init // what cannot be read is written anew
		return nil
	}
	if r.state = r.stands(); r.state == loop.Init {
		return nil
	}
	_, err = r.declare(ctx)
	return err
}

// stands is the state that the journal says.
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

// restore reads which iterations are done, and what they took.
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

// restoreFrom takes an iteration for the last one that ended, if it did.
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

// ends makes a certificate that of the last iteration that ended.
func (r *run) ends(cert loop.Certificate) {
	r.past.last, r.past.ended = &cert, cert.Ended()
}

// history is the residuals of all iterations that ended.
func (r *run) history(ctx context.Context) ([]loop.Residual, error) {
	if r.past.last == nil {
		return nil, nil
	}
	return loop.FullHistory(*r.past.last, func(n int) (*loop.Certificate, error) { return r.certificate(ctx, n) })
}

// certificate is that of an iteration, nil for none.
func (r *run) certificate(ctx context.Context, n int) (*loop.Certificate, error) {
	var c loop.Certificate
	ok, err := r.evidence(ctx).decode(r.path(n, loop.CertificateFile), &c)
	if !ok || err != nil {
		return nil, err
	}
	return &c, nil
}

// inProgress reports whether an iteration was begun in the journal and has no
// certificate yet.
func (r *run) inProgress() bool { return int(r.deps.Journal.Last().Iteration) > r.past.ended }

// claimed reports whether the work of the iteration in progress is claimed. A claim of what
// was there before is of no work.
func (r *run) claimed() bool {
	last := r.deps.Journal.Last()
	return last.Claim != nil && last.Claim.Iteration == last.Iteration && !r.mayHold()
}

// number is that of the first iteration without a certificate, in the evidence.
func (r *run) number() int { return r.past.ended }

// counted is an iteration's number in the journal, from 1, by that in the evidence.
func (r *run) counted(n int) int { return n + 1 }

// path is that of an iteration's file.
func (r *run) path(iteration int, name string) string {
	return loop.IterationDir(r.deps.Work.Directive.Name(), iteration) + "/" + name
}

// top is the path of a file of the whole loop.
func (r *run) top(name string) string { return loop.Dir(r.deps.Work.Directive.Name()) + "/" + name }

// ReadReport is the halting report of the journal's unit, where its record has one; nil
// otherwise. A unit that was blocked, or waited for the PM, and goes on again has none.
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
