package site

import (
	"strings"
	"time"

	"git-ward/internal/live"
)

// What a page shows of what goes on.
const (
	maxEvents = 40
	maxEvent  = 400 // bytes of one
)

// An event is something that happens now.
type event struct {
	Time time.Time
	What string // in a word or three
	Text string // "" for nothing more
}

// told are the words for what an event tells of; an event of another kind, such as a
// machine's state, says nothing that a PM needs.
var told = map[live.Kind]string{
	live.Told: "is told", live.Said: "says", live.Called: "uses", live.Answered: "answers", live.Failed: "failed", live.Step: "step",
	live.Verdict: "the host judges", live.Gateway: "spent so far", live.Ended: "ended", live.LeftOut: "left out",
}

// newEvents are the newest events, the newest first.
func newEvents(list []live.Event) (events []event) {
	for _, e := range newest(list, len(list)) {
		if what := told[e.Kind]; what != "" && len(events) < maxEvents {
			events = append(events, event{e.Time, strings.TrimSpace(what + " " + e.Tool), shorten(strings.Join(strings.Fields(e.Text), " "), maxEvent)})
		}
	}
	return events
}
