package cycle

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"git-ward/agent/stop"
	"git-ward/protocols/loop"
)

// conclude lets the Skeptic type the learnings, certifies, and writes all that the
// iteration leaves in one commit: learnings before the budget check, always.
func (l *Loop) conclude(ctx context.Context, b Brief, r Result) error {
	review, calls, err := l.Team.Review(ctx, b, r)
	if err != nil {
		return err
	}
	l.count(calls)
	l.review = review
	files := map[string][]byte{}
	link, err := l.witness(b, r.Verdict, files)
	if err != nil {
		return err
	}
	l.spend(b.Iteration)
	cert := loop.Certify(l.findings(b.Iteration, r.Verdict, l.Signals(ctx)))
	entry := l.entry(b.Iteration, cert, r, review, link)
	subject := fmt.Sprintf("loop: iteration %d ends: %s, residual %s", b.Iteration, cert.Type, cert.Residual.Words())
	err = l.write(ctx, b, entry, cert, subject, files)
	if refused := stop.As(err, stop.Halted); refused != nil {
		// It may be for words, such as a secret in them: the facts are the verdict's.
		l.Log.Warn().Str("findings", refused.Error()).Msg("the learnings were refused; once more without the model's words")
		l.review, r.Words = Review{}, ""
		err = l.write(ctx, b, l.entry(b.Iteration, cert, r, l.review, link), cert, subject, files)
	}
	return err
}

// spend puts the iteration's line into the budget log, once.
func (l *Loop) spend(iteration int) {
	if !slices.ContainsFunc(l.budget.Iterations, func(u loop.Usage) bool { return u.Iteration == iteration }) {
		l.budget.Iterations = append(l.budget.Iterations, loop.Usage{Iteration: iteration, ToolCalls: l.used, Seconds: int(l.Now().Sub(l.began).Seconds())})
	}
	l.used = 0
}

// write commits what an iteration ends with: learnings, certificate, budget and
// manifest at once, so that none is ever there without the others.
func (l *Loop) write(ctx context.Context, b Brief, entry loop.Entry, cert loop.Certificate, subject string, files map[string][]byte) error {
	learnings, err := l.Work.File(ctx, loop.LearningsPath)
	if err != nil {
		return err
	}
	kept, compaction := loop.Compact(loop.AppendEntry(string(learnings), entry))
	files[loop.LearningsPath] = []byte(kept)
	files[l.path(b, loop.EntryFile)] = []byte(entry.Text())
	top := loop.Dir(l.Directive.Name()) + "/"
	if compaction != "" {
		files[top+loop.CompactionFile] = []byte(compaction + "\n")
	}
	for path, v := range map[string]any{l.path(b, loop.CertificateFile): cert, top + loop.ManifestFile: l.manifest, top + loop.BudgetFile: l.budget} {
		if files[path], err = loop.Encode(v); err != nil {
			return err
		}
	}
	if err := l.save(ctx, subject, files); err != nil {
		return err
	}
	l.certs = append(l.certs, cert)
	l.Log.Info().Int("iteration", cert.Iteration).Str("certificate", cert.Type).Str("residual", cert.Residual.Words()).
		Str("direction", string(cert.Direction)).Msg("the iteration ends")
	return nil
}

// witness keeps a copy of the verdict as evidence, so that learnings can link it.
// What counts is the host's note, not this.
func (l *Loop) witness(b Brief, v *loop.Verdict, files map[string][]byte) (loop.Link, error) {
	path := l.path(b, "verdict.json")
	line, err := v.Line()
	if err != nil {
		return loop.Link{}, err
	}
	files[path] = append(line, '\n')
	link := loop.Link{Path: path, SHA256: loop.Digest(files[path]), Role: "proof"}
	l.manifest = l.manifest.Extend([]loop.Artifact{{Iteration: b.Iteration, Path: path, SHA256: link.SHA256, Role: link.Role}})
	return link, nil
}

// entry is the iteration's entry in LEARNINGS.md. The verdict's facts come first:
// they are verified. What the Skeptic adds is kept where it obeys the lanes, and
// becomes a guess where it does not.
func (l *Loop) entry(iteration int, cert loop.Certificate, r Result, review Review, link loop.Link) loop.Entry {
	e := loop.Entry{Loop: l.Declaration.LoopID, Iteration: iteration, Metric: l.Declaration.ResidualMetric,
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
	if len(r.Verdict.Additions) > 0 {
		e.Open = append(e.Open, short("the work brings some of what decides on it: "+strings.Join(r.Verdict.Additions, ", ")))
	}
	if len(r.Verdict.Deviations) > 0 {
		e.Failed = append(e.Failed, loop.Learning{Lane: loop.LaneA, Text: "the verifier put back what decides: " + strings.Join(r.Verdict.Deviations, ", "), Link: &link})
	}
	tried := review.Tried
	if len(tried) == 0 && r.Words != "" {
		tried = []string{short(r.Words)}
	}
	for _, t := range tried {
		l.try(&e, func(e *loop.Entry) { e.Tried = append(e.Tried, short(t)) })
	}
	for _, s := range review.Succeeded {
		l.try(&e, func(e *loop.Entry) { e.Succeeded = append(e.Succeeded, s) })
	}
	for _, f := range review.Failed {
		l.try(&e, func(e *loop.Entry) { e.Failed = append(e.Failed, f) })
	}
	for _, o := range review.Open {
		l.try(&e, func(e *loop.Entry) { e.Open = append(e.Open, short(o)) })
	}
	return e
}

// try adds to an entry what the entry may say, and leaves out the rest.
func (l *Loop) try(e *loop.Entry, add func(*loop.Entry)) {
	with := *e
	add(&with)
	if found := with.Check(); len(found) > 0 {
		l.Log.Warn().Strs("findings", found).Msg("left out of the learnings")
		return
	}
	*e = with
}

// short is a statement on one line of bounded length.
func short(s string) string {
	const size = 300
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > size {
		s = strings.ToValidUTF8(s[:size], "") + "..."
	}
	return s
}
