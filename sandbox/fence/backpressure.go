package fence

import (
	"git-ward/internal/live"
	"git-ward/internal/runstate"
)

// tellTroubles writes down what providers fail; nothing takes the file away.
func (l *launch) tellTroubles(troubles map[string]runstate.Trouble) {
	if err := runstate.TellTroubles(l.spec.Bare, troubles); err != nil {
		l.log.Warn().Err(err).Msg("the backpressure is not written down")
	}
	for name, t := range troubles {
		l.tellLive(live.Event{Unit: name, Kind: live.Gateway, Text: t.Text(name)})
	}
}
