package site

import (
	"strings"
	"time"

	"git-ward/internal/live"
)

// The limits of the list of live events.
const (
	maxEvents = 40
	maxEvent  = 400 // bytes of one event's text
)

// An event is one line of the live events.
type event struct {
	Time time.Time
	What string // one to three words
	Text string // "" for none
}

// told describes the kinds of events that a PM needs to see. Other kinds, such as a machine's state,
// are not shown.
var told = map[live.Kind]string{
	live.Told: "is told", live.Said: "says", live.Called: "uses", live.Answered: "answers", live.Failed: "failed", live.Step: "step",
	live.Verdict: "the host judges", live.Gateway: "spent so far", live.Ended: "ended", live.LeftOut: "left out",
}

// newEvents returns the newest events, newest first.
func newEvents(list []live.Event) (events []event) {
	for _, e := range newest(list, len(list)) {
		if what := told[e.Kind]; what != "" && len(events) < maxEvents {
			events = append(events, event{e.Time, strings.TrimSpace(what + " " + e.Tool), shorten(strings.Join(strings.Fields(e.Text), " "), maxEvent)})
		}
	}
	return events
}
