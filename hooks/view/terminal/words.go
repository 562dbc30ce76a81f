package terminal

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"git-ward/hooks/view"
	"git-ward/internal/diag"
	"git-ward/internal/live"
	"git-ward/internal/pattern"
)

// eventWords returns the first word of an event's line, and its role. Colour alone never shows a state.
func eventWords(e live.Event) (word string, r Role) {
	switch e.Kind {
	case live.Told:
		return "told", Faint
	case live.Said:
		return "says", Plain
	case live.Called:
		return "runs", Typed
	case live.Answered:
		return "got", Faint
	case live.Failed:
		return "FAILED", Bad
	case live.Step:
		return "step", Plain
	case live.State:
		return "enters", Title
	case live.Verdict:
		return "verdict", Title
	case live.Gateway:
		return "gateway", Faint
	case live.Ended:
		return "ended", Title
	case live.LeftOut:
		return "left out", Bad
	case live.Tokens:
		return "tokens", Faint
	}
	return "lives", Faint
}

// eventText returns the rest of an event's line.
func eventText(e live.Event) string {
	text := e.Text
	switch e.Kind {
	case live.Called:
		text = argumentWords(text)
	case live.State:
		text = stateWords(text)
	}
	if e.Input > 0 || e.Output > 0 {
		text = strings.TrimSpace(fmt.Sprintf("%s %s tokens in, %s out", text, diag.Number(e.Input), diag.Number(e.Output)))
	}
	if e.Money != "" {
		text += ", money " + e.Money
	}
	if e.Tool != "" {
		text = e.Tool + ": " + text
	}
	return strings.TrimRight(strings.TrimSuffix(text, ": "), "\n")
}

// argumentWords formats a tool's arguments for people: a single one as its value, several with their names. A
// text that is no JSON object, such as one that was cut, stays as it is.
func argumentWords(text string) string {
	var args map[string]any
	if !strings.HasPrefix(text, "{") || json.Unmarshal([]byte(text), &args) != nil || len(args) == 0 {
		return text
	}
	const long = 200 // bytes of one of several
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(args)) {
		value, ok := args[name].(string)
		if !ok {
			data, err := json.Marshal(args[name])
			if err != nil {
				return text
			}
			value = string(data)
		}
		if len(args) == 1 {
			return value
		}
		short := diag.Cut(foreign(value), long)
		if name == "path" || name == "file_path" || name == "command" { // what it is about comes first
			parts = append([]string{short}, parts...)
			continue
		}
		parts = append(parts, name+": "+short)
	}
	return strings.Join(parts, "; ")
}

// stateName matches the name of a machine's state.
var stateName = pattern.New(`\b[A-Z]+(?:_[A-Z]+)*\b`)

// stateWords writes the states in a text's first line in lower case and without underscores, because people
// read words; the journal has the names.
func stateWords(text string) string {
	first, rest, _ := strings.Cut(text, "\n")
	first = stateName.ReplaceAllStringFunc(first, func(name string) string {
		return strings.ToLower(strings.ReplaceAll(name, "_", " "))
	})
	return strings.TrimRight(first+"\n"+rest, "\n")
}

// hostWords says what runs.
func hostWords(s Scene) string {
	h := s.Over.Host
	switch {
	case h == nil:
		return "a clone, as fetched"
	case !h.MayAsk:
		return "you are not allowed to see what runs"
	case !h.Running:
		return "nothing runs"
	}
	words := "the launcher runs"
	if h.Up {
		words = "an agent runs"
	}
	if h.PID > 0 {
		words += fmt.Sprintf(", process %d", h.PID)
	}
	return words
}

// curve shows the residuals as numbers and, if there are several, as bars.
func curve(points []view.Point, g glyphs) string {
	const shown = 12 // the newest
	points = points[max(0, len(points)-shown):]
	var numbers []string
	top := 0.0
	for _, p := range points {
		if p.Y == nil {
			numbers = append(numbers, "unknown")
			continue
		}
		numbers = append(numbers, strconv.FormatFloat(*p.Y, 'g', 4, 64))
		top = max(top, *p.Y)
	}
	text := strings.Join(numbers, ", ")
	if len(points) < 2 || top <= 0 {
		return text
	}
	text += "  "
	for _, p := range points {
		if p.Y == nil {
			text += "?"
			continue
		}
		text += g.bars[min(len(g.bars)-1, max(0, int(*p.Y/top*float64(len(g.bars)-1)+0.5)))]
	}
	return text
}
