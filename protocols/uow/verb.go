package uow

import (
	"slices"
	"strings"
)

// verbs are the PM's, in the order in which they are offered.
var verbs = []Event{Approve, Reject, Clarify, Retry, Waive, Heartbeat, Resume, Pause, Cancel, Confirm, Fork, Archive}

// Typed is the PM's verb for an event, after `git ward uow`.
func (e Event) Typed() string {
	switch e {
	case Reject:
		return "approve --reject"
	case Waive:
		return "retry --waive"
	case Confirm:
		return "cancel --failed"
	case Heartbeat:
		return "resume --pulse"
	}
	return string(e)
}

// detours are verbs that take more than one step of the machine from some states, so that
// every state has the verb that a PM expects. The machine stays that of seed 001: a blocked
// unit ends as a dead letter that somebody confirms, and is paused by letting it continue
// first.
var detours = map[Event]map[State][]Event{
	Cancel:  {ZombiedSoft: {Deny, Confirm}, ZombiedDead: {Confirm}},
	Pause:   {ZombiedSoft: {Waive, Pause}},
	Archive: {Completed: {Refine, Archive}, Failed: {Refine, Archive}, ZombiedDead: {Refine, Archive}, Breached: {Refine, Archive}},
}

// Path returns the PM's steps that a verb takes from a state, in order.
func Path(verb Event, from State) []Event {
	if path := detours[verb][from]; path != nil {
		return path
	}
	return []Event{verb}
}

// PathReason is the reason code of one step on the way of a verb: the one that was given,
// where the step knows it, and else the step's own first.
func PathReason(step Event, given Reason) Reason {
	codes := reasons[step][PM]
	if slices.Contains(codes, given) {
		return given
	}
	return codes[0]
}

// Possible are the PM's verbs that a unit takes as it stands, in a fixed order.
func (r *Record) Possible() []Event {
	var list []Event
	for _, verb := range verbs {
		if r.takes(verb) {
			list = append(list, verb)
		}
	}
	return list
}

func (r *Record) takes(verb Event) bool {
	spent := r.Retries >= r.Policy.MaxRetries
	asks := r.State == PendingApproval && r.ReasonCode != PulseIsDue
	switch {
	case verb == Fork:
		return r.State.Ended()
	case verb == Retry && spent, verb == Heartbeat && asks:
		return false
	}
	state := string(r.State)
	for _, e := range Path(verb, r.State) {
		to, ok := Machine().Next(state, string(e))
		if !ok {
			return false
		}
		state = to
	}
	return true
}

// offers are the verbs that a PM may use on a unit now.
func (r *Record) offers() string {
	var list []string
	for _, verb := range r.Possible() {
		list = append(list, "git ward uow "+verb.Typed()+" "+r.ID)
	}
	return "possible now: " + strings.Join(list, ", ")
}
