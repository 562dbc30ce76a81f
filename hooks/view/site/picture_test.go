package site

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"git-ward/protocols/fsm"
	"git-ward/protocols/uow"

	"git-ward/hooks/view"
)

func num(v float64) *float64 { return &v }

// TestCurve: what is unknown interrupts the line, and is never zero; the table beside says
// the same as the picture.
func TestCurve(t *testing.T) {
	c := newCurve("r", "Residual", "Residual", []value{{X: 1, Y: num(4)}, {X: 2}, {X: 3, Y: num(2)}, {X: 4, Y: num(0)}})
	if len(c.Lines) != 2 || len(c.Dots) != 3 || len(c.Unknown) != 1 {
		t.Fatalf("%d lines, %d dots, %d unknown", len(c.Lines), len(c.Dots), len(c.Unknown))
	}
	if c.Dots[0].Y != top || c.Dots[2].Y != c.Base || c.Dots[1].Y != (top+c.Base)/2 {
		t.Errorf("4 of 4, 2 of 4 and 0 are at %v, %v and %v", c.Dots[0].Y, c.Dots[1].Y, c.Dots[2].Y)
	}
	var said []string
	for _, r := range c.Rows {
		said = append(said, fmt.Sprint(r.X, " ", r.Label))
	}
	if want := []string{"1 4", "2 unknown", "3 2", "4 0"}; !slices.Equal(said, want) {
		t.Errorf("the table says %q, want %q", said, want)
	}
	if want := "Residual from iteration 1 to 4: 4 at first, 0 at last."; c.Words != want {
		t.Errorf("%q, want %q", c.Words, want)
	}
	if newCurve("r", "", "", nil) != nil || newCurve("r", "", "", []value{{X: 1}, {X: 2}}) != nil {
		t.Error("a curve of nothing")
	}
}

// TestCurveOfAnything: whatever the numbers are, the picture stays in its frame.
func TestCurveOfAnything(t *testing.T) {
	for _, values := range [][]value{
		{{X: 1, Y: num(0)}}, {{X: 1, Y: num(-5)}, {X: 2, Y: num(3)}}, {{X: 1, Y: num(math.Inf(1))}, {X: 2, Y: num(math.NaN())}, {X: 3, Y: num(2)}},
		{{X: 1, Y: num(1e300)}, {X: 2, Y: num(1)}}, {{X: 1, Y: num(1e-9)}, {X: 2, Y: num(2e-9)}}, {{X: 1, Y: num(9.99e17)}}, slices.Repeat([]value{{X: 1, Y: num(1)}}, 100_000),
	} {
		c := newCurve("r", "R", "R", values)
		if len(c.Rows) > maxPoints || len(c.Levels) > 12 || len(c.Levels) < 2 || c.Omitted != max(0, len(values)-maxPoints) {
			t.Errorf("%d rows, %d levels, %d left out of %d", len(c.Rows), len(c.Levels), c.Omitted, len(values))
		}
		for _, m := range slices.Concat(c.Dots, c.Unknown, c.Levels) {
			if m.X < 0 || m.X > curveWide || m.Y < 0 || m.Y > curveHigh || math.IsNaN(m.Y) {
				t.Errorf("%v is outside the picture of %v", m, values[0])
			}
		}
	}
}

func TestNumber(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 0.125: "0.125", 3: "3", 1234: "1234", 12000: "12k", 99999: "100k", 1234567: "1.23M", 5e9: "5G"} {
		if got := number(v); got != want {
			t.Errorf("%g is %q, want %q", v, got, want)
		}
	}
}

// TestMachines: every machine has each of its states once, each transition in its table,
// and arrows that stay in the picture; what is marked is drawn last.
func TestMachines(t *testing.T) {
	for _, name := range fsm.Names() {
		m, _ := fsm.Embedded(name)
		p := newMachine(m, m.Start)
		if len(p.States) != len(m.States()) || len(p.Rows) != len(m.Transitions) || !p.States[0].Now {
			t.Errorf("%s: %d states, %d rows, marked: %v", name, len(p.States), len(p.Rows), p.States[0].Now)
		}
		drawn := 0
		for i, a := range p.Arrows {
			drawn += strings.Count(a.Words, ",") + 1
			var x, y float64
			for _, part := range strings.FieldsFunc(a.Path, func(r rune) bool { return strings.ContainsRune("MLQ", r) }) {
				if _, err := fmt.Sscan(part, &x, &y); err != nil || x < 0 || x > float64(p.Wide) || y < 0 || y > float64(p.High) {
					t.Errorf("%s: %s to %s leaves the picture: %s", name, a.From, a.To, a.Path)
				}
			}
			if i > 0 && p.Arrows[i-1].Now && !a.Now {
				t.Errorf("%s: a marked arrow lies below another", name)
			}
		}
		for _, s := range p.States {
			if s.Loops != "" {
				drawn += strings.Count(s.Loops, ",") + 1
			}
		}
		for _, a := range p.Anywhere {
			drawn += a.From
		}
		if drawn != len(m.Transitions) {
			t.Errorf("%s: %d transitions of %d are said", name, drawn, len(m.Transitions))
		}
	}
}

// TestTimeline: a spell lasts until the step that leaves its state.
func TestTimeline(t *testing.T) {
	steps := []view.Step{{Time: at(0), State: uow.Active}, {Time: at(10), State: uow.Active}, {Time: at(20), State: uow.PendingApproval}, {Time: at(40), State: uow.Archived}}
	line := newTimeline(tracks([]view.Unit{{ID: "D-1.1", State: uow.Archived, Steps: steps}}, at(90)))
	var got []string
	for _, s := range line.Lanes[0].Spells {
		got = append(got, fmt.Sprintf("%s %s %d", s.State, s.Kind, s.To.Sub(s.From)/time.Minute))
	}
	if want := []string{"ACTIVE work 20", "PENDING_PILOT_APPROVAL wait 20", "ARCHIVED over 0"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	open := newTimeline(tracks([]view.Unit{{ID: "D-1.1", State: uow.Active, Steps: steps[:1]}}, at(90)))
	if s := open.Lanes[0].Spells[0]; s.To != at(90) {
		t.Errorf("what goes on is drawn until %v", s.To)
	}
	if newTimeline(nil) != nil {
		t.Error("a timeline of nothing")
	}
	many := newTimeline(tracks(slices.Repeat([]view.Unit{{ID: "D-1.1", Steps: steps}}, 100), at(90)))
	if len(many.Lanes) != maxLanes || many.Omitted != 100-maxLanes {
		t.Errorf("%d lanes, %d left out", len(many.Lanes), many.Omitted)
	}
}
