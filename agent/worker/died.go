package worker

import (
	"context"
	"fmt"
	"strings"

	"git-ward/agent/interaction"
	"git-ward/agent/stop"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/internal/live"
	"git-ward/internal/runstate"
	"git-ward/protocols/boot"
	"git-ward/protocols/uow"
)

// mostDeaths is how many workers in a row may end badly before the unit waits.
const mostDeaths = 2

// survives blocks a unit on which one worker after the other has ended badly, as where what it runs
// kills its agent: only then do the policy's retries count these ends, and end them with a report.
// The number is the host's, which nothing in the fence can change. It counts workers whose agents
// had answered.
func (u *unit) survives(ctx context.Context, clean func(string) string) error {
	last := u.last()
	if last.Actor != uow.Agent || last.Iteration == 0 {
		return nil
	}
	ends, err := git.Open(u.store.Bare).Refs(ctx, boot.CountPrefix(boot.Ends, u.directive.Name()))
	if err != nil || len(ends) < mostDeaths {
		return err
	}
	lost := interaction.Lost(u.store.State, u.journal.Records)
	why := clean(fmt.Sprintf("The last %d workers ended badly: what they ran may have killed them.", len(ends)) + u.lastHeard())
	if err := u.step(ctx, uow.Input{Event: uow.Block, Reason: uow.ProgramKilled, Interactions: int64(lost.Calls), Note: why}); err != nil {
		return err
	}
	return stop.New(stop.Suspended, "%s", why)
}

// lastHeard says how the last worker ended, and what it did then.
func (u *unit) lastHeard() (text string) {
	const most, length = 100, 300 // events to look at, and bytes of each
	events, err := runstate.Tail(u.heard, u.directive.Name(), most)
	if u.heard == "" || err != nil {
		return ""
	}
	ended, did := "", ""
	for _, e := range events {
		said := strings.Join(strings.Fields(diag.Cut(e.Text, length)), " ")
		switch {
		case e.Kind == live.Ended && e.Role == live.Host:
			ended = said
		case e.Kind == live.Called, e.Kind == live.Step:
			did = strings.TrimSpace(e.Tool + " " + said)
		}
	}
	if ended != "" {
		text += " The last end: " + ended + "."
	}
	if did != "" {
		text += " What the last one did last: " + did
	}
	return text
}
