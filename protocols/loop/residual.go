package loop

import (
	"errors"
	"strings"

	"git-ward/protocols/decimal"
)

// Residual is a distance to the goal, or a tolerance: an exact decimal, or null. In JSON it is
// a string or null; a JSON number is refused, because readers would turn it into a float
// (LOOP-2).
type Residual struct{ decimal.Decimal }

// ParseResidual reads what a residual command printed: one decimal, with blanks
// around it. Anything else is an error and null; null is never zero.
func ParseResidual(output string) (Residual, error) {
	d, err := decimal.Parse(strings.TrimSpace(output))
	return Residual{d}, err
}

// MarshalJSON writes the number exactly as it was read, as a string.
func (r Residual) MarshalJSON() ([]byte, error) {
	if r.IsNull() {
		return []byte("null"), nil
	}
	return []byte(`"` + r.Decimal.String() + `"`), nil // digits, points and e need no escape
}

// UnmarshalJSON reads a string or null.
func (r *Residual) UnmarshalJSON(data []byte) error {
	text := string(data)
	if text == "null" {
		*r = Residual{}
		return nil
	}
	inside, ok := strings.CutPrefix(text, `"`)
	inside, closed := strings.CutSuffix(inside, `"`)
	if !ok || !closed {
		return errors.New("a decimal is written as a string, or null when it is not known")
	}
	var err error
	r.Decimal, err = decimal.Parse(inside)
	return err
}

// Words is the residual for people.
func (r Residual) Words() string {
	if r.IsNull() {
		return "not known"
	}
	return r.Decimal.String()
}

// DivergenceWindow is how many residuals must grow for DIVERGED.
const DivergenceWindow = 3

// Diverges reports r[-3] < r[-2] < r[-1] (LOOP-1, 003 section 14). A null among
// them proves nothing.
func Diverges(history []Residual) bool {
	n := len(history)
	if n < DivergenceWindow {
		return false
	}
	for i := n - DivergenceWindow; i < n-1; i++ {
		if !history[i].Less(history[i+1].Decimal) {
			return false
		}
	}
	return true
}

// Direction is how the last residual stands to the one before it.
type Direction string

// The directions of 003, section 5.1; Unknown where one of the two is null.
const (
	Improving Direction = "IMPROVING"
	Stable    Direction = "STABLE"
	Worse     Direction = "DIVERGING"
	Unknown   Direction = "UNKNOWN"
)

// DirectionOf compares the last two residuals; a first one is stable.
func DirectionOf(history []Residual) Direction {
	n := len(history)
	switch {
	case n == 0 || history[n-1].IsNull():
		return Unknown
	case n == 1:
		return Stable
	case history[n-2].IsNull():
		return Unknown
	case history[n-1].Less(history[n-2].Decimal):
		return Improving
	case history[n-2].Less(history[n-1].Decimal):
		return Worse
	}
	return Stable
}

// Best is the index of the smallest known residual, the newest of equals; -1 when
// none is known.
func Best(history []Residual) int {
	best := -1
	for i, r := range history {
		if !r.IsNull() && (best < 0 || !history[best].Less(r.Decimal)) {
			best = i
		}
	}
	return best
}

// words are residuals as a list for people.
func words(history []Residual) string {
	var list []string
	for _, h := range history {
		list = append(list, h.Words())
	}
	return strings.Join(list, ", ")
}

// Residuals is the report's residual history for people, "" before the first iteration.
func (r Report) Residuals() string { return words(r.History) }
