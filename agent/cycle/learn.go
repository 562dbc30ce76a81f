package cycle

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"git-ward/agent/task"
	"git-ward/internal/diag"
	"git-ward/protocols/loop"
	"git-ward/protocols/record"
)

// accumulate is ACCUMULATE_LEARNINGS: it commits everything that the iteration leaves at once,
// always before the budget check.
func (r *run) accumulate(ctx context.Context) (loop.Decision, error) {
	r.now.before = r.past
	return loop.Decision{Event: loop.LearningsWritten}, r.conclude(ctx)
}

// conclude writes the end of the current iteration.
func (r *run) conclude(ctx context.Context) error {
	n, cert := r.now.brief.Iteration, *r.now.cert
	line, err := r.now.result.Verdict.Line()
	if err != nil {
		return err
	}
	// A copy, so that learnings can link it. The host's note is what counts.
	path := r.path(n, verdictFile)
	files := map[string][]byte{path: append(line, '\n')}
	link := loop.Link{Path: path, SHA256: loop.Digest(files[path]), Role: "proof"}
	if err := r.tellPostMortem(ctx, files); err != nil {
		return err
	}
	return r.write(ctx, r.entry(cert, link), cert, fmt.Sprintf("loop: iteration %d ends: %s, residual %s", n, cert.Type, cert.Residual.Words()), files)
}

// tellPostMortem adds the verdict to the directive's newest post-mortem, which was written
// before the verdict.
func (r *run) tellPostMortem(ctx context.Context, files map[string][]byte) error {
	names, err := r.deps.Work.Record.List(ctx, record.PostMortems)
	if err != nil {
		return err
	}
	for _, name := range slices.Backward(names) {
		if !strings.HasSuffix(name, "-"+r.deps.Work.Directive.Name()+".md") {
			continue
		}
		path := record.PostMortems + "/" + name
		data, err := r.deps.Work.Record.File(ctx, path)
		if err != nil {
			return err
		}
		v := r.now.result.Verdict
		words := string(v.Verdict)
		if v.Reason != "" {
			words += ", " + v.Reason
		}
		of := fmt.Sprintf("%s, iteration %d", r.deps.Journal.ID, r.now.brief.Iteration)
		if told := task.AddVerdict(string(data), of, short(words)); told != string(data) {
			files[path] = []byte(told)
		}
		return nil
	}
	return nil
}

// again rewrites the end of an iteration without the model's text, the only part that the
// remote can have refused.
func (r *run) again(ctx context.Context, ended iteration) error {
	r.past, r.now = ended.before, ended
	r.now.review, r.now.result.Words = Review{}, ""
	if _, err := r.declare(ctx); err != nil { // for the first iteration, it was refused as well
		return err
	}
	return r.conclude(ctx)
}

// write commits the end of an iteration: learnings, certificate, budget and manifest in one
// commit, so that none exists without the others.
func (r *run) write(ctx context.Context, entry loop.Entry, cert loop.Certificate, subject string, files map[string][]byte) (err error) {
	learnings, err := r.deps.Work.Record.File(ctx, loop.LearningsPath)
	if err != nil {
		return err
	}
	n := cert.Iteration
	told := loop.TellPM(string(learnings), r.deps.Journal.ID.String(), r.said())
	kept, compaction := loop.Compact(loop.AppendEntry(told, entry))
	files[loop.LearningsPath] = []byte(kept)
	files[r.path(n, loop.EntryFile)] = []byte(entry.Text())
	if compaction != "" {
		files[r.top(loop.CompactionFile)] = []byte(compaction + "\n")
	}
	if files[r.path(n, loop.CertificateFile)], err = loop.Encode(cert); err != nil {
		return err
	}
	if files[r.path(n, loop.BudgetFile)], err = loop.Encode(r.past.budget); err != nil {
		return err
	}
	files[r.top(loop.BudgetFile)] = files[r.path(n, loop.BudgetFile)]
	manifest, err := r.sum(ctx, n, files)
	if err != nil {
		return err
	}
	if err := r.commit(ctx, subject, files, r.iterationTrailer(n)); err != nil {
		return err
	}
	path := r.path(n, loop.ManifestFile)
	r.ends(cert)
	r.past.manifest = manifest
	r.past.newest = &loop.Link{Path: path, SHA256: loop.Digest(files[path]), Role: "snapshot"}
	r.deps.Log.Info().Int("iteration", n).Str("certificate", cert.Type).Str("residual", cert.Residual.Words()).
		Str("direction", string(cert.Direction)).Msg("the iteration ends")
	return nil
}

