package planrun

import (
	"context"
	"errors"

	"git-ward/internal/git"
	"git-ward/protocols/fsm"
	"git-ward/protocols/plan"
)

// takenUp is what a run that began at a commit has done; resumed is false if the plan has
// changed since.
func (u *run) takenUp(ctx context.Context, base string) (steps []done, resumed bool, err error) {
	u.base = base
	if u.lint, err = u.deps.lintOf(u.batch, trees{work: base}, ""); err != nil {
		return nil, false, err
	}
	same, err := u.sameText(ctx, base)
	if err != nil {
		return nil, false, err
	}
	if steps, err = u.steps(ctx); err != nil || same {
		return steps, same, err
	}
	amended, err := u.amended(steps)
	if err != nil || amended == nil {
		return nil, false, err
	}
	if u.lint, err = u.deps.lintOf(u.batch, trees{work: base}, ""); err == nil { // again: the first reading predates it
		_, err = u.lint.LintText(u.path, amended)
	}
	return steps, true, err
}

// amended is the plan's text in HEAD if it begins with the unchanged done steps, so that the
// run continues; nil for another plan. Only plain steps are compared, because the text does
// not say how often a loop or call ran.
func (u *run) amended(steps []done) ([]byte, error) {
	if len(steps) == 0 {
		return nil, nil
	}
	var text []byte
	var plans [2]*plan.Plan
	for i, commit := range []string{steps[len(steps)-1].id, u.head} {
		_, data, err := u.batch.Read(commit+":"+u.path, plan.MaxBytes)
		if errors.Is(err, git.ErrMissing) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		text = data
		plans[i], _ = plan.Parse(data, u.path)
	}
	was, is := plans[0].Steps, plans[1].Steps
	if len(was) < len(steps) || len(is) < len(steps) || plans[0].Machine() != fsm.FDC || plans[1].Machine() != fsm.FDC {
		return nil, nil
	}
	for i := range steps {
		a, b := was[i], is[i]
		if a.Tool != b.Tool || a.Args != b.Args || a.Block != b.Block || a.Tool == plan.ForEachFile || a.Tool == plan.CallPlan {
			return nil, nil
		}
	}
	return text, nil
}
