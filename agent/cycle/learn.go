package cycle

import (
	"context"
	"fmt"
	"strings"

	"git-ward/internal/diag"
	"git-ward/protocols/loop"
)

// accumulate is ACCUMULATE_LEARNINGS: all that the iteration leaves in one commit,
// learnings before the budget check, always.
func (r *run) accumulate(ctx context.Context) (loop.Decision, error) {
	n, cert := r.now.brief.Iteration, *r.now.cert
	files := map[string][]byte{}
	link, err := r.witness(files)
	if err != nil {
		return loop.Decision{}, err
	}
	subject := fmt.Sprintf("loop: iteration %d ends: %s, residual %s", n, cert.Type, cert.Residual.Words())
	refused, err := r.write(ctx, r.entry(cert, link), cert, subject, files)
	if err == nil && refused.Event != "" {
		// It may be for words, such as a secret in them: the facts are the verdict's.
		r.deps.Log.Warn().Str("findings", refused.Words).Msg("the learnings were refused; once more without the model's words")
		r.now.review, r.now.result.Words = Review{}, ""
		refused, err = r.write(ctx, r.entry(cert, link), cert, subject, files)
	}
	if err != nil || refused.Event != "" {
		return refused, err
	}
	return loop.Decision{Event: loop.LearningsWritten}, nil
}

// witness keeps a copy of the verdict as evidence, so that learnings can link it.
// What counts is the host's note, not this.
func (r *run) witness(files map[string][]byte) (loop.Link, error) {
	n := r.now.brief.Iteration
	path := r.path(n, "verdict.json")
	line, err := r.now.result.Verdict.Line()
	if err != nil {
		return loop.Link{}, err
	}
	files[path] = append(line, '\n')
	link := loop.Link{Path: path, SHA256: loop.Digest(files[path]), Role: "proof"}
	r.past.manifest = r.past.manifest.Extend([]loop.Artifact{{Iteration: n, Path: path, SHA256: link.SHA256, Role: link.Role}})
	return link, nil
}

// write commits and pushes what an iteration ends with: learnings, certificate,
// budget and manifest at once, so that none is ever there without the others.
func (r *run) write(ctx context.Context, entry loop.Entry, cert loop.Certificate, subject string, files map[string][]byte) (loop.Decision, error) {
	learnings, err := r.deps.Work.File(ctx, loop.LearningsPath)
	if err != nil {
		return loop.Decision{}, err
	}
	kept, compaction := loop.Compact(loop.AppendEntry(string(learnings), entry))
	files[loop.LearningsPath] = []byte(kept)
	files[r.path(cert.Iteration, loop.EntryFile)] = []byte(entry.Text())
	if compaction != "" {
		files[loop.Dir(r.deps.Work.Directive.Name())+"/"+loop.CompactionFile] = []byte(compaction + "\n")
	}
	if files[r.path(cert.Iteration, loop.CertificateFile)], err = loop.Encode(cert); err != nil {
		return loop.Decision{}, err
	}
	if err := r.sum(files); err != nil {
		return loop.Decision{}, err
	}
	if d, err := r.save(ctx, subject, files); err != nil || d.Event != "" {
		return d, err
	}
	r.past.certs = append(r.past.certs, cert)
	r.deps.Log.Info().Int("iteration", cert.Iteration).Str("certificate", cert.Type).Str("residual", cert.Residual.Words()).
		Str("direction", string(cert.Direction)).Msg("the iteration ends")
	return loop.Decision{}, nil
}

// sum adds the files of the whole loop that grow with each iteration.
func (r *run) sum(files map[string][]byte) (err error) {
	top := loop.Dir(r.deps.Work.Directive.Name()) + "/"
	if files[top+loop.ManifestFile], err = loop.Encode(r.past.manifest); err != nil {
		return err
	}
	files[top+loop.BudgetFile], err = loop.Encode(r.past.budget)
	return err
}

// entry is the iteration's entry in LEARNINGS.md. The verdict's facts come first:
// they are verified. What the Skeptic adds is kept where it obeys the lanes.
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
		r.try(&e, func(e *loop.Entry) { e.Succeeded = append(e.Succeeded, s) })
	}
	for _, f := range review.Failed {
		r.try(&e, func(e *loop.Entry) { e.Failed = append(e.Failed, f) })
	}
	for _, o := range review.Open {
		r.try(&e, func(e *loop.Entry) { e.Open = append(e.Open, short(o)) })
	}
	return e
}

// verified is the part of the entry that the host's verdict says.
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
	if len(v.Additions) > 0 {
		e.Open = append(e.Open, short("the work brings some of what decides on it: "+strings.Join(v.Additions, ", ")))
	}
	if len(v.Deviations) > 0 {
		e.Failed = append(e.Failed, loop.Learning{Lane: loop.LaneA, Text: "the verifier put back what decides: " + strings.Join(v.Deviations, ", "), Link: &link})
	}
	return e
}

// try adds to an entry what the entry may say, and leaves out the rest.
func (r *run) try(e *loop.Entry, add func(*loop.Entry)) {
	with := *e
	add(&with)
	if found := with.Check(); len(found) > 0 {
		r.deps.Log.Warn().Strs("findings", found).Msg("left out of the learnings")
		return
	}
	*e = with
}

// short is a statement on one line of bounded length.
func short(s string) string {
	const size = 300 // bytes
	return diag.Cut(strings.Join(strings.Fields(s), " "), size)
}
