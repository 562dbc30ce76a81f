package cycle

import (
	"context"
	"fmt"
	"strings"

	"git-ward/agent/stop"
	"git-ward/internal/diag"
	"git-ward/protocols/loop"
	"git-ward/protocols/uow"
)

// iterate takes one iteration to its certificate, from wherever refs say that it
// is.
func (l *Loop) iterate(ctx context.Context) error {
	if !l.inProgress() {
		if err := l.step(ctx, uow.Input{Event: uow.Iterate, Reason: "ITERATION_STARTED"}); err != nil {
			return err
		}
	}
	n := l.offset + len(l.certs)
	l.began = l.Now()
	brief, err := l.brief(ctx, n)
	if err != nil {
		return err
	}
	result := Result{}
	if claim := l.Journal.Last().Claim; claim == nil || claim.Iteration != l.Journal.Last().Iteration {
		if err := l.work(ctx, brief, &result); err != nil {
			return err
		}
		commit, err := l.Work.Head(ctx)
		if err != nil {
			return err
		}
		if err := l.step(ctx, uow.Input{Event: uow.MakeClaim, Reason: "WORK_CLAIMED", Commit: commit}); err != nil {
			return err
		}
	}
	if err := l.await(ctx, &result); err != nil {
		return err
	}
	return l.conclude(ctx, brief, result)
}

// brief builds the capsule from what is committed and commits it (LOOP-3).
func (l *Loop) brief(ctx context.Context, n int) (Brief, error) {
	b := Brief{Iteration: n, CapsulePath: loop.IterationDir(l.Directive.Name(), n) + "/" + loop.CapsuleFile}
	have, err := l.Work.File(ctx, b.CapsulePath)
	if err != nil {
		return b, err
	}
	if have != nil { // a run that was killed has written it: it may not change
		b.Capsule = have
		return b, nil
	}
	learnings, err := l.Work.File(ctx, loop.LearningsPath)
	if err != nil {
		return b, err
	}
	sources := loop.Sources{Declaration: l.Declaration, Limits: l.Limits, Iteration: n, Spent: l.spent() - 1, Used: l.budget.Used(),
		Learnings: string(learnings), Manifest: l.manifest}
	if len(l.certs) > 0 {
		sources.Last = &l.certs[len(l.certs)-1]
	}
	capsule, compaction, found := loop.Build(sources)
	if len(found) > 0 {
		return b, l.broken(loop.SpawnSubagent, "the capsule may not hold: "+strings.Join(found, "; "))
	}
	b.Capsule = append(capsule, '\n')
	files := map[string][]byte{b.CapsulePath: b.Capsule}
	if compaction != "" {
		files[loop.Dir(l.Directive.Name())+"/"+loop.CompactionFile] = []byte(compaction + "\n")
	}
	// Pushed at once: a worker that begins anew has what the remote has.
	return b, l.save(ctx, fmt.Sprintf("loop: iteration %d begins", n), files)
}

// save commits and pushes evidence. The remote refuses none of it unless something
// is broken.
func (l *Loop) save(ctx context.Context, subject string, files map[string][]byte) error {
	if err := l.Work.Commit(ctx, subject, files); err != nil {
		return err
	}
	err := l.Work.Offer(ctx)
	if refused := stop.As(err, stop.Refused); refused != nil {
		if err := l.Work.Restart(ctx); err != nil { // or it would go along with the next push
			return err
		}
		return l.broken(loop.CollectArtifacts, "the evidence was refused: "+refused.Output)
	}
	return err
}

func (l *Loop) broken(at loop.State, why string) error {
	return l.halt(at, loop.Decision{Event: loop.InvariantBroken, Status: loop.ExitBlocked, Reason: loop.InvariantViolation, Words: why})
}

