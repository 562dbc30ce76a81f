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
	State    comms.State
	Hash     string
	Waits    []string // what it comes after, and is not closed
	Dropped  bool
	Gone     bool // it is not listed, and has a unit
	Unit     Unit
}

// Unit is what a journal says.
type Unit struct {
	Last   *uow.Record // nil where there is no unit, or where it is broken
	Broken bool        // the newest record cannot be read
	Midway bool        // an iteration has begun, and has not ended
	Forked bool        // the PM opened it on a text that a unit before had
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
	case u.DirectiveHash != d.Hash:
		if u.State == uow.Paused {
			return Word, time.Time{}
		}
		return Now, r.Now
	}
	return r.unit(u)
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

// unit says when there is something to do on the unit of a directive's present text.
func (r *Rules) unit(u *uow.Record) (Due, time.Time) {
	switch u.State {
	case uow.Active:
		if !u.PulseDue() {
			return Now, r.Now
		}
	case uow.Pending, uow.Completed, uow.Failed, uow.Refinement:
		return Now, r.Now
	case uow.Archived:
		return Over, time.Time{}
	case uow.ZombiedSoft:
		return r.blocked(u)
	}
	return Word, time.Time{}
}

// blocked says when a unit is tried again that something stopped.
func (r *Rules) blocked(u *uow.Record) (Due, time.Time) {
	switch {
	case u.ReasonCode.Free() && r.Stop, !u.ReasonCode.Passes(), u.ReasonCode == uow.TransientFailure && u.RetriesSpent():
		return Word, time.Time{}
	case u.ReasonCode.Free(), u.RetriesSpent(): // who works ends a unit whose retries are spent
		return Now, r.Now
	}
	at, err := time.Parse(time.RFC3339, u.Time)
	if err != nil {
		return Now, r.Now
	}
	// A record that another clock dated ahead of this one waits for its pause, and no more.
	pause := u.RetryAfter(r.Retry, r.Poll)
	if at = at.Add(pause); at.After(r.Now.Add(pause)) {
		at = r.Now.Add(pause)
	}
	if !at.After(r.Now) {
		return Now, r.Now
	}
	return Later, at
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
