package cycle

import (
	"context"
	"fmt"
	"strings"

	"git-ward/agent/stop"
	"git-ward/agent/store"
	"git-ward/internal/diag"
	"git-ward/protocols/loop"
)

// maxArtifacts bounds how many files an iteration lists one by one.
const maxArtifacts = 200

// collect is COLLECT_ARTIFACTS: the Solver's work is committed, listed and pushed.
// The findings of a refused push go back to the Solver, a bounded number of times.
func (r *run) collect(ctx context.Context) (loop.Decision, error) {
	if d, err := r.takeUp(ctx); err != nil || d.Event != "" {
		return d, err
	}
	list, have, err := r.listed(ctx)
	for refusals := 0; err == nil && !have; refusals++ {
		before := r.past.manifest
		list, err = r.pushWork(ctx)
		refused := stop.As(err, stop.Refused)
		if refused == nil {
			break
		}
		r.past.manifest = before // what is refused is no artifact
		r.deps.Log.Warn().Int("refusals", refusals+1).Str("findings", refused.Output).Msg("the push was refused")
		if refusals == r.deps.Refusals || r.now.stopped {
			why := fmt.Sprintf("the work of iteration %d was refused %s: %s", r.now.brief.Iteration, diag.Count(refusals+1, "time"), refused.Output)
			// The remote does not take it, and would not take the report on top of it.
			return r.fruitless(why), r.deps.Work.Restart(ctx)
		}
		err = r.solve(ctx, refused.Output)
	}
	switch {
	case err != nil:
		return loop.Decision{}, err
	case list.Empty() && !r.answered():
		return r.nothing(ctx)
	}
	return loop.Decision{Event: loop.ArtifactsPresent}, nil
}

// listed is the list of artifacts that a run before this one has pushed.
func (r *run) listed(ctx context.Context) (list loop.Artifacts, have bool, err error) {
	read, done := r.deps.Work.Files(ctx)
	defer done()
	have, err = evidence{read, r.deps.Work.Branch}.decode(r.path(r.number(), loop.ArtifactsFile), &list)
	return list, have, err
}

// answered reports whether the iteration before waited for a line in the directive:
// once the PM has written it, the work may be done as it is.
func (r *run) answered() bool {
	n := len(r.past.certs)
	return n > 0 && r.past.certs[n-1].Needs != ""
}

// pushWork commits the work and the list of what it changed, the iteration's
// artifacts, and pushes both. The error is stop.Refused where the remote does not
// take them.
func (r *run) pushWork(ctx context.Context) (list loop.Artifacts, err error) {
	d, n := r.deps.Work.Directive, r.now.brief.Iteration
	if err := r.deps.Work.Commit(ctx, fmt.Sprintf("agent: %s iteration %d: %s", d.Name(), n, d.Title), nil); err != nil {
		return list, err
	}
	if r.now.result.Changes, err = r.changes(ctx); err != nil {
		return list, err
	}
	list, files, err := r.list(ctx, r.now.result.Changes)
	if err != nil {
		return list, err
	}
	r.past.manifest = r.past.manifest.Extend(list.Artifacts)
	if err := r.deps.Work.Commit(ctx, fmt.Sprintf("loop: artifacts of iteration %d", n), files); err != nil {
		return list, err
	}
	return list, r.deps.Work.Offer(ctx)
}

// changes is what the iteration changed, but for the loop's own files.
func (r *run) changes(ctx context.Context) (changes []store.Change, err error) {
	base, err := r.deps.Work.Before(ctx, r.now.brief.CapsulePath)
	if err != nil {
		return nil, err
	}
	all, err := r.deps.Work.Changes(ctx, base)
	for _, c := range all {
		if !strings.HasPrefix(c.Path, loop.Dir(r.deps.Work.Directive.Name())+"/") && c.Path != loop.LearningsPath {
			changes = append(changes, c)
		}
	}
	return changes, err
}

// list is artifacts.json of what changed, and the files that carry it. What was
// deleted, or is too much to list, is named in changes.txt.
func (r *run) list(ctx context.Context, changes []store.Change) (list loop.Artifacts, files map[string][]byte, err error) {
	n := r.now.brief.Iteration
	list = loop.Artifacts{SchemaVersion: loop.SchemaVersion, LoopID: r.deps.Declaration.LoopID, Artifacts: []loop.Artifact{}}
	files = map[string][]byte{}
	var log strings.Builder
	for _, c := range changes {
		fmt.Fprintf(&log, "%s\t%s\n", c.Status, c.Path)
		if c.Status == "D" || len(list.Artifacts) >= maxArtifacts {
			continue
		}
		data, err := r.deps.Work.File(ctx, c.Path)
		if err != nil {
			return list, nil, err
		}
		if data != nil {
			list.Artifacts = append(list.Artifacts, loop.Artifact{Iteration: n, Path: c.Path, SHA256: loop.Digest(data), Role: "artifact"})
		}
	}
	if log.Len() > 0 {
		path := r.path(n, "changes.txt")
		files[path] = []byte(log.String())
		list.Artifacts = append(list.Artifacts, loop.Artifact{Iteration: n, Path: path, SHA256: loop.Digest(files[path]), Role: "log"})
	}
	files[r.path(n, loop.ArtifactsFile)], err = loop.Encode(list)
	return list, files, err
}

// nothing ends the loop after an iteration without artifacts, with the learning
// that 003 wants of it (sections 1 and 14).
func (r *run) nothing(ctx context.Context) (loop.Decision, error) {
	n := r.now.brief.Iteration
	path := r.path(n, loop.ArtifactsFile)
	data, err := r.deps.Work.File(ctx, path)
	if err != nil {
		return loop.Decision{}, err
	}
	link := loop.Link{Path: path, SHA256: loop.Digest(data), Role: "log"}
	r.spend(n)
	cert := loop.Certify(r.findings(n, nil, nil))
	entry := loop.Entry{Loop: r.deps.Declaration.LoopID, Iteration: n, Metric: r.deps.Declaration.ResidualMetric, Direction: cert.Direction,
		Certificate: cert.Type, Failed: []loop.Learning{loop.FailureLearning(n, link)}}
	if d, err := r.write(ctx, entry, cert, fmt.Sprintf("loop: iteration %d changed nothing", n), map[string][]byte{}); err != nil || d.Event != "" {
		return d, err
	}
	why := fmt.Sprintf("iteration %d changed nothing", n)
	if words := r.now.result.Words; words != "" && r.overspent() == "" {
		why += "; its last words: " + short(words)
	}
	return r.fruitless(why), nil
}

// fruitless is the end of a loop whose iteration brought nothing to be judged:
// blocked, unless it was the budget that kept it from its work.
func (r *run) fruitless(why string) loop.Decision {
	if r.overspent() != "" {
		return loop.Decision{Event: loop.BudgetExhausted, Reason: loop.MaxToolCalls, Words: why}
	}
	return loop.Decision{Event: loop.ArtifactsEmpty, Reason: loop.EvidenceIncomplete, Words: why}
}
