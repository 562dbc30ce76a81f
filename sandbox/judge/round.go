package judge

import (
	"cmp"
	"context"
	"time"

	"git-ward/internal/git"
	"git-ward/protocols/loop"
	"git-ward/protocols/uow"
)

const (
	// lookInterval is the time between two looks at the refs, unless the Judge has another.
	lookInterval = 500 * time.Millisecond
	// retryPause is how long a claim that could not be run waits for the next try.
	retryPause = 30 * time.Second
	// restAfter is how many looks in a row find nothing before the next waits for a
	// ref to move. One that moves within one tick of the file system's clock leaves
	// the mark as it was; the second look, one interval later, still sees it.
	restAfter = 2
)

// round is the verdicts that run, and the claims whose next try is put off.
type round struct {
	judge   *Judge
	running map[string]bool      // by unit
	retryAt map[string]time.Time // by the hash of the claim's record
	ended   chan end
}

// end is how a verdict ended, nil where the claim has it or does not stand any more.
type end struct {
	claim *uow.Record
	err   error
}

func (j *Judge) every() time.Duration { return cmp.Or(j.Every, lookInterval) }

func (j *Judge) newRound() *round {
	return &round{judge: j, running: map[string]bool{}, retryAt: map[string]time.Time{}, ended: make(chan end)}
}

// Serve judges until ctx ends. What goes wrong with one claim is logged and tried
// again: no verdict is better than a wrong one, and how long the agent waits is
// bounded by [verify] timeout.
func (j *Judge) Serve(ctx context.Context) error {
	r := j.newRound()
	defer r.wait(ctx)
	var seen [2]git.Mark
	for idle := 0; ; {
		marks := [2]git.Mark{j.Repo.Mark(uow.RefPrefix), j.Repo.Mark(loop.VerdictsRef)}
		if marks != seen {
			seen, idle = marks, 0
		}
		if j.turned != nil {
			j.turned(idle < restAfter)
		}
		if idle < restAfter {
			if r.look(ctx) {
				idle++
			} else {
				idle = 0
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case e := <-r.ended:
			r.took(ctx, e)
			idle = 0
		case <-time.After(j.every()):
		}
	}
}

// look starts the verdicts on open claims for which there is room, but for those whose unit
// has one that runs, or whose next try is put off. It reports whether there was none that
// could ever be started, and no trouble on the way: then the end of one that runs, or a ref
// that moves, is what the next look waits for.
func (r *round) look(ctx context.Context) (none bool) {
	most := max(r.judge.AtOnce, 1)
	if len(r.running) >= most {
		return true
	}
	claims, err := r.judge.open(ctx)
	if err != nil && ctx.Err() == nil {
		r.judge.Log.Error().Err(err).Msg("the journals cannot be read")
	}
	none = err == nil
	for _, c := range claims {
		if r.running[c.ID] {
			continue // its end is waited for
		}
		none = false
		if len(r.running) < most && !time.Now().Before(r.retryAt[c.Hash]) && ctx.Err() == nil {
			r.running[c.ID] = true
			go func() { r.ended <- end{c, r.judge.judge(ctx, c)} }()
		}
	}
	return none
}

// took takes down how a verdict ended.
func (r *round) took(ctx context.Context, e end) {
	delete(r.running, e.claim.ID)
	if r.judge.Judged != nil {
		r.judge.Judged(e.claim.ID)
	}
	if e.err != nil && ctx.Err() == nil {
		r.retryAt[e.claim.Hash] = time.Now().Add(retryPause)
		r.judge.Log.Error().Err(e.err).Str("unit", e.claim.ID).Msg("the claim cannot be judged")
	}
}

// wait waits for the verdicts that run.
func (r *round) wait(ctx context.Context) {
	for len(r.running) > 0 {
		r.took(ctx, <-r.ended)
	}
}
