package site

import (
	"fmt"
	"slices"
	"time"

	"git-ward/hooks/view"
	"git-ward/internal/diag"
	"git-ward/protocols/review"
	"git-ward/protocols/uow"
)

// The limits of the lists on a directive's page.
const (
	maxUnits   = 100
	maxReports = 50
)

// directive is the data of a directive's page.
type directive struct {
	Name         string
	Title        diag.Untrusted
	Chip         chip
	Waits, Quote string   // what it waits for, and the agent's words about that
	Commands     []string // by which it continues
	Review       string   // link to the page of its work; "" for none
	Live         []event
	Spent        []fact
	Curves       []*curve
	Timeline     *timeline
	Text         long
	Questions    []entry
	Units        []unitLine
	Reports      []entry
}

// An entry is a report or a question by the agent.
type entry struct {
	Name, Words string
	Time        time.Time
	Text        long
}

type unitLine struct{ Name, Href, Words, Facts string }

// newDirective makes the data of a directive's page; now is the time at which d was read.
func newDirective(d *view.Directive, l links, now time.Time) directive {
	p := directive{Name: d.Directive, Title: d.Title, Chip: chipOfLine(d.Line), Waits: d.WaitsWords, Text: newLong("text", d.Text), Spent: costFacts(d.Spent.Cost())}
	if len(d.Waiting) > 0 {
		w := d.Waiting[0]
		p.Waits, p.Quote = sentence(w.What), quoteOf(w.Words)
		for _, c := range []string{w.Command, w.Or} {
			if c != "" {
				p.Commands = append(p.Commands, c)
			}
		}
	}
	if d.Reviewable {
		p.Review = l.Review(d.Directive)
	}
	p.Curves = curves(d.Units, d.Residuals)
	p.Timeline = newTimeline(tracks(d.Units, now))
	if n := len(d.Units); n > 0 && l.Live && d.State == review.Working {
		p.Live = newEvents(d.Units[n-1].Live)
	}
	for _, u := range newest(d.Units, maxUnits) {
		p.Units = append(p.Units, unitLine{u.ID, l.Unit(u.ID), u.Words, unitFacts(u)})
	}
	for i, r := range newest(d.Reports, maxReports) {
		p.Reports = append(p.Reports, entry{r.Name, r.Words, r.Time, newLong(fmt.Sprintf("report-%d", i), r.Text)})
	}
	for i, q := range newest(d.Questions, maxReports) {
		p.Questions = append(p.Questions, entry{q.Name, "", q.Time, newLong(fmt.Sprintf("question-%d", i), q.Text)})
	}
	return p
}

// newest returns the last n elements of a list, the newest first.
func newest[T any](list []T, n int) []T {
	list = slices.Clone(list[max(0, len(list)-n):])
	slices.Reverse(list)
	return list
}

// costFacts returns the cost in the words of the review.
func costFacts(c review.Cost) (facts []fact) {
	for _, line := range c.Lines() {
		facts = append(facts, fact(line))
	}
	return facts
}

// curves draws a directive's residuals and cost over the iterations of its units.
func curves(units []view.Unit, residuals []view.Point) (list []*curve) {
	var costs []view.Point
	for _, u := range units {
		costs = append(costs, u.Costs...)
	}
	return pointCurves(residuals, costs)
}

func pointCurves(residuals, costs []view.Point) (list []*curve) {
	for _, c := range []*curve{
		newCurve("residual", "Residual: how far it is from its goal", "Residual", values(residuals)),
		newCurve("cost", "Tokens by iteration, as the agent counted them", "Tokens", values(costs)),
	} {
		if c != nil {
			list = append(list, c)
		}
	}
	return list
}

func values(points []view.Point) (list []value) {
	for _, p := range points {
		list = append(list, value(p))
	}
	return list
}

// tracks converts units for a timeline. A spell lasts from the step that enters a state to the next
// such step; the last spell of a unit that has not ended lasts until now.
func tracks(units []view.Unit, now time.Time) (list []track) {
	for _, u := range units {
		t := track{Name: u.ID}
		for i, s := range u.Steps {
			if n := len(t.Spells); n > 0 {
				t.Spells[n-1].To = s.Time
				if t.Spells[n-1].State == string(s.State) {
					continue
				}
			}
			t.Spells = append(t.Spells, spell{State: string(s.State), Kind: kindOf(s.State), From: s.Time, To: u.Steps[min(i+1, len(u.Steps)-1)].Time})
		}
		if n := len(t.Spells); n > 0 && !u.State.Ended() && now.After(t.Spells[n-1].To) {
			t.Spells[n-1].To = now
		}
		list = append(list, t)
	}
	return list
}

// kindOf returns how a spell in a unit's state is drawn.
func kindOf(state uow.State) string {
	switch {
	case state == uow.Active:
		return "work"
	case state.Ended() || state == uow.Completed || state == uow.Failed || state == uow.Refinement:
		return "over"
	}
	return "wait"
}

func unitFacts(u view.Unit) string {
	if len(u.Steps) == 0 {
		return ""
	}
	return fmt.Sprintf("%s, from %s to %s", diag.Count(u.Iteration, "iteration"), moment(u.Begun), moment(u.Updated))
}