// work has the Solver's work done, listed and pushed, if a run before this one did
// not come so far. The findings of a refused push go back to the Solver, a bounded
// number of times.
func (l *Loop) work(ctx context.Context, b Brief, r *Result) error {
	if have, err := l.Work.File(ctx, l.path(b, loop.ArtifactsFile)); err != nil || have != nil {
		return err
	}
	refusal, listed := "", l.manifest
	for refusals := 0; ; refusals++ {
		words, calls, err := l.solve(ctx, b, refusal)
		l.count(calls)
		r.Words = words
		stopped := stop.As(err, stop.Unfinished, stop.Spent, stop.Blocked)
		if stopped != nil {
			r.Words = stopped.Why
			if stopped.Kind == stop.Spent {
				l.over = strings.TrimSuffix(stopped.Why, ".")
			}
		} else if err != nil {
			return err
		}
		list, err := l.collect(ctx, b, r)
		if err == nil {
			err = l.Work.Offer(ctx)
		}
		refused := stop.As(err, stop.Refused)
		if refused == nil {
			if err == nil && list.Empty() && !l.answered() {
				return l.nothing(ctx, b, r.Words)
			}
			return err
		}
		l.manifest = listed // what is refused is no artifact
		l.Log.Warn().Int("refusals", refusals+1).Str("findings", refused.Output).Msg("the push was refused")
		if refusals == l.Refusals || stopped != nil {
			why := fmt.Sprintf("the work of iteration %d was refused %s: %s", b.Iteration, diag.Count(refusals+1, "time"), refused.Output)
			// The remote does not take it, and would not take the report on top of it.
			if err := l.Work.Restart(ctx); err != nil {
				return err
			}
			return l.fruitless(why)
		}
		refusal = refused.Output
	}
}

// answered reports whether the iteration before waited for a line in the directive:
// once the PM has written it, the work may be done as it is.
func (l *Loop) answered() bool {
	n := len(l.certs)
	return n > 0 && l.certs[n-1].Needs != ""
}

// solve lets the Solver work, where there is time for it.
func (l *Loop) solve(ctx context.Context, b Brief, refusal string) (words string, calls int, err error) {
	if over := l.overspent(); over != "" {
		return "", 0, stop.New(stop.Spent, "%s", over)
	}
	return l.Team.Solve(ctx, b, refusal)
}

// fruitless ends the loop after an iteration that brought nothing to be judged:
// blocked, unless it was the budget that kept it from its work.
func (l *Loop) fruitless(why string) error {
	d := loop.Decision{Event: loop.ArtifactsEmpty, Status: loop.ExitBlocked, Reason: loop.EvidenceIncomplete, Words: why}
	if l.overspent() != "" {
		d = loop.Decision{Event: loop.BudgetExhausted, Status: loop.ExitBudgetExceeded, Reason: loop.MaxToolCalls, Words: why}
	}
	return l.halt(loop.CollectArtifacts, d)
}

// path is that of an iteration's file.
func (l *Loop) path(b Brief, name string) string {
	return loop.IterationDir(l.Directive.Name(), b.Iteration) + "/" + name
}

