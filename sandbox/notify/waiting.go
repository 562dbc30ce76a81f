package notify

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"git-ward/internal/diag"
)

// Waiting is one thing that waits for a PM, as `git ward status --json` has it.
type Waiting struct {
	Key       string         `json:"key"` // constant while it is the same thing
	Kind      string         `json:"kind"`
	Directive string         `json:"directive"`
	Title     diag.Untrusted `json:"title"`
	What      string         `json:"what"`
	Words     diag.Untrusted `json:"words"`
	Command   string         `json:"command"`
	Or        string         `json:"or"`
	Since     time.Time      `json:"since"`
}

// The kinds that this package treats differently. A wait for a temporary cause is reported
// only if the cause has lasted for a while.
const (
	outage   = "outage"
	patience = 10 * time.Minute
)

// Parse reads what waits from the output of `git ward status --json`.
func Parse(status []byte, now time.Time) ([]Waiting, error) {
	var all struct {
		Waiting []Waiting `json:"waiting"`
	}
	if err := json.Unmarshal(status, &all); err != nil {
		return nil, fmt.Errorf("git ward status --json: %w", err)
	}
	return slices.DeleteFunc(all.Waiting, func(w Waiting) bool {
		return w.Key == "" || w.Kind == outage && now.Sub(w.Since) < patience
	}), nil
}

// message is what one run sends: about one directive or several.
type message struct {
	Directive string // "" for what is of none, or of several
	Kind      string // of the thing, "several" where there are more
	Things    []Waiting
}

// The limits of a message: the number of things, and the bytes of others' text for each.
const (
	maxThings = 50
	maxWords  = 2000
	maxLine   = 200
)

// text is the message. Ward's own text begins at the line's start; other people's is cleaned
// and indented by four spaces, so that no line of it is taken for a header, an end or an
// option.
func (m message) text() string {
	var b strings.Builder
	first := m.Things[0]
	if len(m.Things) == 1 {
		fmt.Fprintf(&b, "%s: %s\n", name(first), line(first.What))
	} else {
		fmt.Fprintf(&b, "%s: %s wait for you\n", subject(m), diag.Count(len(m.Things), "thing"))
	}
	for i, w := range m.Things {
		if i == maxThings {
			fmt.Fprintf(&b, "\nand %d more: git ward status\n", len(m.Things)-maxThings)
			break
		}
		if len(m.Things) > 1 {
			fmt.Fprintf(&b, "\n%s: %s\n", name(w), line(w.What))
		}
		quote(&b, diag.Cut(w.Title.Raw(), maxLine))
		quote(&b, diag.Cut(w.Words.Raw(), maxWords))
		if w.Command != "" {
			fmt.Fprintf(&b, "type: %s\n", line(w.Command))
		}
		if w.Or != "" {
			fmt.Fprintf(&b, "or:   %s\n", line(w.Or))
		}
		fmt.Fprintf(&b, "key: %s\n", key(w))
	}
	return b.String()
}

func subject(m message) string {
	if m.Directive == "" {
		return "Ward"
	}
	return line(m.Directive)
}

func name(w Waiting) string {
	if w.Directive == "" {
		return "Ward"
	}
	return line(w.Directive)
}

// line is one line of Ward's, which may quote somebody.
func line(text string) string { return diag.Clean(diag.Cut(text, maxLine*4)) }

func quote(b *strings.Builder, text string) {
	if text = strings.TrimSpace(text); text != "" {
		b.WriteString(diag.Indent(diag.CleanLines(strings.ReplaceAll(text, "\t", "  "))))
	}
}
