package uow

import (
	"slices"
	"strings"
	"testing"
)

// What the PM says to a unit at work reaches who works, in the order in which it was said
// (WORK-1); what others say, and what is said at the end, does not.
func TestWords(t *testing.T) {
	note := func(actor Actor, event Event, text string) *Record {
		return &Record{Actor: actor, Event: event, Note: text}
	}
	long := strings.Repeat("x", MaxWords-5)
	for name, c := range map[string]struct {
		records []*Record
		want    []string
	}{
		"nothing said": {[]*Record{note(PM, Heartbeat, "  "), note(Agent, Clarify, "the directive was edited")}, nil},
		"each verb that lets it go on": {[]*Record{
			note(PM, Clarify, "use the second parser\n"), note(PM, Approve, "yes"), note(PM, Retry, "the network is back"),
			note(PM, Waive, "once more"), note(PM, Resume, "quietly"), note(PM, Heartbeat, "well done"),
		}, []string{"use the second parser", "yes", "the network is back", "once more", "quietly", "well done"}},
		"ends are for the record":     {[]*Record{note(PM, Cancel, "not needed"), note(PM, Pause, "lunch"), note(PM, Deny, "no")}, nil},
		"said twice":                  {[]*Record{note(PM, Approve, "yes"), note(PM, Heartbeat, "more"), note(PM, Approve, "yes")}, []string{"more", "yes"}},
		"too much keeps the newest":   {[]*Record{note(PM, Clarify, "oldest"), note(PM, Clarify, long), note(PM, Clarify, "new")}, []string{long, "new"}},
		"the largest note fits whole": {[]*Record{note(PM, Clarify, strings.Repeat("y", MaxNote))}, []string{strings.Repeat("y", MaxNote)}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Words(c.records); !slices.Equal(got, c.want) {
				t.Errorf("Words = %.200q, want %.200q", got, c.want)
			}
		})
	}
}