// collect commits the work and the list of what it changed: the iteration's
// artifacts.
func (l *Loop) collect(ctx context.Context, b Brief, r *Result) (list loop.Artifacts, err error) {
	if err := l.Work.Commit(ctx, fmt.Sprintf("agent: %s iteration %d: %s", l.Directive.Name(), b.Iteration, l.Directive.Title), nil); err != nil {
		return list, err
	}
	base, err := l.Work.Before(ctx, b.CapsulePath)
	if err != nil {
		return list, err
	}
	changes, err := l.Work.Changes(ctx, base)
	if err != nil {
		return list, err
	}
	list = loop.Artifacts{SchemaVersion: loop.SchemaVersion, LoopID: l.Declaration.LoopID, Artifacts: []loop.Artifact{}}
	r.Changes = nil
	var log strings.Builder
	for _, c := range changes {
		if strings.HasPrefix(c.Path, loop.Dir(l.Directive.Name())+"/") || c.Path == loop.LearningsPath {
			continue
		}
		r.Changes = append(r.Changes, c)
		fmt.Fprintf(&log, "%s\t%s\n", c.Status, c.Path)
		if c.Status == "D" || len(list.Artifacts) >= maxArtifacts {
			continue
		}
		data, err := l.Work.File(ctx, c.Path)
		if err != nil {
			return list, err
		}
		if data != nil {
			list.Artifacts = append(list.Artifacts, loop.Artifact{Iteration: b.Iteration, Path: c.Path, SHA256: loop.Digest(data), Role: "artifact"})
		}
	}
	files := map[string][]byte{}
	if log.Len() > 0 { // what was deleted, or is too much to list, is named here
		path := l.path(b, "changes.txt")
		files[path] = []byte(log.String())
		list.Artifacts = append(list.Artifacts, loop.Artifact{Iteration: b.Iteration, Path: path, SHA256: loop.Digest(files[path]), Role: "log"})
	}
	if files[l.path(b, loop.ArtifactsFile)], err = loop.Encode(list); err != nil {
		return list, err
	}
	l.manifest = l.manifest.Extend(list.Artifacts)
	return list, l.Work.Commit(ctx, fmt.Sprintf("loop: artifacts of iteration %d", b.Iteration), files)
}

// maxArtifacts bounds how many files an iteration lists one by one.
const maxArtifacts = 200

// nothing ends the loop after an iteration without artifacts, which is
// EXIT_BLOCKED unless the budget is spent, with the learning that 003 wants of it
// (sections 1 and 14).
func (l *Loop) nothing(ctx context.Context, b Brief, words string) error {
	path := l.path(b, loop.ArtifactsFile)
	data, err := l.Work.File(ctx, path)
	if err != nil {
		return err
	}
	link := loop.Link{Path: path, SHA256: loop.Digest(data), Role: "log"}
	l.spend(b.Iteration)
	cert := loop.Certify(l.findings(b.Iteration, nil, nil))
	entry := loop.Entry{Loop: l.Declaration.LoopID, Iteration: b.Iteration, Metric: l.Declaration.ResidualMetric, Direction: cert.Direction,
		Certificate: cert.Type, Failed: []loop.Learning{loop.FailureLearning(b.Iteration, link)}}
	if err := l.write(ctx, b, entry, cert, fmt.Sprintf("loop: iteration %d changed nothing", b.Iteration), map[string][]byte{}); err != nil {
		return err
	}
	why := fmt.Sprintf("iteration %d changed nothing", b.Iteration)
	if words != "" && l.overspent() == "" {
		why += "; its last words: " + short(words)
	}
	return l.fruitless(why)
}

// await waits for the host's verdict on the journal's claim.
func (l *Loop) await(ctx context.Context, r *Result) error {
	record := l.Journal.Claimed()
	l.Log.Info().Str("commit", record.Claim.Commit[:12]).Msg("claimed; waiting for the verdict")
	v, err := l.Verdict(ctx, record.Claim.Commit, record.Hash)
	if err != nil {
		return err
	}
	if v == nil {
		if l.overspent() != "" {
			const why = "no verdict came before the grace was half over; the claim stands, and its verdict may come yet"
			return l.halt(loop.CheckHalting, loop.Decision{Event: loop.BudgetExhausted, Status: loop.ExitBudgetExceeded, Reason: loop.MaxToolCalls, Words: why})
		}
		why := "no verdict within the verifier's time; does the launcher run?"
		return l.halt(loop.CheckHalting, loop.Decision{Event: loop.InvariantBroken, Status: loop.ExitBlocked, Reason: loop.VerdictUnavailable, Words: why})
	}
	l.Log.Info().Str("verdict", v.Verdict).Str("reason", v.Reason).Str("residual", v.Residual.Words()).Msg("the host's verdict")
	r.Verdict = v
	return nil
}
