package model

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// Patience retries a model's turns where that may help. A broken call has a number of tries.
// It waits for a busy provider, as long as the provider says if it does: that is backpressure,
// and becomes a failure only when the time for it is over.
type Patience struct {
	Model Model
	Tries int           // of one turn after broken answers, the first included
	Busy  time.Duration // total waiting time in one turn for a busy provider
	Base  time.Duration // the first back-off; 0: a second
	Note  func(Wait)    // called with each wait, and with the zero Wait when it is over
}

// Wait wraps a model with retries.
type Wait struct {
	Since time.Time // when the first failed try began
	Err   error     // of the newest
	Next  time.Time // when the next try is due
}

// longest bounds our own back-off; the provider may ask for more.
const longest = time.Minute

// Turn returns the model's turn after any retries.
func (p *Patience) Turn(ctx context.Context, c *Conversation) (Reply, error) {
	var w waiting
	for {
		reply, err := p.Model.Turn(ctx, c)
		if err == nil && reply.empty() {
			err = &Trouble{Kind: Broken, Err: ErrEmpty}
		}
		var t *Trouble
		if err == nil || ctx.Err() != nil || !errors.As(err, &t) {
			p.over(w)
			return reply, err
		}
		wait := p.pause(w.waits, t.After)
		if gaveUp := p.counts(&w, t, wait, err); gaveUp != nil {
			p.over(w)
			if errors.Is(err, ErrEmpty) && c.worked() {
				return reply, nil // it has done something without saying so
			}
			return Reply{}, gaveUp
		}
		now := time.Now()
		if w.waits++; w.waits == 1 {
			w.since = now
		}
		if p.Note != nil {
			p.Note(Wait{Since: w.since, Err: err, Next: now.Add(wait)})
		}
		select {
		case <-ctx.Done():
			p.over(w)
			return Reply{}, context.Cause(ctx)
		case <-time.After(wait):
		}
	}
}

// waiting counts a turn's tries and waiting time.
type waiting struct {
	broken, waits int
	waited        time.Duration
	since         time.Time
}

// counts records a failed try. It returns an error that is not to be retried.
func (p *Patience) counts(w *waiting, t *Trouble, wait time.Duration, err error) error {
	switch t.Kind {
	case Broken:
		if w.broken++; w.broken >= p.Tries {
			return fmt.Errorf("%d times: %w", w.broken, err)
		}
	case Busy:
		if w.waited += wait; w.waited > p.Busy {
			return fmt.Errorf("busy for longer than %s: %w", p.Busy, err)
		}
	default:
		return err
	}
	return nil
}

// over reports that the wait has ended.
func (p *Patience) over(w waiting) {
	if w.waits > 0 && p.Note != nil {
		p.Note(Wait{})
	}
}

// pause is exponential back-off with equal jitter: half of it is random, so that agents that
// were refused together do not return together. The provider's own time is the minimum.
func (p *Patience) pause(n int, after time.Duration) time.Duration {
	base := cmp.Or(p.Base, time.Second)
	most := min(longest, base<<min(n, 20))
	if after > 0 {
		return after + rand.N(max(after/10, base/10)+1)
	}
	return most/2 + rand.N(most/2+1)
}
