package uow

import "git-ward/protocols/fsm"

// Machine is the lifecycle of a unit as data (UOW-1); `git ward fsm --dot uow`
// draws it.
var Machine = fsm.Once(fsm.UOW)

// State is a unit's state.
type State string

// The states of UOW-1.
const (
	Pending         State = "PENDING"
	Active          State = "ACTIVE"
	PendingApproval State = "PENDING_PILOT_APPROVAL"
	Paused          State = "PAUSED"
	ZombiedSoft     State = "ZOMBIED_SOFT"
	ZombiedDead     State = "ZOMBIED_DEAD"
	Completed       State = "COMPLETED"
	Failed          State = "FAILED"
	Breached        State = "FAILED_SECURITY_BREACH"
	Refinement      State = "REFINEMENT_ANALYSIS"
	Archived        State = "ARCHIVED"
)

// States lists every state in the order of a unit's life.
func States() []State {
	return []State{Pending, Active, PendingApproval, Paused, ZombiedSoft, ZombiedDead, Completed, Failed, Breached, Refinement, Archived}
}

// Ended reports whether no more work can happen in a unit: the next unit of its
// directive may begin.
func (s State) Ended() bool {
	switch s {
	case ZombiedDead, Completed, Failed, Breached, Refinement, Archived:
		return true
	}
	return false
}

// Actor is the author of a record. The host checks it against the principal of the push.
type Actor string

// The actors.
const (
	Agent Actor = "agent"
	PM    Actor = "pm"
	Host  Actor = "host"
)

// Event is a step of the machine: the symbol of one transition.
type Event string

// The events. Open and Fork make the first record of a unit, all others lead
// from record to record.
const (
	Open            Event = "open"
	Fork            Event = "fork"
	Activate        Event = "activate"
	Iterate         Event = "iterate"
	MakeClaim       Event = "claim"
	Heartbeat       Event = "heartbeat"
	RequestApproval Event = "request_approval"
	Approve         Event = "approve"
	Reject          Event = "reject"
	Pause           Event = "pause"
	Resume          Event = "resume"
	Cancel          Event = "cancel"
	Confirm         Event = "confirm"
	Block           Event = "block"
	Condemn         Event = "condemn"
	Retry           Event = "retry"
	Clarify         Event = "clarify"
	Waive           Event = "waive"
	Deny            Event = "deny"
	Exhaust         Event = "exhaust"
	Complete        Event = "complete"
	Fail            Event = "fail"
	Refine          Event = "refine"
	Archive         Event = "archive"
	Expire          Event = "expire"
	Breach          Event = "breach"
)

// opens reports whether the event makes a unit's first record.
func (e Event) opens() bool { return e == Open || e == Fork }

// Remark reports whether the record is the PM's remark on a running unit that changes no
// state, such as a heartbeat. The machine decides which records are.
func (r *Record) Remark() bool {
	to, ok := Machine().Next(string(r.State), string(r.Event))
	return ok && to == string(r.State) && len(reasons[r.Event][PM]) > 0
}

// next is the state that an event leads to from a record; nil stands for no
// record yet.
func next(prev *Record, e Event) (State, bool) {
	if prev == nil {
		return State(Machine().Start), e.opens()
	}
	to, ok := Machine().Next(string(prev.State), string(e))
	return State(to), ok
}
