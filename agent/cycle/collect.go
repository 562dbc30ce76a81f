package cycle

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"git-ward/agent/stop"
	"git-ward/agent/store"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/loop"
	"git-ward/protocols/uow"
)

// collect is COLLECT_ARTIFACTS: it commits the Solver's work, lists it, and pushes it together
// with the claim. A refused push's findings go back to the Solver, a bounded number of times.
func (r *run) collect(ctx context.Context) (loop.Decision, error) {
	if d, err := r.takeUp(ctx); err != nil || d.Event != "" {
		return d, err
	}
	if claimed := r.deps.Journal.Claimed(); claimed != nil && !r.now.solved && r.mayHold() {
		return loop.Decision{Event: loop.ArtifactsPresent}, nil // the criteria hold without work
	}
	for refusals := 0; ; refusals++ {
		d, err := r.claim(ctx)
		refused := stop.As(err, stop.Refused)
		if refused == nil {
			return d, err
		}
		if r.forget(refused) {
			refusals--
			continue
		}
		r.deps.Log.Warn().Int("refusals", refusals+1).Str("findings", refused.Output).Msg("the push was refused")
		if refusals == r.deps.Refusals || r.now.stopped {
			why := fmt.Sprintf("the work of iteration %d was refused %s: %s", r.now.brief.Iteration, diag.Count(refusals+1, "time"), refused.Output)
			r.refused = r.setAside(ctx)
			// The remote would also refuse a report committed on top of it.
			return r.fruitless(why), r.deps.Work.Restart(ctx)
		}
		if err := r.solve(ctx, refused.Output); err != nil {
			return loop.Decision{}, err
		}
	}
}

// claim commits the working tree and claims it, or decides that there is nothing to claim. The
// error is stop.Refused if the tree cannot be committed or the remote refuses it.
func (r *run) claim(ctx context.Context) (d loop.Decision, err error) {
	err = git.Update(ctx, git.Race{What: r.deps.Work.Branch + " on the remote", While: "it was claimed", Tries: 5}, func() (bool, error) {
		made, files, err := r.collected(ctx)
		if err != nil {
			return false, err
		}
		if made.Empty() && !r.edited() && !r.ownEnd() {
			d, err = r.nothing(ctx, files)
			return true, err
		}
		d, err = r.pushClaim(ctx, files)
		if errors.Is(err, store.ErrMoved) {
			return false, nil
		}
		return true, err
	})
	return d, err
}

// pushClaim claims the branch's newest commit, with the files that describe it.
func (r *run) pushClaim(ctx context.Context, files map[string][]byte) (loop.Decision, error) {
	w, n := r.deps.Work, r.now.brief.Iteration
	commit, err := w.Head(ctx)
	if err != nil {
		return loop.Decision{}, err
	}
	message := w.Record.Message(fmt.Sprintf("loop: artifacts of iteration %d", n), "", r.iterationTrailer(n))
	rec, err := w.Record.Commit(ctx, message, commit, files)
	if err != nil {
		return loop.Decision{}, err
	}
	d, refused, err := r.offer(ctx, uow.Input{Event: uow.MakeClaim, Reason: "WORK_CLAIMED", Commit: commit, Record: rec})
	if refused != nil {
		return d, refused
	}
	if err == nil && d.Event == "" {
		d.Event = loop.ArtifactsPresent
	}
	return d, err
}

// collected commits the work, and lists what the iteration made with the files that carry the
// list.
func (r *run) collected(ctx context.Context) (list loop.Artifacts, files map[string][]byte, err error) {
	w, n := r.deps.Work, r.now.brief.Iteration
	if _, err := w.Iterate(ctx, r.counted(n), r.now.result.Words); err != nil {
		return list, nil, err
	}
	if r.now.result.Changes, err = r.changed(ctx); err != nil {
		return list, nil, err
	}
	uncommitted, err := w.Record.Uncommitted(ctx)
	if err != nil {
		return list, nil, err
	}
	return r.list(ctx, r.now.result.Changes, uncommitted)
}

