package model

import (
	"fmt"
	"strings"

	"git-ward/internal/diag"
)

// Tally is what a worker did and used, for people. The gateway's count decides what a
// directive may use.
type Tally struct {
	Turns, Calls int
	Usage        Usage
}

// Since is what came after an earlier state of the tally.
func (t Tally) Since(before Tally) Tally {
	t.Turns -= before.Turns
	t.Calls -= before.Calls
	t.Usage.Add(Usage{-before.Usage.Input, -before.Usage.Cached, -before.Usage.Output})
	return t
}

// Sentence is for the end of the report; "" where nothing was counted, as with
// the script.
func (t *Tally) Sentence() string {
	if t.Usage.Input+t.Usage.Output == 0 {
		return ""
	}
	cached := ""
	if t.Usage.Cached > 0 {
		cached = fmt.Sprintf(" (%s from the cache)", thousands(t.Usage.Cached))
	}
	turns := ""
	if t.Turns > 0 { // Codex does not report it
		turns = diag.Count(t.Turns, "turn") + ", "
	}
	return fmt.Sprintf("\n\n(%s%s of tools, %s tokens in%s, %s out.)", turns, diag.Count(t.Calls, "call"),
		thousands(t.Usage.Input), cached, thousands(t.Usage.Output))
}

// thousands writes 1234567 as 1,234,567.
func thousands(n int64) string {
	digits := fmt.Sprint(n)
	var b strings.Builder
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(d)
	}
	return b.String()
}
