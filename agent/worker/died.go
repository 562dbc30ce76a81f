package worker

import (
	"context"
	"fmt"
	"strings"

	"git-ward/agent/stop"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/internal/live"
	"git-ward/internal/runstate"
	"git-ward/protocols/boot"
	"git-ward/protocols/uow"
)

// maxBadEnds is how many workers of a directive may end badly one after the other before it
// costs their unit a retry. The first may have met trouble of the host's.
const maxBadEnds = 2

// badEnds is how many workers of the directive at hand have ended badly before this one, one
// after the other, as the host counts them.
func (d *deps) badEnds(ctx context.Context) (int, error) {
	if !d.hosted() {
		return 0, nil
	}
	list, err := git.Open(d.store.Bare).Refs(ctx, boot.CountPrefix(boot.Ends, d.only))
	return len(list), err
}

// died suspends a unit whose workers have ended badly again and again, as one whose program is
// killed: the rules' pauses and retries apply, and bound what kills its agent each time. It
// counts once for a process, because the host counts when a worker ends. A unit that no worker
// has pushed is not at fault.
func (r *unitRun) died(ctx context.Context) error {
	u, n := r.unit, r.deps.ended
	r.deps.ended = 0
	if n < maxBadEnds || u.journal.Holds() || u.last().State != uow.Active {
		return nil
	}
	u.keepLost(ctx, r.work)
	why := fmt.Sprintf("Its workers have ended badly, %d in a row.", n) + u.lastHeard()
	return &stop.Stop{Kind: stop.Suspended, Why: r.deps.clean(why), Err: held(uow.ProgramKilled)}
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