// changed returns what the iteration changed. If a unit's first iteration changes nothing, it returns the
// earlier units' work that the project lacks: the PM has edited the text, and may now want exactly that.
func (r *run) changed(ctx context.Context) ([]store.Change, error) {
	w := r.deps.Work
	list, err := w.Changes(ctx, w.Base())
	if err != nil || len(list) > 0 || r.deps.Journal.Claimed() != nil {
		return list, err
	}
	return w.Carried(ctx)
}

// edited reports whether the text was edited since the last claim, so that unchanged work
// needs a new verdict.
func (r *run) edited() bool {
	claimed := r.deps.Journal.Claimed()
	return claimed != nil && claimed.DirectiveHash != r.deps.Declaration.DirectiveHash
}

// ownEnd reports whether the Solver finished by itself. Then it claims even without a change,
// because the criteria may already hold; the host decides.
func (r *run) ownEnd() bool { return !r.now.stopped && r.overspent() == "" }

// repeated reports whether the last two claims have the same commit and nobody has said
// anything since: another iteration would achieve nothing.
func (r *run) repeated() bool {
	records := r.deps.Journal.Records
	last := r.deps.Journal.Last()
	if last.Event != uow.MakeClaim {
		return false
	}
	for _, rec := range slices.Backward(records[:len(records)-1]) {
		if rec.Event == uow.MakeClaim {
			return rec.Claim.Commit == last.Claim.Commit && rec.DirectiveHash == last.DirectiveHash
		}
	}
	return false
}

// setAside pushes refused work to where the PM can see it, and says where.
func (r *run) setAside(ctx context.Context) string {
	branch, without, err := r.deps.Work.SetAside(ctx)
	if err != nil {
		r.deps.Log.Warn().Err(err).Msg("what was refused is not put aside")
	}
	switch {
	case branch == "":
		return "nothing of it is kept"
	case len(without) > 0:
		return fmt.Sprintf("%s holds the rest of it, without %s", branch, strings.Join(without, ", "))
	}
	return branch + " holds it"
}

// nothing ends the loop after an iteration without artifacts, with the learning that 003
// requires (sections 1 and 14).
func (r *run) nothing(ctx context.Context, files map[string][]byte) (loop.Decision, error) {
	n := r.now.brief.Iteration
	path := r.path(n, loop.ArtifactsFile)
	link := loop.Link{Path: path, SHA256: loop.Digest(files[path]), Role: "log"}
	r.spend(n)
	cert := loop.Certify(r.findings(n, nil, nil))
	entry := loop.Entry{Loop: r.deps.Declaration.LoopID, Iteration: n, Metric: r.deps.Declaration.ResidualMetric, Direction: cert.Direction,
		Certificate: cert.Type, Failed: []loop.Learning{loop.FailureLearning(n, link)}}
	if err := r.write(ctx, entry, cert, fmt.Sprintf("loop: iteration %d changed nothing", n), files); err != nil {
		return loop.Decision{}, err
	}
	why := fmt.Sprintf("iteration %d changed nothing", n)
	if words := r.now.result.Words; words != "" && r.overspent() == "" {
		why += "; its last words: " + short(words)
	}
	d := r.fruitless(why)
	if r.now.missing && d.Event == loop.ArtifactsEmpty {
		d.Reason = loop.ToolMissing
	}
	return d, nil
}

// fruitless ends a loop after an iteration with nothing to judge: blocked, unless the budget
// prevented its work.
func (r *run) fruitless(why string) loop.Decision {
	if r.overspent() != "" {
		return loop.Decision{Event: loop.BudgetExhausted, Reason: loop.MaxToolCalls, Words: why}
	}
	return loop.Decision{Event: loop.ArtifactsEmpty, Reason: loop.EvidenceIncomplete, Words: why}
}