// roles are the kinds of an iteration's files, in the order of its manifest.
var roles = []struct{ file, role string }{
	{loop.CapsuleFile, "snapshot"}, {loop.ArtifactsFile, "log"}, {changesFile, "log"}, {loop.WordsFile, "log"}, {loop.TranscriptFile, "log"}, {verdictFile, "proof"},
	{loop.CertificateFile, "proof"}, {loop.EntryFile, "log"}, {loop.BudgetFile, "log"},
}

// sum adds an iteration's manifest: the hashes of its files, on the record and to come, and of
// the manifest before it.
func (r *run) sum(ctx context.Context, n int, files map[string][]byte) (loop.Artifacts, error) {
	m := loop.Artifacts{SchemaVersion: loop.LinearVersion, LoopID: r.deps.Declaration.LoopID, Previous: r.past.newest, Artifacts: []loop.Artifact{}}
	for _, f := range roles {
		path := r.path(n, f.file)
		data, have := files[path]
		if !have {
			var err error
			if data, err = r.deps.Work.Record.File(ctx, path); err != nil {
				return m, err
			}
		}
		if data != nil {
			m.Artifacts = append(m.Artifacts, loop.Artifact{Iteration: n, Path: path, SHA256: loop.Digest(data), Role: f.role})
		}
	}
	data, err := loop.Encode(m)
	files[r.path(n, loop.ManifestFile)], files[r.top(loop.ManifestFile)] = data, data
	return m, err
}

// entry is the iteration's entry in LEARNINGS.md. The verdict's facts come first, because they
// are verified. The Skeptic's additions are kept if they obey the lanes.
func (r *run) entry(cert loop.Certificate, link loop.Link) loop.Entry {
	e := r.verified(cert, link)
	review, words := r.now.review, r.now.result.Words
	tried := review.Tried
	if len(tried) == 0 && words != "" {
		tried = []string{words}
	}
	for _, t := range tried {
		r.try(&e, func(e *loop.Entry) { e.Tried = append(e.Tried, short(t)) })
	}
	for _, s := range review.Succeeded {
		s.Text = short(s.Text)
		r.try(&e, func(e *loop.Entry) { e.Succeeded = append(e.Succeeded, s) })
	}
	for _, f := range review.Failed {
		f.Text = short(f.Text)
		r.try(&e, func(e *loop.Entry) { e.Failed = append(e.Failed, f) })
	}
	for _, o := range review.Open {
		r.try(&e, func(e *loop.Entry) { e.Open = append(e.Open, short(o)) })
	}
	return e
}

// verified is the entry's part from the host's verdict.
func (r *run) verified(cert loop.Certificate, link loop.Link) loop.Entry {
	e := loop.Entry{Loop: r.deps.Declaration.LoopID, Iteration: cert.Iteration, Metric: r.deps.Declaration.ResidualMetric,
		Residual: cert.Residual, Direction: cert.Direction, Certificate: cert.Type}
	for _, m := range cert.Checklist {
		switch {
		case m.Met == nil:
			e.Open = append(e.Open, "not evaluated: "+m.Criterion)
		case *m.Met:
			e.Succeeded = append(e.Succeeded, loop.Learning{Lane: loop.LaneA, Text: "met: " + m.Criterion, Link: &link})
		default:
			e.Failed = append(e.Failed, loop.Learning{Lane: loop.LaneA, Text: "not met: " + m.Criterion, Link: &link})
		}
	}
	if cert.Type == loop.Diverged {
		e.Failed = append(e.Failed, loop.DivergenceLearning(cert, link))
	}
	v := r.now.result.Verdict
	if len(v.LeftWords()) > 0 {
		e.Open = append(e.Open, short("left out of the run that decides, as no work: "+strings.Join(v.LeftWords(), ", ")))
	}
	if len(v.Deviations) > 0 {
		e.Failed = append(e.Failed, loop.Learning{Lane: loop.LaneA, Text: "the verifier put back what decides: " + strings.Join(v.Deviations, ", "), Link: &link})
	}
	return e
}

// try adds what the entry may contain, and drops the rest.
func (r *run) try(e *loop.Entry, add func(*loop.Entry)) {
	with := *e
	add(&with)
	if found := with.Check(); len(found) > 0 {
		r.deps.Log.Warn().Strs("findings", found).Msg("left out of the learnings")
		return
	}
	*e = with
}

// short is a statement as one line of bounded length.
func short(s string) string {
	const size = 300 // bytes
	return diag.Cut(strings.Join(strings.Fields(s), " "), size)
}
