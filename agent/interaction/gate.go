// Package interaction admits and counts each turn of a model, each call of a tool and each
// step of a plan (PLAN-10). All kinds of workers are admitted and counted here.
package interaction

import (
	"context"
	"sync"

	"git-ward/agent/model"
	"git-ward/agent/stop"
	"git-ward/protocols/uow"
)

// Done counts what a worker did.
type Done struct {
	Words      string // the last text; a guess until verified
	Tally      model.Tally
	Transcript string // what was said and done, for people; "" where nobody kept it
}

// Gate admits interactions and counts them. Set its fields before the first use; it may
// be used concurrently then. A nil Gate admits everything and counts nothing.
type Gate struct {
	MaxCalls int                             // of tools, in total; 0 is no bound
	Guard    *uow.Guard                      // checks the order of tools (UOW-3); nil allows any
	Hold     func(ctx context.Context) error // why nothing may be done now, as a stop.Stop; may be nil

	mu    sync.Mutex
	calls int
}

// Turn is called before a turn of a model. The error is a stop.Stop: Suspended where the unit
// is not to be gone on with, Unfinished where its calls are used up.
func (g *Gate) Turn(ctx context.Context) error {
	if g == nil {
		return nil
	}
	if g.Hold != nil {
		if err := g.Hold(ctx); err != nil {
			return err
		}
	}
	if calls := g.Calls(); g.MaxCalls > 0 && calls >= g.MaxCalls {
		return stop.New(stop.Unfinished, "The tools were used %d times, as often as an iteration may (max_tool_calls_per_iteration).", calls)
	}
	return nil
}

// Next is called before a call of a tool or a step of a plan, and counts it if it is admitted.
// The error is Turn's, or a *uow.Blocked, which must not run and does not end the work.
func (g *Gate) Next(ctx context.Context, tool string) error {
	if g == nil {
		return nil
	}
	if err := g.Turn(ctx); err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.Guard != nil {
		if err := g.Guard.Call(tool); err != nil {
			return err
		}
	}
	g.calls++
	return nil
}

// Seen is Next for a call that was made already, as a program's stream tells of it: it
// counts in any case, and one out of order, which nobody can take back, is the end of the
// work, stop.Unfinished.
func (g *Gate) Seen(ctx context.Context, tool string) error {
	if g == nil {
		return nil
	}
	err := g.Turn(ctx)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.calls++
	if err == nil && g.Guard != nil {
		if blocked := g.Guard.Call(tool); blocked != nil {
			err = stop.New(stop.Unfinished, "%s. The call was made already, so the work ends there (protocols/uow/policy.toml).", blocked)
		}
	}
	return err
}

// Note counts calls that were already made, such as those in a program's stream.
func (g *Gate) Note(calls int) {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.calls += calls
}

// Left is how many more there may be; bounded is false where there is no bound.
func (g *Gate) Left() (calls int, bounded bool) {
	if g == nil || g.MaxCalls == 0 {
		return 0, false
	}
	return max(0, g.MaxCalls-g.Calls()), true
}

// Calls is the number admitted or noted so far.
func (g *Gate) Calls() int {
	if g == nil {
		return 0
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.calls
}
