package host

import (
	"context"
	"time"

	"git-ward/internal/diag"
	"git-ward/protocols/schedule"
)

// The pauses of a directive after bad ends of its workers, doubled from the first to the
// longest. After a run of steadyRun or more they begin anew; the ends stay counted, unless the unit
// got on.
const (
	firstPause   = time.Second
	longestPause = time.Minute
	steadyRun    = 10 * time.Minute
)

// Ends are the bad ends in a row of directives' workers that their work may have caused.
type Ends interface {
	BadEnds(ctx context.Context) (map[string]int, error) // by directive
	Ended(ctx context.Context, directive string, well bool) error
}

// backoff is the pause before the next worker of a directive.
type backoff struct {
	schedule.Backoff
	before int // failures under earlier launches
	pause  time.Duration
	last   error
}

// failed notes a failure on a directive and doubles the pause. A launch that is to end gives the
// directive up after some.
func (h *Host) failed(directive string, why error) *backoff {
	r := h.backoff(directive)
	r.Failures, r.last = r.Failures+1, why
	r.pause = min(max(2*r.pause, firstPause), longestPause)
	r.Until = time.Now().Add(r.pause)
	r.GivenUp = h.spec.Once && r.Failures-r.before >= schedule.Tries
	return r
}

// backoff returns a directive's back-off.
func (h *Host) backoff(directive string) *backoff {
	if h.backoffs[directive] == nil {
		h.backoffs[directive] = &backoff{}
	}
	return h.backoffs[directive]
}

// takeBackoffs puts directives last whose workers' work may have ended them under earlier launches,
// with a longer pause after their next failure. Their first workers start at once, because a launch
// is often restarted after a fix.
func (h *Host) takeBackoffs(ctx context.Context) {
	if h.spec.Ends == nil {
		return
	}
	ends, err := h.spec.Ends.BadEnds(ctx)
	if err != nil {
		h.spec.Log.Error().Err(err).Msg("how workers have ended before cannot be read")
	}
	for directive, n := range ends {
		r := h.backoff(directive)
		r.Failures, r.before = n, n
		r.pause = min(firstPause<<(n-1), longestPause)
	}
}

// endsWell forgets the failures of a directive's workers.
func (h *Host) endsWell(ctx context.Context, directive string) {
	delete(h.backoffs, directive)
	h.note(ctx, directive, true)
}

func (h *Host) note(ctx context.Context, directive string, well bool) {
	if h.spec.Ends == nil {
		return
	}
	if err := h.spec.Ends.Ended(context.WithoutCancel(ctx), directive, well); err != nil {
		h.spec.Log.Error().Err(err).Str("directive", directive).Msg("how its worker has ended is not written down")
	}
}

// workerEnded records a worker's end. After a failure, or without progress, the directive's
// next worker waits; no other directive is delayed.
func (h *Host) workerEnded(ctx context.Context, j *Job) {
	h.unregister(j)
	err := h.attend(ctx, j)
	if ctx.Err() != nil { // the end was caused by the launch's own
		return
	}
	now := h.refs.trace(ctx, h.spec.Book.Repo, j.Directive)
	moved := err != nil || now != j.before
	if err == nil && j.fruitless() && h.spec.Worked != nil {
		h.spec.Worked(ctx, j.runs.commit, false)
	}
	if onPurpose(j.err) {
		h.endsWell(ctx, j.Directive)
		return
	}
	if j.err == nil {
		if moved {
			h.endsWell(ctx, j.Directive)
			h.backoff(j.Directive).Until = time.Now().Add(firstPause)
			return
		}
	} else {
		h.spec.Log.Error().Err(j.err).Str("worker", j.Holder).Str("directive", j.Directive).Msg("a worker failed; another follows")
	}
	if time.Since(j.began) > steadyRun {
		h.backoff(j.Directive).pause = 0
	}
	r := h.failed(j.Directive, j.err)
	if j.byItsWork() {
		h.note(ctx, j.Directive, false)
	}
	if j.err == nil {
		r.GivenUp = h.spec.Once
		h.spec.Log.Warn().Str("directive", j.Directive).Dur("pause_ms", r.pause).Msg("a worker ended normally but made no progress; git ward uow show shows the unit's state")
	}
}

// attend checks whether a worker's directive has moved since its agent's program answered. A
// worker without progress is ended, because a hanging one would keep its directive and slot
// for the whole launch. After a long run whose unit got on, the bad ends before it are forgotten.
func (h *Host) attend(ctx context.Context, j *Job) error {
	if _, err := h.look(ctx); err != nil {
		return err
	}
	now := h.refs.trace(ctx, h.spec.Book.Repo, j.Directive)
	h.mu.Lock()
	p := &j.runs
	held := ""
	if p.unproven() && now != p.from {
		p.held, held = true, p.commit
	}
	if j.next != "" {
		from := now
		if p.commit == "" {
			from = j.before
		}
		p.commit, p.from, p.held, j.next = j.next, from, false, ""
	}
	silent := p.silent(h.spec.Settings.Bootstrap.Check.Duration)
	h.mu.Unlock()
	if held != "" && h.spec.Worked != nil {
		h.spec.Worked(ctx, held, true)
	}
	if silent {
		h.end(j.Directive, errSilent)
	}
	if time.Since(j.began) > steadyRun && now.done != (done{}) && now.done != j.before.done {
		h.endsWell(ctx, j.Directive) // but for its own end, which may come with the launch's
	}
	return nil
}

// attendAll attends to the workers whose refs may have moved.
func (h *Host) attendAll(ctx context.Context) {
	h.mu.Lock()
	var list []*Job
	for _, j := range h.running {
		if h.refs.moved && !j.runs.held || j.next != "" || j.runs.silent(h.spec.Settings.Bootstrap.Check.Duration) {
			list = append(list, j)
		}
	}
	h.refs.moved = false
	h.mu.Unlock()
	for _, j := range list {
		h.tell(h.attend(ctx, j), j.Directive, "what has come of its program cannot be read")
	}
}

// tell logs an error, with its remedies, that each turn may meet again: once for each cause.
func (h *Host) tell(err error, directive, words string) {
	if !h.told.New(words+directive, err) {
		return
	}
	event := h.spec.Log.Error().Err(err)
	if directive != "" {
		event = event.Str("directive", directive)
	}
	if hints := diag.Hints(err); len(hints) > 0 {
		event = event.Strs("next", hints)
	}
	event.Msg(words)
}
