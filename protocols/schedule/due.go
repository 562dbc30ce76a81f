package schedule

import (
	"time"

	"git-ward/protocols/comms"
	"git-ward/protocols/uow"
)

// Rules are what settings and the launch say of all directives.
type Rules struct {
	Now    time.Time
	Only   string        // the only directive to work on; "" is any
	Loop   bool          // [agent] loop: directives have units
	Retry  time.Duration // [agent] retry_pause
	Poll   time.Duration // [agent] poll
	Linger time.Duration // [launch] linger
	Stop   bool          // scratch/STOP is on the control branch
	Spent  bool          // the launch's time is over
}

// Directive is what refs say of one, and of the newest of its units.
type Directive struct {
	Name     string
	ID       int
	Priority int
	comms.Said
	Gone bool // it is not listed, and has a unit
	Unit Unit
}

// Unit is what a journal says.
type Unit struct {
	Last   *uow.Record // nil where there is no unit, or where it is broken
	Broken bool        // the newest record cannot be read
	Midway bool        // an iteration has begun, and has not ended
	Forked bool        // the PM opened it on a text that a unit before had
	Stop   bool        // scratch/STOP stopped it, and is on its branch
}

// Due is whether there is something to do on a directive.
type Due int

// What there may be to do.
const (
	Now   Due = iota
	Later     // by the clock
	Word      // when somebody says something, and a ref moves
	Over      // nothing is left
)

// Due says whether there is something to do on a directive, and when.
func (r *Rules) Due(d *Directive) (Due, time.Time) {
	u := d.Unit.Last
	switch {
	case d.Gone: // the agent puts its unit away
		if r.Loop && u != nil && u.State != uow.Archived && u.State != uow.Breached {
			return Now, r.Now
		}
		return Over, time.Time{}
	case d.State == comms.Closed && !r.leftOf(d):
		return Over, time.Time{}
	case len(d.Waits) > 0, r.Spent && !r.begun(d):
		return Word, time.Time{}
	case d.Unit.Broken: // who works says so, and ends it
		return Now, r.Now
	case d.State == comms.Suspended && (!r.Loop || u == nil):
		return Word, time.Time{}
	case !r.Loop || u == nil:
		return Now, r.Now
	}
	on := *r
	on.Stop = r.Stop || d.Unit.Stop
	due, at, _ := on.Resume(u, d.Hash)
	return due, at
}

// leftOf reports whether a closed directive has a unit of its text that is not put away: one
// that the PM forked since, or one whose agent was killed before its last steps.
func (r *Rules) leftOf(d *Directive) bool {
	u := d.Unit.Last
	return r.Loop && u != nil && !d.Dropped && u.DirectiveHash == d.Hash && u.State != uow.Archived && (d.Unit.Forked || u.State.Ended())
}

// begun reports whether a directive's work was begun and has to come to its end, though the
// launch's time is over. Of any other nothing is lost, and the next launch has time of its
// own; one that the PM made ACTIVE again after its last step would be ended at once.
func (r *Rules) begun(d *Directive) bool {
	u := d.Unit.Last
	return r.Loop && u != nil && u.DirectiveHash == d.Hash && (u.State.Ended() || u.State == uow.Active && d.Unit.Midway)
}

// Resume says when a unit is gone on with on a text of its directive, and by what step of who
// works on it: one without an event where none is needed first. It is the only answer to that:
// a launcher starts nobody before, and who is started takes no other step.
func (r *Rules) Resume(u *uow.Record, hash string) (due Due, at time.Time, by uow.Input) {
	now := func(by uow.Input) (Due, time.Time, uow.Input) { return Now, r.Now, by }
	switch edited := u.DirectiveHash != hash; {
	case u.State == uow.Paused, u.State == uow.Active && !edited && u.PulseDue():
	case u.State == uow.Pending:
		return now(Started)
	case u.State == uow.PendingApproval && edited:
		return now(uow.Input{Event: uow.Approve, Reason: uow.DirectiveEdited})
	case u.State == uow.ZombiedSoft && edited:
		return now(uow.Input{Event: uow.Clarify, Reason: uow.DirectiveEdited, Note: "the directive was edited"})
	case u.State == uow.ZombiedSoft:
		return r.blocked(u)
	case edited, u.State == uow.Active, u.State == uow.Completed, u.State == uow.Failed, u.State == uow.Refinement:
		return now(uow.Input{})
	case u.State == uow.Archived:
		return Over, at, by
	}
	return Word, at, by
}

// Started is the step to work of a unit that waits for nobody.
var Started = uow.Input{Event: uow.Activate, Reason: "WORK_STARTED"}

// blocked is Resume of a unit that something stopped: one that failed for a passing reason goes
// on a bounded number of times, one that scratch/STOP stopped when that is nowhere any more. One
// that was left is taken up with scratch/STOP there, too: who works on it says that it stops it.
func (r *Rules) blocked(u *uow.Record) (due Due, at time.Time, by uow.Input) {
	reason, spent := u.ReasonCode, u.RetriesSpent()
	switch {
	case reason == uow.Stopped && r.Stop, !reason.Passes(), reason == uow.TransientFailure && spent:
		return Word, at, by
	case reason.Free():
		return Now, r.Now, uow.Input{Event: uow.Retry, Reason: uow.CauseGone}
	case spent:
		return Now, r.Now, uow.Input{Event: uow.Exhaust, Reason: "RETRIES_SPENT"}
	}
	by = uow.Input{Event: uow.Retry, Reason: "RETRY_POLICY"}
	at, err := time.Parse(time.RFC3339, u.Time)
	if err != nil {
		return Now, r.Now, by
	}
	// A record that is ahead of this clock by more than its pause was dated by one that was wrong, or
	// put back since: nobody knows how long ago it was, and to wait until it is past would be to wait
	// for the whole jump. The next one is dated anew.
	pause := u.RetryAfter(r.Retry, r.Poll)
	if ahead := at.Sub(r.Now); ahead > pause || ahead+pause <= 0 {
		return Now, r.Now, by
	}
	return Later, at.Add(pause), by
}

// Outage is when the first unit is tried again whose model did not answer; zero for none.
func (r *Rules) Outage(list []Directive) (first time.Time) {
	for i := range list {
		d := &list[i]
		if due, at := r.Due(d); due == Later && d.awaitsModel() && (r.Only == "" || r.Only == d.Name) && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	return first
}

// awaitsModel reports whether a directive's unit waits for a service that is out: a launch
// that is to end by itself waits for that, too.
func (d *Directive) awaitsModel() bool {
	return d.Unit.Last != nil && d.Unit.Last.ReasonCode == uow.TransientFailure
}
