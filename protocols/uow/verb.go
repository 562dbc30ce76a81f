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

// detours lists verbs that take several steps of the machine from some states, so that every state has
// the verb that a PM expects, while the machine remains that of seed 001: there, cancelling a blocked
// unit condemns it and confirms that, and pausing one lets it continue first.
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

// PathReason returns the reason code of one of a verb's steps: the given one if the step allows it, else
// the step's first.
func PathReason(step Event, given Reason) Reason {
	codes := reasons[step][PM]
	if slices.Contains(codes, given) {
		return given
	}
	return codes[0]
}

// Possible lists the PM's verbs that the unit's present state allows, in a fixed order.
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
