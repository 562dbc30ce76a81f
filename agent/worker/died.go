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

// mostDeaths is how many workers in a row may end badly before the unit is blocked.
const mostDeaths = 2

// died says that several workers in a row have ended badly; "" if not. The host counts them, so nothing in
// the fence can change the number. It counts workers whose agents had answered, whatever they pushed,
// because work that kills its agent may do so before any push, or after a command by the PM.
func (d *deps) died(ctx context.Context, directive string) (why string, err error) {
	ends, err := git.Open(d.store.Bare).Refs(ctx, boot.CountPrefix(boot.Ends, directive))
	if err != nil || len(ends) < mostDeaths {
		return "", err
	}
	return d.clean(fmt.Sprintf("The last %d workers ended badly: what they ran may have killed them.", len(ends)) + d.lastHeard(directive)), nil
}

// survives blocks a unit on which several workers in a row have ended badly, for example because a command
// kills its agent. Then the policy's retries count these ends, and the last one leads to a report.
func (r *unitRun) survives(ctx context.Context) error {
	u := r.unit
	why, err := r.deps.died(ctx, u.directive.Name())
	if why == "" || err != nil {
		return err
	}
	lost := interaction.Lost(u.store.State, u.journal.Records)
	if err := u.step(ctx, uow.Input{Event: uow.Block, Reason: uow.ProgramKilled, Interactions: int64(lost.Calls), Note: why}); err != nil {
		return err
	}
	return stop.New(stop.Suspended, "%s", why)
}

// lastHeard says how the last worker ended, and what it did then.
func (d *deps) lastHeard(directive string) (text string) {
	const most, length = 100, 300 // events to look at, and bytes of each
	events, err := runstate.Tail(d.heard, directive, most)
	if d.heard == "" || err != nil {
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
