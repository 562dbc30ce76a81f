package cycle

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"git-ward/agent/store"
	"git-ward/protocols/loop"
)

// past is what the branch says of the loop so far.
type past struct {
	offset   int                // iterations of the directive's earlier units
	certs    []loop.Certificate // of each iteration that ended
	budget   loop.BudgetLog
	manifest loop.Artifacts
}

// evidence reads the files of a branch's newest commit.
type evidence struct {
	read   func(path string) ([]byte, error) // nil where there is none
	branch string
}

// decode reads one file; false where there is none.
func (e evidence) decode(path string, into any) (bool, error) {
	data, err := e.read(path)
	if err != nil || data == nil {
		return false, err
	}
	if err := json.Unmarshal(bytes.TrimSpace(data), into); err != nil {
		return false, fmt.Errorf("%s of %s: %w", path, e.branch, err)
	}
	return true, nil
}

// enter reads the branch and the journal, and the state that they say the loop is
// in. A loop that has begun is declared again: main or the settings may say more by
// now.
func (r *run) enter(ctx context.Context) error {
	read, done := r.deps.Work.Files(ctx)
	defer done()
	files := evidence{read, r.deps.Work.Branch}
	if err := r.restore(ctx, files); err != nil {
		return err
	}
	var plan loop.Declaration
	declared, err := files.decode(loop.Dir(r.deps.Work.Directive.Name())+"/"+loop.PlanFile, &plan)
	if err != nil || !declared || plan.LoopID != r.deps.Declaration.LoopID || len(r.deps.Declaration.Missing()) > 0 {
		r.state = loop.Init // what cannot be read is written anew
		return nil
	}
	if r.state, err = r.stands(files); err != nil || r.state == loop.Init {
		return err
	}
	_, err = r.declare(ctx)
	return err
}

// stands is the state that journal and evidence say.
func (r *run) stands(files evidence) (loop.State, error) {
	if !r.inProgress() {
		if len(r.past.certs) > 0 {
			return loop.BudgetCheck, nil
		}
		return loop.Init, nil
	}
	if r.claimed() {
		return loop.CheckHalting, nil
	}
	listed, err := files.read(r.path(r.number(), loop.ArtifactsFile))
	if listed != nil {
		return loop.CollectArtifacts, err
	}
	return loop.SpawnSubagent, err
}

// restore reads which iterations are done, and what they took.
func (r *run) restore(ctx context.Context, files evidence) error {
	name, id := r.deps.Work.Directive.Name(), r.deps.Declaration.LoopID
	dir := loop.Dir(name) + "/"
	r.past = past{
		budget:   loop.BudgetLog{SchemaVersion: loop.SchemaVersion, LoopID: id, Limits: r.deps.Limits, Iterations: []loop.Usage{}},
		manifest: loop.Artifacts{SchemaVersion: loop.SchemaVersion, LoopID: id, Artifacts: []loop.Artifact{}},
	}
	var budget loop.BudgetLog
	if _, err := files.decode(dir+loop.BudgetFile, &budget); err != nil {
		return err
	} else if budget.LoopID == id {
		r.past.budget = budget
	}
	var manifest loop.Artifacts
	if _, err := files.decode(dir+loop.ManifestFile, &manifest); err != nil {
		return err
	} else if manifest.LoopID == id {
		r.past.manifest = manifest
	}
	if err := r.restoreCertificates(ctx, files); err != nil {
		return err
	}
	var listed loop.Artifacts // by an iteration that was cut off
	if _, err := files.decode(r.path(r.number(), loop.ArtifactsFile), &listed); err != nil {
		return err
	}
	r.past.manifest = r.past.manifest.Extend(listed.Artifacts)
	return nil
}

// restoreCertificates reads the unit's certificates, and counts the iterations of
// the units before it, whose numbers go on.
func (r *run) restoreCertificates(ctx context.Context, files evidence) error {
	numbers, err := r.iterations(ctx)
	if err != nil {
		return err
	}
	for _, n := range numbers {
		var cert loop.Certificate
		ok, err := files.decode(r.path(n, loop.CertificateFile), &cert)
		if err != nil {
			return err
		}
		switch {
		case ok && cert.LoopID == r.deps.Declaration.LoopID:
			r.past.certs = append(r.past.certs, cert)
		case ok || len(r.past.certs) == 0 && n < numbers[len(numbers)-1]:
			r.past.offset = n + 1
		}
	}
	if len(numbers) > 0 && len(r.past.certs) == 0 && !r.inProgress() {
		r.past.offset = numbers[len(numbers)-1] + 1
	}
	return nil
}

// iterations lists the numbers of iter_N on the branch, ascending.
func (r *run) iterations(ctx context.Context) ([]int, error) {
	names, err := r.deps.Work.List(ctx, loop.Dir(r.deps.Work.Directive.Name()))
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

// inProgress reports whether an iteration was begun in the journal and has no
// certificate yet.
func (r *run) inProgress() bool { return int(r.deps.Journal.Last().Iteration) > len(r.past.certs) }

// claimed reports whether the work of the iteration in progress is claimed.
func (r *run) claimed() bool {
	last := r.deps.Journal.Last()
	return last.Claim != nil && last.Claim.Iteration == last.Iteration
}

// number is that of the first iteration without a certificate, in the evidence.
func (r *run) number() int { return r.past.offset + len(r.past.certs) }

// path is that of an iteration's file.
func (r *run) path(iteration int, name string) string {
	return loop.IterationDir(r.deps.Work.Directive.Name(), iteration) + "/" + name
}

// ReadReport is the halting report of the journal's unit, where a run that was
// killed has written it; nil otherwise. A unit that was blocked, or waited for the
// PM, and goes on again has none.
func ReadReport(ctx context.Context, w *store.Work, j *store.Journal) (*loop.Report, error) {
	var report loop.Report
	read, done := w.Files(ctx)
	defer done()
	_, err := evidence{read, w.Branch}.decode(loop.Dir(w.Directive.Name())+"/"+loop.ReportFile, &report)
	if err != nil || report.LoopID != j.ID.String() {
		return nil, err
	}
	waited := report.Status == loop.ExitBlocked || report.Status == loop.ExitNeedInfo
	if waited && !j.Last().State.Ended() {
		return nil, nil
	}
	return &report, nil
}
