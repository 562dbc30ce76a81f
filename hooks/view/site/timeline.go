package site

import (
	"fmt"
	"strings"
	"time"
)

// The limits and sizes of a timeline.
const (
	maxLanes  = 24 // units of a timeline; the newest are shown
	maxSpells = 400
	laneHigh  = 34
	spellHigh = 12
)

// A timeline shows units over time: one lane per unit, one bar per spell in a state.
type timeline struct {
	Wide, High int
	Base       float64
	Lanes      []track
	Ticks      []mark
	Omitted    int
	From, To   time.Time
	Words      string
}

type track struct {
	Name   string
	Y      float64 // of its name
	Spells []spell
}

// A spell is the time that a unit was in one state. Kind is how it is drawn: work, wait or over. These
// differ in height and outline, so that a reader does not need to see colour.
type spell struct {
	State, Kind string
	From, To    time.Time
	X, Y, W, H  float64
}

// newTimeline draws tracks. The caller sets only names and the spells' states and times.
func newTimeline(tracks []track) *timeline {
	t := &timeline{Wide: curveWide, Omitted: max(0, len(tracks)-maxLanes)}
	tracks = tracks[t.Omitted:]
	for _, lane := range tracks {
		for _, s := range lane.Spells {
			if t.From.IsZero() || s.From.Before(t.From) {
				t.From = s.From
			}
			if s.To.After(t.To) {
				t.To = s.To
			}
		}
	}
	if t.From.IsZero() {
		return nil
	}
	whole := max(t.To.Sub(t.From), time.Second)
	x := func(at time.Time) float64 {
		return round(8 + (curveWide-16)*float64(at.Sub(t.From))/float64(whole))
	}
	for i, lane := range tracks {
		y := float64(8 + i*laneHigh)
		drawn := track{Name: lane.Name, Y: y + 10}
		for _, s := range lane.Spells[max(0, len(lane.Spells)-maxSpells):] {
			s.X, s.H, s.Y = x(s.From), spellHigh, y+16
			s.W = max(2, round(x(s.To)-s.X))
			if s.Kind != "work" {
				s.H, s.Y = spellHigh/2, y+16+spellHigh/4
			}
			drawn.Spells = append(drawn.Spells, s)
		}
		t.Lanes = append(t.Lanes, drawn)
	}
	t.Base = float64(8 + len(t.Lanes)*laneHigh)
	t.High = int(t.Base) + 24
	t.Ticks = []mark{{X: 8, Label: stamp(t.From, t.To)}, {X: curveWide - 8, Label: stamp(t.To, t.From)}}
	t.Words = fmt.Sprintf("%d units of work from %s to %s.", len(t.Lanes), moment(t.From), moment(t.To))
	return t
}

// stamp formats a time for the axis, without the day if both ends are on the same day.
func stamp(at, other time.Time) string {
	if at.Format(time.DateOnly) == other.Format(time.DateOnly) {
		return at.UTC().Format("15:04:05")
	}
	return at.UTC().Format("2 Jan 15:04")
}

// moment formats a time for a page, with the zone, because a reader may be in another one.
func moment(at time.Time) string {
	if at.IsZero() {
		return "unknown"
	}
	return at.UTC().Format("2006-01-02 15:04 UTC")
}

// path joins letters and numbers to an SVG path.
func path(parts ...any) string {
	words := make([]string, len(parts))
	for i, p := range parts {
		if f, ok := p.(float64); ok {
			words[i] = fmt.Sprintf("%g", round(f))
			continue
		}
		words[i] = fmt.Sprint(p)
	}
	return strings.Join(words, " ")
}
