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

// rest is the pause before the next worker of a directive.
type rest struct {
	schedule.Rest
	pause time.Duration
	last  error
}

// longer doubles the pause.
func (r *rest) longer(why error) {
	r.Bad, r.last = r.Bad+1, why
	r.pause = min(max(2*r.pause, firstPause), longestPause)
	r.Until = time.Now().Add(r.pause)
}

// rest is a directive's.
func (h *Host) rest(directive string) *rest {
	if h.rests[directive] == nil {
		h.rests[directive] = &rest{}
	}
	return h.rests[directive]
}

// took takes down that a worker has ended. One that ended badly, or did nothing, is followed
// by another after a pause of its directive's, and touches no other.
func (h *Host) took(ctx context.Context, j *Job) {
	h.leave(j)
	if errors.Is(j.err, errStopped) || errors.Is(j.err, errIdle) {
		delete(h.rests, j.Directive)
		return
	}
	if j.err == nil {
		if _, err := h.look(ctx); err != nil || h.refs.trace(ctx, h.Book.Repo, j.Directive) != j.before {
			delete(h.rests, j.Directive)
			h.rest(j.Directive).Until = time.Now().Add(firstPause)
			return
		}
	} else {
		h.Log.Error().Err(j.err).Str("worker", j.Holder).Str("directive", j.Directive).Msg("a worker ended badly; another follows it")
	}
	if time.Since(j.began) > steadyRun {
		delete(h.rests, j.Directive)
	}
	r := h.rest(j.Directive)
	r.longer(j.err)
	r.Given = h.Once && (j.err == nil || r.Bad >= schedule.Tries)
	if j.err == nil {
		h.Log.Warn().Str("directive", j.Directive).Dur("pause_ms", r.pause).Msg("a worker ended in good order and left nothing; git ward uow show says where the unit stands")
	}
}
