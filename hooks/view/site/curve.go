package site

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The size of a curve's picture, in its own units. A width of 400 is readable on a phone.
const (
	curveWide, curveHigh = 400, 190
	left, right          = 48, 12 // margins; the left one holds the labels of the axis
	top, bottom          = 14, 30
	maxPoints            = 200 // of a curve; the newest are shown
)

// A value is one measurement of a curve.
type value struct {
	X     int // iteration
	Time  time.Time
	Y     *float64 // nil for unknown, which interrupts the line
	Label string
}

// A curve is a line over iterations, as a picture and as a table with the same values.
type curve struct {
	ID, Title, Unit string
	Wide, High      int
	Base            float64  // the y of the axis
	Lines           []string // SVG paths, one for each run of known values
	Dots, Unknown   []mark
	Levels, Steps   []mark // of the axes
	Rows            []row
	Omitted         int    // points before the first shown
	Words           string // the curve in one sentence
}

// A mark is a point in a picture with a label.
type mark struct {
	X, Y  float64
	Label string
}

// A row is one value in the table beside a curve.
type row struct {
	X     int
	Time  time.Time
	Label string
}

// newCurve draws values, oldest first; id names the curve within its page. It returns nil if no value
// is known.
func newCurve(id, title, unit string, values []value) *curve {
	if !slices.ContainsFunc(values, func(v value) bool { return known(v.Y) }) {
		return nil
	}
	c := &curve{ID: id, Title: title, Unit: unit, Wide: curveWide, High: curveHigh, Base: curveHigh - bottom, Omitted: max(0, len(values)-maxPoints)}
	values = values[c.Omitted:]
	highest, step := scale(values)
	for level := 0.0; level <= highest*(1+1e-9); level += step {
		c.Levels = append(c.Levels, mark{Y: c.height(level, highest), Label: number(level)})
	}
	across := func(i int) float64 {
		if len(values) == 1 {
			return (left + curveWide - right) / 2
		}
		return round(left + float64(i)*(curveWide-left-right-8)/float64(len(values)-1) + 4)
	}
	var path strings.Builder
	for i, v := range values {
		x, words := across(i), v.Label
		if !known(v.Y) {
			c.Unknown = append(c.Unknown, mark{x, c.Base, "unknown"})
			c.endLine(&path)
			words = "unknown"
		} else {
			y := c.height(*v.Y, highest)
			if words == "" {
				words = number(*v.Y)
			}
			c.Dots = append(c.Dots, mark{x, y, words})
			fmt.Fprintf(&path, "%s%g %g", map[bool]string{true: "M", false: " L"}[path.Len() == 0], x, y)
		}
		c.Rows = append(c.Rows, row{v.X, v.Time, words})
	}
	c.endLine(&path)
	for _, i := range spread(len(values)) {
		c.Steps = append(c.Steps, mark{X: across(i), Label: strconv.Itoa(values[i].X)})
	}
	c.Words = c.sentence()
	return c
}

func (c *curve) endLine(path *strings.Builder) {
	if path.Len() > 0 {
		c.Lines = append(c.Lines, path.String())
	}
	path.Reset()
}

// height returns the y of a value; a negative value is drawn on the axis.
func (c *curve) height(v, highest float64) float64 {
	return round(c.Base - max(0, v)/highest*(c.Base-top))
}

// sentence describes the curve for a screen reader.
func (c *curve) sentence() string {
	first, last := c.Rows[0], c.Rows[len(c.Rows)-1]
	if len(c.Rows) == 1 {
		return fmt.Sprintf("%s at iteration %d: %s.", c.Title, first.X, first.Label)
	}
	return fmt.Sprintf("%s from iteration %d to %d: %s at first, %s at last.", c.Title, first.X, last.X, first.Label, last.Label)
}

// known reports whether y is a number that a picture can show.
func known(y *float64) bool { return y != nil && !math.IsNaN(*y) && math.Abs(*y) < 1e18 }

// scale returns the end of the axis and the distance of its labels: 1, 2 or 5 times a power of ten,
// at most five of which make the axis.
func scale(values []value) (highest, step float64) {
	for _, v := range values {
		if known(v.Y) {
			highest = max(highest, *v.Y)
		}
	}
	if highest < 1e-12 {
		return 1, 1
	}
	step = math.Pow(10, math.Floor(math.Log10(highest/4)))
	for _, times := range []float64{1, 2, 5, 10} {
		if highest <= 4*step*times*(1+1e-9) {
			step *= times
			break
		}
	}
	return math.Ceil(highest/step-1e-9) * step, step
}

// spread picks at most six of n indexes, the first and the last among them.
func spread(n int) (list []int) {
	const most = 6
	if n <= most {
		for i := range n {
			list = append(list, i)
		}
		return list
	}
	for i := range most {
		list = append(list, i*(n-1)/(most-1))
	}
	return list
}

// number formats a value for an axis: 1200000 is 1.2M.
func number(v float64) string {
	for _, unit := range []struct {
		size float64
		name string
	}{{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e4, ""}} {
		if math.Abs(v) >= unit.size && unit.name != "" {
			return strconv.FormatFloat(v/unit.size, 'g', 3, 64) + unit.name
		}
	}
	if math.Abs(v) >= 1e4 {
		return strconv.FormatFloat(v/1e3, 'g', 3, 64) + "k"
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}

// round keeps the SVG short; a tenth of a unit is invisible.
func round(v float64) float64 { return math.Round(v*10) / 10 }
