package model

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// Patience asks a model again where that may help. A call that breaks has a
// number of tries. A provider that is busy is waited for, by its own word if it
// has one: that is backpressure, and no failure until the time for it is over.
type Patience struct {
	Model Model
	Tries int                                 // of one turn that breaks, the first included
	Busy  time.Duration                       // to wait, in sum, in one turn for a provider that is busy
	Base  time.Duration                       // of the back-off; 0: a second
	Note  func(err error, wait time.Duration) // is told of each wait
}

// longest is the most that a back-off waits; a provider's own word may be longer.
const longest = time.Minute

// Turn is the model's, at last.
func (p *Patience) Turn(ctx context.Context, c *Conversation) (Reply, error) {
	broken, waits := 0, 0
	var waited time.Duration
	for {
		reply, err := p.Model.Turn(ctx, c)
		var t *Trouble
		if err == nil || ctx.Err() != nil || !errors.As(err, &t) {
			return reply, err
		}
		wait := p.pause(waits, t.After)
		switch t.Kind {
		case Broken:
			if broken++; broken >= p.Tries {
				return Reply{}, fmt.Errorf("%d times: %w", broken, err)
			}
		case Busy:
			if waited += wait; waited > p.Busy {
				return Reply{}, fmt.Errorf("busy for longer than %s: %w", p.Busy, err)
			}
		default:
			return Reply{}, err
		}
		waits++
		if p.Note != nil {
			p.Note(err, wait)
		}
		select {
		case <-ctx.Done():
			return Reply{}, context.Cause(ctx)
		case <-time.After(wait):
		}
	}
}

// pause is exponential back-off with equal jitter: half of it is chance, so that
// agents which were refused together do not come back together. What the
// provider said is the least.
func (p *Patience) pause(n int, after time.Duration) time.Duration {
	base := p.Base
	if base == 0 {
		base = time.Second
	}
	most := min(longest, base<<min(n, 20))
	if after > 0 {
		return after + rand.N(max(after/10, base/10)+1)
	}
	return most/2 + rand.N(most/2+1)
}
