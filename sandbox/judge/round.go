package judge

import (
	"cmp"
	"context"
	"slices"
	"time"

	"git-ward/protocols/boot"
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

// round is the verdicts that run, and the claims that wait. Each directive has one place at
// most, and the claim that waited longest has the next: who claims again and again keeps
// nobody waiting (MANY-1).
type round struct {
	judge   *Judge
	running map[string]bool     // by directive
	waiting map[string]*waiting // by the hash of the claim's record
	turns   map[string]int      // by directive: which look gave it its last place
	looks   int
	ended   chan end
}

// waiting is a claim without a verdict.
type waiting struct {
	since   int       // the look that saw it first
	retryAt time.Time // its next try is put off until then
}

// end is how a verdict ended, nil where the claim has it or does not stand any more.
type end struct {
	claim request
	err   error
}

func (j *Judge) every() time.Duration { return cmp.Or(j.Every, lookInterval) }

func (j *Judge) newRound() *round {
	return &round{judge: j, running: map[string]bool{}, waiting: map[string]*waiting{}, turns: map[string]int{}, ended: make(chan end)}
}

// Serve judges until ctx ends. An error with one claim is logged and the claim tried again: no
// verdict is better than a wrong one, and [verify] timeout limits the agent's wait.
func (j *Judge) Serve(ctx context.Context) error {
	r := j.newRound()
	defer r.wait(ctx)
	watch := j.Repo.Watch(uow.RefPrefix, uow.TakePrefix, loop.VerdictsRef, boot.PassedPrefix)
	for idle := 0; ; {
		if watch.Moved() {
			idle = 0
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

// look starts the verdicts on open claims for which there is room, but for those whose
// directive has one that runs, or whose next try is put off. It reports whether there was
// none that could be started before one that runs has ended, and no trouble on the way: then
// that end, or a ref that moves, is what the next look waits for.
func (r *round) look(ctx context.Context) (none bool) {
	claims, err := r.judge.open(ctx)
	if err != nil && ctx.Err() == nil {
		r.judge.Log.Error().Err(err).Msg("the journals cannot be read")
	}
	r.queue(claims)
	most := max(r.judge.AtOnce, 1)
	none = err == nil
	for _, c := range claims {
		switch {
		case r.running[c.Directive]: // its end is waited for
		case len(r.running) >= most:
			return none
		default:
			none = false
			if !time.Now().Before(r.waiting[c.Hash].retryAt) && ctx.Err() == nil {
				r.running[c.Directive], r.turns[c.Directive] = true, r.looks
				go func() { r.ended <- end{c, r.judge.judge(ctx, c)} }()
			}
		}
	}
	return none
}

// queue puts the claims that were seen first in front, and of those that were seen together
// those of whom a verdict is longest ago.
func (r *round) queue(claims []request) {
	r.looks++
	there := map[string]*waiting{}
	for _, c := range claims {
		w := r.waiting[c.Hash]
		if w == nil {
			w = &waiting{since: r.looks}
		}
		there[c.Hash] = w
	}
	r.waiting = there
	slices.SortStableFunc(claims, func(a, b request) int {
		return cmp.Or(cmp.Compare(there[a.Hash].since, there[b.Hash].since), cmp.Compare(r.turns[a.Directive], r.turns[b.Directive]))
	})
}

// took takes down how a verdict ended.
func (r *round) took(ctx context.Context, e end) {
	delete(r.running, e.claim.Directive)
	if r.judge.Judged != nil {
		r.judge.Judged(e.claim.ID)
	}
	if e.err != nil && ctx.Err() == nil {
		r.waiting[e.claim.Hash] = &waiting{since: r.looks + 1, retryAt: time.Now().Add(retryPause)} // behind the others
		r.judge.Log.Error().Err(e.err).Str("unit", e.claim.ID).Msg("the claim cannot be judged")
	}
}

// wait waits for the verdicts that run.
func (r *round) wait(ctx context.Context) {
	for len(r.running) > 0 {
		r.took(ctx, <-r.ended)
	}
}
