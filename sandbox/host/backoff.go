package host

import (
	"context"
	"errors"
	"maps"
	"slices"
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
	moved, err := h.movedBy(ctx, j)
	quiet := j.err == nil || errors.Is(j.err, errSilent)
	if h.Worked != nil && j.runs != "" && err == nil && (moved || quiet) {
		h.Worked(ctx, j.runs, moved)
	}
	if errors.Is(j.err, errStopped) || errors.Is(j.err, errIdle) {
		delete(h.backoffs, j.Directive)
		return
	}
	if j.err == nil {
		if err != nil || moved {
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

// movedBy reports whether a directive has moved since a worker began on it.
func (h *Host) movedBy(ctx context.Context, j *Job) (bool, error) {
	if _, err := h.look(ctx); err != nil {
		return false, err
	}
	return h.refs.trace(ctx, h.Book.Repo, j.Directive) != j.before, nil
}

// endSilent ends workers whose agents answered that they are up and did nothing since: what hangs
// would keep its directive, and a slot, for as long as the launch has time.
func (h *Host) endSilent(ctx context.Context) {
	h.mu.Lock()
	running := slices.Collect(maps.Values(h.running))
	h.mu.Unlock()
	for _, j := range running {
		if !j.silent(h.Settings.Bootstrap.Check.Duration) {
			continue
		}
		if moved, err := h.movedBy(ctx, j); err == nil && !moved {
			h.end(j.Directive, errSilent)
		} else {
			j.Sign()
		}
	}
}
