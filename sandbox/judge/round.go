package judge

import (
	"cmp"
	"context"
	"slices"
	"time"

	"git-ward/internal/logfile"
	"git-ward/protocols/boot"
	"git-ward/protocols/loop"
	"git-ward/protocols/uow"
)

const (
	// lookInterval is the default interval between readings of the refs.
	lookInterval = 500 * time.Millisecond
	// retryPause is how long a claim that could not be run waits for its next try.
	retryPause = 30 * time.Second
	// restAfter is how many turns in a row must find nothing before the next waits for a ref
	// to move. A move within one tick of the file system's clock is invisible to the first
	// turn; the second, an interval later, sees it.
	restAfter = 2
)

// round is the running verdicts and the waiting claims. Each directive has at most one place,
// and the next goes to the directive whose last verdict is oldest, so that repeated claims
// delay nobody else (MANY-1).
type round struct {
	judge   *Judge
	running map[string]bool     // by directive
	waiting map[string]*waiting // by the hash of the claim's record
	turns   map[string]int      // by directive: the turn in which it last got a place
	looks   int
	told    logfile.Causes
	ended   chan end
}

// waiting is a claim without a verdict.
type waiting struct {
	since   int       // the turn that saw it first
	retryAt time.Time // its next try is not before then
}

// end is how a verdict ended; nil if it was written or the claim is withdrawn.
type end struct {
	claim request
	err   error
}

func (j *Judge) every() time.Duration { return cmp.Or(j.Every, lookInterval) }

func (j *Judge) newRound() *round {
	return &round{judge: j, running: map[string]bool{}, waiting: map[string]*waiting{}, turns: map[string]int{}, told: logfile.Causes{}, ended: make(chan end)}
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

// look starts verdicts on open claims while there is room, except for directives whose verdict
// runs or whose next try is later. It reports whether nothing more can be started before a
// running verdict ends or a ref moves, and no error occurred.
func (r *round) look(ctx context.Context) (none bool) {
	claims, err := r.judge.open(ctx)
	if ctx.Err() == nil && r.told.New("", err) {
		r.judge.Log.Error().Err(err).Msg("the journals cannot be read")
	}
	r.queue(claims)
	most := max(r.judge.AtOnce, 1)
	none = err == nil
	for _, c := range claims {
		switch {
		case r.running[c.Directive]: // wait for its end
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

// queue puts the claims first that were seen first, and among equals those of directives whose
// last verdict is oldest.
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

// took records a verdict's end.
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

// wait waits for the running verdicts.
func (r *round) wait(ctx context.Context) {
	for len(r.running) > 0 {
		r.took(ctx, <-r.ended)
	}
}
