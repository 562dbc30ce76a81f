package worker

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"git-ward/agent/prompt"
	"git-ward/agent/stop"
)

// takeUp restores the uncommitted changes of the unit's last worker, and returns a note about them for the
// journal. For a started branch it does nothing, because such a branch changes nothing.
func (r *unitRun) takeUp(ctx context.Context) (note string, err error) {
	if r.deps.launch.OnBranch() {
		return "", nil
	}
	took, aside, err := r.work.TakeUp(ctx, r.unit.journal, r.unit.earlier)
	if err != nil {
		return "", err
	}
	if aside != "" {
		r.log.Warn().Str("branch", aside).Msg("what the last worker had not committed does not fit in; it is put aside")
	}
	if !took {
		return "", nil
	}
	r.log.Info().Msg(prompt.Uncommitted)
	return prompt.Uncommitted, nil
}

// keeping saves uncommitted changes while a worker works. over ends the saving. If the worker destroyed the
// repository, lost says what became of the work; otherwise it is "".
func (r *unitRun) keeping(ctx context.Context) (over func() (lost string), err error) {
	keeper, err := r.work.Saver(ctx, func(what string) { r.log.Warn().Msg(what) })
	if err != nil {
		return nil, err
	}
	tick, end, done := time.NewTicker(r.deps.config.Agent.Keep.Duration), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		keeper.Run(ctx, tick.C, end)
	}()
	return func() string {
		tick.Stop()
		close(end)
		<-done
		gone, lost, branch := keeper.Outlive(context.WithoutCancel(ctx))
		switch {
		case !gone:
			return ""
		case lost && branch != "":
			return "Not all that its tree held is kept; the next try goes on with what is, on " + branch
		case lost:
			return allLost
		case branch != "":
			return "What its tree held is on " + branch + ", and the next try goes on with it"
		}
		return "Its tree held nothing new; the work begins again from what was pushed"
	}, nil
}

// endSaving ends the saving of changes for a completed unit.
func (r *unitRun) endSaving(ctx context.Context) {
	if err := r.work.EndSaving(ctx); err != nil {
		r.log.Warn().Err(err).Msg("what was kept while it was worked on stays there")
	}
}

// allLost describes the fate of a worker's tree of which nothing was saved.
const allLost = "What it made there is lost; the work begins again from what was pushed"

// errGone is the end of a worker that destroyed its repository and did not say so.
var errGone = errors.New("the worker left no repository behind: its .git is gone or broken")

// ofTree adds the fate of a tree without a repository to a worker's end.
func ofTree(err error, fate string) error {
	ended := stop.Of(err)
	if ended == nil {
		return fmt.Errorf("%w. %s", err, fate)
	}
	told := *ended // reports show its Why
	why, isSentence := strings.CutSuffix(ended.Why, ".")
	if told.Why = why + ". " + fate; isSentence {
		told.Why += "."
	}
	if err != error(ended) {
		told.Err = err
	}
	return &told
}
