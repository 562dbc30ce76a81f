// Package schedule decides which directive is worked on by whom (ONE-1), and when a unit is
// gone on with: pure functions of what refs say, of the places where somebody can work, and of
// a time. A launcher asks it of all its places, an agent without a launcher of the one that it
// is, and either of a unit. Nothing else decides.
package schedule

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// State is the input of a decision.
type State struct {
	Rules
	Directives []Directive
	Slots      []Slot
	Running    []Running
	// Held are the directives that somebody else has, or nobody may have until a person has
	// looked, with the time when that ends by itself; the zero time is never.
	Held     map[string]time.Time
	Stopped  map[string]bool    // by a person, of this launch
	Backoffs map[string]Backoff // after bad ends
}

// Slot is a place where one worker can be.
type Slot struct {
	Number int
	Of     string // the machine, "" for the launcher's own
}

// Running is a worker that has its directive.
type Running struct {
	Directive string
	Slot      int
	Idle      time.Time // since when there is nothing to do on it; zero where there is
	Waits     bool      // it says itself that it only waits
}

// Backoff is the pause of a directive whose worker ended badly.
type Backoff struct {
	Until    time.Time
	Failures int  // bad ends in a row
	GivenUp  bool // it is not tried again
}

const (
	// Tries is how many bad ends in a row put a directive behind all others.
	Tries = 3
	// EndGrace is how much longer a worker may take to end than it has reason to stay.
	EndGrace = time.Minute
)

// Plan is the result of a decision.
type Plan struct {
	Start []Assignment
	End   []string  // directives whose workers are to end, because there is nothing to do on them
	Next  time.Time // when the clock alone may make it another one; zero for never
	Left  bool      // something is still to be done, or done again by itself
}

// Assignment is a directive with the slot that will work on it.
type Assignment struct {
	Directive string
	Slot      int
}

// Assign decides. A directive has one worker and a worker one directive; of those that can
// be worked on now the most urgent, and of those the oldest, is the first. Which bad ends put
// behind come after all others, so that they take no place that another one needs.
func Assign(s State) Plan {
	a := &assigning{State: s, at: map[string]*Running{}}
	for i := range s.Running {
		a.at[s.Running[i].Directive] = &s.Running[i]
	}
	ready := a.ready()
	free := a.free()
	n := min(len(ready), len(free))
	for i, d := range ready[:n] {
		a.plan.Start = append(a.plan.Start, Assignment{d.Name, free[i]})
	}
	a.ends(len(ready) - n)
	a.plan.Left = a.plan.Left || len(ready) > 0 || len(s.Running) > 0
	return a.plan
}

type assigning struct {
	State
	at   map[string]*Running
	plan Plan
}

// next notes when the clock may change the decision.
func (a *assigning) next(at time.Time) {
	if a.plan.Next.IsZero() || at.Before(a.plan.Next) {
		a.plan.Next = at
	}
}

// ready are the directives that somebody could begin now, in the order in which they are to be.
func (a *assigning) ready() (list []*Directive) {
	for i := range a.Directives {
		if d := &a.Directives[i]; a.at[d.Name] == nil && (a.Only == "" || a.Only == d.Name) && a.may(d) {
			list = append(list, d)
		}
	}
	slices.SortStableFunc(list, a.compare)
	return list
}

// may reports whether somebody could begin a directive now.
func (a *assigning) may(d *Directive) bool {
	rest := a.Backoffs[d.Name]
	due, at := a.Due(d)
	if due != Now && due != Later || a.Stopped[d.Name] || rest.GivenUp {
		return false
	}
	if until, held := a.Held[d.Name]; held {
		if until.IsZero() || until.After(a.Now) {
			if !until.IsZero() {
				a.next(until)
			}
			return false
		}
	}
	if rest.Until.After(at) {
		at = rest.Until
	}
	if !at.After(a.Now) {
		return true
	}
	a.next(at)
	a.plan.Left = a.plan.Left || due == Now || d.awaitsModel()
	return false
}

// compare orders the directives that can be begun.
func (a *assigning) compare(x, y *Directive) int {
	behind := func(d *Directive) int {
		if a.Backoffs[d.Name].Failures >= Tries {
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(behind(x), behind(y)), cmp.Compare(y.Priority, x.Priority), cmp.Compare(x.ID, y.ID))
}

// free are the free places in the order in which they are filled: the least loaded machine
// first.
func (a *assigning) free() (list []int) {
	works, slots := map[string]int{}, map[string][]int{} // by machine
	taken := map[int]bool{}
	for _, r := range a.Running {
		taken[r.Slot] = true
	}
	for _, s := range a.Slots {
		if taken[s.Number] {
			works[s.Of]++
		} else {
			slots[s.Of] = append(slots[s.Of], s.Number)
		}
	}
	var machines []string
	for of := range slots {
		slices.Sort(slots[of])
		machines = append(machines, of)
	}
	for len(machines) > 0 {
		of := slices.MinFunc(machines, func(x, y string) int {
			return cmp.Or(cmp.Compare(works[x], works[y]), strings.Compare(x, y))
		})
		list, slots[of] = append(list, slots[of][0]), slots[of][1:]
		works[of]++
		if len(slots[of]) == 0 {
			machines = slices.DeleteFunc(machines, func(m string) bool { return m == of })
		}
	}
	return list
}

// ends ends idle workers. If directives wait for a place, it ends as many of those that wait
// themselves, the longest first; and it ends any that has waited long enough.
func (a *assigning) ends(wanted int) {
	idle := slices.DeleteFunc(slices.Clone(a.Running), func(r Running) bool { return r.Idle.IsZero() })
	slices.SortStableFunc(idle, func(x, y Running) int {
		return cmp.Or(x.Idle.Compare(y.Idle), strings.Compare(x.Directive, y.Directive))
	})
	for _, r := range idle {
		end := r.Idle.Add(a.Linger + EndGrace)
		switch {
		case r.Waits && wanted > 0:
			wanted--
			fallthrough
		case !end.After(a.Now):
			a.plan.End = append(a.plan.End, r.Directive)
		default:
			a.next(end)
		}
	}
}
