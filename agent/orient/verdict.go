package orient

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"git-ward/internal/git"
	"git-ward/protocols/loop"
	"git-ward/protocols/record"
	"git-ward/protocols/uow"
)

// maxTailLines is how many of the last lines of a failed command's output become search terms; they
// usually name the error.
const maxTailLines = 6

// verdicts returns the unmet criteria of the newest verdict on the task's work as questions, because
// a new worker does not know them.
func verdicts(ctx context.Context, o Options) ([]Question, error) {
	r, err := recordsOf(ctx, o)
	if err != nil {
		return nil, err
	}
	tips, err := r.repo.Refs(ctx, record.Prefix)
	if err != nil {
		return nil, err
	}
	var own []unitTip
	for _, tip := range tips {
		if id, err := record.ParseRef(tip.Name); err == nil && id.Directive == o.Task {
			own = append(own, unitTip{id: id, tip: tip.ID})
		}
	}
	slices.SortFunc(own, func(a, b unitTip) int { return cmp.Compare(b.id.K, a.id.K) })
	batch := r.repo.Batch(ctx)
	defer batch.Close()
	for _, u := range own {
		v, err := newestVerdict(batch, u)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err == nil && v != nil {
			return failures(u.id, v), nil
		}
	}
	return nil, nil
}

// newestVerdict returns the newest verdict on a unit's record, nil for none.
func newestVerdict(batch *git.Batch, u unitTip) (*loop.Verdict, error) {
	dir := u.tip + ":" + loop.Dir(u.id.Directive)
	_, data, err := batch.Read(dir, maxArtifact)
	if errors.Is(err, git.ErrMissing) || err != nil {
		return nil, err
	}
	entries, err := git.ParseTree(data)
	if err := git.Forgive(err); err != nil {
		return nil, err
	}
	var iterations []int
	for _, e := range entries {
		if n, ok := loop.ParseIteration(e.Name); ok {
			iterations = append(iterations, n)
		}
	}
	slices.Sort(iterations)
	for _, n := range slices.Backward(iterations) {
		_, data, err := batch.Read(fmt.Sprintf("%s/iter_%d/verdict.json", dir, n), loop.MaxVerdict)
		if errors.Is(err, git.ErrMissing) {
			continue // this iteration was abandoned before its verdict
		}
		if err != nil {
			return nil, err
		}
		list, err := loop.ParseVerdicts(data)
		if err != nil || len(list) == 0 {
			return nil, err
		}
		return &list[len(list)-1], nil
	}
	return nil, nil
}

// failures returns a verdict's failed commands, each with the end of its output.
func failures(unit uow.ID, v *loop.Verdict) (list []Question) {
	outcomes := append([]loop.Outcome(nil), v.Criteria...)
	for _, o := range []*loop.Outcome{v.ResidualRun, v.Suite, v.Validate} {
		if o != nil {
			outcomes = append(outcomes, *o)
		}
	}
	for _, o := range outcomes {
		if o.Passed() {
			continue
		}
		lines := strings.Split(strings.TrimSpace(o.Tail), "\n")
		end := strings.Join(lines[max(0, len(lines)-maxTailLines):], "\n")
		list = append(list, Question{From: fmt.Sprintf("the verdict on iteration %d of %s", v.Iteration, unit),
			Text: strings.TrimSpace(cmp.Or(o.Criterion, o.Command) + "\n" + o.Trouble + "\n" + end)})
	}
	return list
}
