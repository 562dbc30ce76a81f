package host

import (
	"context"
	"errors"
	"time"

	"git-ward/protocols/schedule"
)

// The pauses of a directive after bad ends of its workers, doubled from the first to the
// longest; a run of steadyRun or more begins the count anew.
const (
	firstPause   = time.Second
	longestPause = time.Minute
	steadyRun    = 10 * time.Minute
)

// backoff is the pause before the next worker of a directive.
type backoff struct {
	schedule.Backoff
	pause time.Duration
	last  error
}

// fail notes a bad end, and doubles the pause.
func (r *backoff) fail(why error) {
	r.Failures, r.last = r.Failures+1, why
	r.pause = min(max(2*r.pause, firstPause), longestPause)
	r.Until = time.Now().Add(r.pause)
}

// backoff is a directive's.
func (h *Host) backoff(directive string) *backoff {
	if h.backoffs[directive] == nil {
		h.backoffs[directive] = &backoff{}
	}
	return h.backoffs[directive]
}

// workerEnded takes down that a worker has ended. One that ended badly, or did nothing, is followed
// by another after a pause of its directive's, and touches no other.
func (h *Host) workerEnded(ctx context.Context, j *Job) {
	h.unregister(j)
	if errors.Is(j.err, errStopped) || errors.Is(j.err, errIdle) {
		delete(h.backoffs, j.Directive)
		return
	}
	if j.err == nil {
		if _, err := h.look(ctx); err != nil || h.refs.trace(ctx, h.Book.Repo, j.Directive) != j.before {
			delete(h.backoffs, j.Directive)
			h.backoff(j.Directive).Until = time.Now().Add(firstPause)
			return
		}
	} else {
		h.Log.Error().Err(j.err).Str("worker", j.Holder).Str("directive", j.Directive).Msg("a worker ended badly; another follows it")
	}
	if time.Since(j.began) > steadyRun {
		delete(h.backoffs, j.Directive)
	}
	r := h.backoff(j.Directive)
	r.fail(j.err)
	r.GivenUp = h.Once && (j.err == nil || r.Failures >= schedule.Tries)
	if j.err == nil {
		h.Log.Warn().Str("directive", j.Directive).Dur("pause_ms", r.pause).Msg("a worker ended in good order and left nothing; git ward uow show says where the unit stands")
	}
}
