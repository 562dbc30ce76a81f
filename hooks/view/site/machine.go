package site

import (
	"slices"
	"strings"

	"git-ward/protocols/fsm"
)

// The layout of a machine's picture: states in a column, forward arrows on the right and backward
// arrows on the left, each in a lane of its own. It fits on a phone.
const (
	stateHigh, stateGap = 30, 18
	stateLeft, stateTop = 92, 22
	stateWide           = 216
	lane                = 11
	// If more than this many states lead to a target on one event, the arrows are replaced by
	// words, because ten arrows into one box are unreadable.
	common = 4
)

// A machine is a state machine as a picture with the present state marked, and as a table with the
// same transitions.
type machine struct {
	Name       string
	Wide, High int
	States     []state
	Arrows     []arrow
	Anywhere   []anywhere // transitions from many states, which are not drawn
	Rows       []fsm.Transition
	Now        string // the marked state, "" for none
}

type state struct {
	Name       string
	X, Y       float64 // its upper left corner
	W, H       float64
	TX, TY     float64 // the middle of its text
	Start, End bool
	Now        bool
	Loops      string // events that do not change the state
}

type arrow struct {
	Path, Head string // SVG path and polygon
	Words      string
	From, To   string
	Now        bool // it starts at the marked state
}

// anywhere says that an event leads to one state from many.
type anywhere struct {
	On, To string
	From   int // states
}

// newMachine computes the layout; now is the state to mark.
func newMachine(m *fsm.Machine, now string) *machine {
	p := &machine{Name: m.Name, Wide: 400, Rows: m.Transitions, Now: now}
	place := map[string]int{}
	for i, name := range m.States() {
		place[name] = i
		y := float64(stateTop + i*(stateHigh+stateGap))
		p.States = append(p.States, state{Name: name, X: stateLeft, Y: y, W: stateWide, H: stateHigh, TX: stateLeft + stateWide/2, TY: y + 20,
			Start: name == m.Start, End: m.Accepts(name), Now: name == now, Loops: loops(m, name)})
	}
	p.High = stateTop + len(p.States)*(stateHigh+stateGap)
	p.Anywhere = often(m)
	var lanes [2][]span // right, left
	for _, a := range between(m, p.Anywhere, place) {
		from, to := place[a.From], place[a.To]
		side := 0
		if to < from {
			side = 1
		}
		a.Now = a.From == now
		a.draw(from, to, &lanes[side])
		p.Arrows = append(p.Arrows, a)
	}
	slices.SortStableFunc(p.Arrows, func(a, b arrow) int { return rank(a) - rank(b) })
	return p
}

// rank draws the marked arrows last, on top of the others.
func rank(a arrow) int {
	if a.Now {
		return 1
	}
	return 0
}

func loops(m *fsm.Machine, name string) string {
	var on []string
	for _, t := range m.Transitions {
		if t.From == name && t.To == name {
			on = append(on, t.On)
		}
	}
	return strings.Join(on, ", ")
}

// often lists the events that lead to one state from more than common states.
func often(m *fsm.Machine) (list []anywhere) {
	count := map[[2]string]int{}
	for _, t := range m.Transitions {
		key := [2]string{t.On, t.To}
		if count[key]++; count[key] == common+1 {
			list = append(list, anywhere{On: t.On, To: t.To})
		}
	}
	for i := range list {
		list[i].From = count[[2]string{list[i].On, list[i].To}]
	}
	return list
}

// between lists the arrows, one for each pair of states with all its events, without those in but;
// place maps each state to its row.
func between(m *fsm.Machine, but []anywhere, place map[string]int) (list []arrow) {
	for _, t := range m.Transitions {
		if t.From == t.To || slices.ContainsFunc(but, func(a anywhere) bool { return a.On == t.On && a.To == t.To }) {
			continue
		}
		i := slices.IndexFunc(list, func(a arrow) bool { return a.From == t.From && a.To == t.To })
		if i < 0 {
			list = append(list, arrow{From: t.From, To: t.To, Words: t.On})
			continue
		}
		list[i].Words += ", " + t.On
	}
	// Short arrows come first, so that they get the lanes next to the states.
	slices.SortStableFunc(list, func(a, b arrow) int { return distance(place, a) - distance(place, b) })
	return list
}

func distance(place map[string]int, a arrow) int {
	d := place[a.From] - place[a.To]
	return max(d, -d)
}

// A span is the range of rows that an arrow passes in its lane.
type span struct{ from, to, lane int }

// draw puts an arrow into the first free lane on its side.
func (a *arrow) draw(from, to int, lanes *[]span) {
	s := span{min(from, to), max(from, to), 0}
	for slices.ContainsFunc(*lanes, func(o span) bool { return o.lane == s.lane && o.from < s.to && s.from < o.to }) {
		s.lane++
	}
	*lanes = append(*lanes, s)
	const most = 7 // lanes that the margin has room for
	edge, out := float64(stateLeft+stateWide), 1.0
	if to < from {
		edge, out = stateLeft, -1
	}
	x := edge + out*float64(12+min(s.lane, most-1)*lane)
	y := func(i int, share float64) float64 {
		return float64(stateTop+i*(stateHigh+stateGap)) + share*stateHigh
	}
	// Downward arrows leave a box below its middle and arrive above the middle, upward arrows the
	// reverse, so that they do not overlap.
	leave, arrive := 0.72, 0.28
	if to < from {
		leave, arrive = 0.28, 0.72
	}
	y1, y2 := y(from, leave), y(to, arrive)
	turn := 6.0 // the radius of a corner
	if y2 < y1 {
		turn = -6
	}
	tip := edge + out*6
	a.Path = path("M", edge, y1, "L", x-out*6, y1, "Q", x, y1, x, y1+turn, "L", x, y2-turn, "Q", x, y2, x-out*6, y2, "L", tip, y2)
	a.Head = path("M", edge, y2, "L", edge+out*7, y2-3.5, "L", edge+out*7, y2+3.5, "Z")
}
