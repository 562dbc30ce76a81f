package schedule

import (
	"time"

	"git-ward/protocols/comms"
	"git-ward/protocols/uow"
)

// Rules has the settings and the launch's rules for all directives.
type Rules struct {
	Now    time.Time
	Only   string        // the only directive to work on; "" is any
	Loop   bool          // [agent] loop: directives have units
	Retry  time.Duration // [agent] retry_pause
	Poll   time.Duration // [agent] poll
	Linger time.Duration // [launch] linger
	Stop   bool          // scratch/STOP is on the control branch
	Spent  bool          // the launch's time is over

	seen time.Time // Unit.Seen of the unit at hand
}

// Directive is one directive with its newest unit, by the refs.
type Directive struct {
	Name     string
	ID       int
	Priority int
	comms.Said
	Gone bool // it is not listed, and has a unit
	Unit Unit
}

// Unit is a unit's state by its journal.
type Unit struct {
	Last   *uow.Record // nil where there is no unit, or where it is broken
	Broken bool        // the newest record cannot be read
	Midway bool        // an iteration has begun, and has not ended
	Forked bool        // the PM opened it on a text that a unit before had
	Stop   bool        // scratch/STOP stopped it, and is on its branch
	Seen   time.Time   // when the newest record was first read, by the reader's clock; zero where that has none
}

// Due says whether there is something to do on a directive.
type Due int

// The kinds of things to do.
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
	case d.Gone: // the agent archives its unit
		if r.Loop && u != nil && u.State != uow.Archived && u.State != uow.Breached {
			return Now, r.Now
		}
		return Over, time.Time{}
	case d.State == comms.Closed && !r.leftOf(d):
		return Over, time.Time{}
	case len(d.Waits) > 0, r.Spent && !r.begun(d):
		return Word, time.Time{}
	case d.Unit.Broken: // the worker reports it, and ends it
		return Now, r.Now
	case d.State == comms.Suspended && (!r.Loop || u == nil):
		return Word, time.Time{}
	case !r.Loop || u == nil:
		return Now, r.Now
	}
	on := *r
	on.Stop, on.seen = r.Stop || d.Unit.Stop, d.Unit.Seen
	due, at, _ := on.Resume(u, d.Hash)
	return due, at
}

// leftOf reports whether a closed directive has a unit of its text that is not put away: one
// that the PM forked since, or one whose agent was killed before its last steps.
func (r *Rules) leftOf(d *Directive) bool {
	u := d.Unit.Last
	return r.Loop && u != nil && !d.Dropped && u.DirectiveHash == d.Hash && u.State != uow.Archived && (d.Unit.Forked || u.State.Ended())
}

// begun reports whether a directive's work was begun and has to be ended although the launch's
// time is over. Any other loses nothing, because the next launch has time of its own; one that
// the PM made ACTIVE again after its last step would be ended at once.
func (r *Rules) begun(d *Directive) bool {
	u := d.Unit.Last
	return r.Loop && u != nil && u.DirectiveHash == d.Hash && (u.State.Ended() || u.State == uow.Active && d.Unit.Midway)
}

// Resume says when a unit is gone on with on a text of its directive, and by what step of who
// works on it: a launcher starts nobody before, and who is started takes no other step. It adds the
// clock to where the unit stands.
func (r *Rules) Resume(u *uow.Record, hash string) (due Due, at time.Time, by uow.Input) {
	edited := u.DirectiveHash != hash
	switch at := u.Stand(edited, r.Stop); at.When {
	case uow.AtOnce:
		return Now, r.Now, at.By
	case uow.Later:
		due, until := r.after(u)
		return due, until, at.By
	case uow.Never:
		if edited { // the next one begins
			return Now, r.Now, uow.Input{}
		}
		return Over, time.Time{}, uow.Input{}
	}
	return Word, time.Time{}, uow.Input{}
}

// after is when the pause of a unit is over. A record that is ahead of this clock by more than its
// pause was dated by one that is wrong, or put back since: to wait until it is past would be to wait
// for the whole jump. Then the pause begins when the record was first read. Where that is ahead, too,
// or not known, there is none: this clock was put back, and the next record is dated anew.
func (r *Rules) after(u *uow.Record) (Due, time.Time) {
	pause := u.RetryAfter(r.Retry, r.Poll)
	dated, _ := time.Parse(time.RFC3339, u.Time)
	for _, began := range []time.Time{dated, r.seen} {
		switch ahead := began.Sub(r.Now); {
		case began.IsZero(), ahead > pause:
			continue
		case ahead+pause > 0:
			return Later, began.Add(pause)
		}
		return Now, r.Now
	}
	return Now, r.Now
}

// Outage is the time of the next retry of a unit whose model did not answer; zero for none.
func (r *Rules) Outage(list []Directive) (first time.Time) {
	for i := range list {
		d := &list[i]
		if due, at := r.Due(d); due == Later && d.awaitsModel() && (r.Only == "" || r.Only == d.Name) && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	return first
}

// awaitsModel reports whether a directive's unit waits for a service that is out, or for another
// try of a program that was killed: a launch that is to end by itself waits for that, too.
func (d *Directive) awaitsModel() bool {
	return d.Unit.Last != nil && (d.Unit.Last.ReasonCode == uow.TransientFailure || d.Unit.Last.ReasonCode == uow.ProgramKilled)
}
