package loop

import (
	"errors"
	"strings"

	"git-ward/protocols/decimal"
)

// Residual is a distance to the goal, or a tolerance: an exact decimal, or null for unknown. In JSON
// it is a string or null; a JSON number is refused, because readers would round it to a float
// (LOOP-2).
type Residual struct{ decimal.Decimal }

// ParseResidual parses a residual command's output: one decimal, with optional white space around
// it. Anything else is an error, and the residual is null, which is never zero.
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

// DivergenceWindow is how many consecutive residuals, each above the one before, mean DIVERGED.
const DivergenceWindow = 3

// Diverges reports whether r[-3] < r[-2] < r[-1] (LOOP-1; 003, section 14). It is false if one of
// them is null.
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

// Direction is the result of comparing the last residual with the one before it.
type Direction string

// The directions of 003, section 5.1; Unknown if one of the two is null.
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

// Best returns the index of the smallest known residual, the newest of equal ones, or -1 if none is
// known.
func Best(history []Residual) int {
	best := -1
	for i, r := range history {
		if !r.IsNull() && (best < 0 || !history[best].Less(r.Decimal)) {
			best = i
		}
	}
	return best
}

// words joins residuals with commas for people.
func words(history []Residual) string {
	var list []string
	for _, h := range history {
		list = append(list, h.Words())
	}
	return strings.Join(list, ", ")
}

// Residuals is the report's residual history for people, "" before the first iteration.
func (r Report) Residuals() string { return words(r.History) }
