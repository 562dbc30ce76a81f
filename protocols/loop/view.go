package loop

import (
	"fmt"
	"strings"

	"git-ward/internal/diag"
)

// Plot draws a residual history as text: one column per iteration, newest last, at most width
// columns and height rows. An unknown residual is a question mark in the lowest row, the row of zero.
func Plot(history []Residual, width, height int) string {
	if len(history) == 0 || width < 1 || height < 1 {
		return ""
	}
	cut := max(0, len(history)-width)
	shown := history[cut:]
	top := Residual{}
	for _, r := range shown {
		if !r.IsNull() && (top.IsNull() || top.Less(r.Decimal)) {
			top = r
		}
	}
	var b strings.Builder
	label := max(4, len(top.Decimal.String()))
	if top.IsNull() {
		label = 4
	}
	for row := height; row >= 0; row-- {
		name := ""
		switch {
		case row == height && !top.IsNull():
			name = top.Decimal.String()
		case row == 0:
			name = "0"
		}
		fmt.Fprintf(&b, "%*s |", label, name)
		for _, r := range shown {
			b.WriteString(" " + cell(r, top, row, height))
		}
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "%*s +%s iterations %d..%d\n", label, "", strings.Repeat("--", len(shown)), cut, len(history)-1)
	return b.String()
}

func cell(r, top Residual, row, height int) string {
	if r.IsNull() {
		return map[bool]string{true: "?", false: " "}[row == 0]
	}
	at := int(r.Portion(top.Decimal, int64(height)))
	if at == 0 && !r.Zero() {
		at = 1 // unknown is not zero
	}
	switch {
	case row == at:
		return "*"
	case row < at && row > 0:
		return "."
	}
	return " "
}

// History returns the verdicts' residuals, in order.
func History(verdicts []Verdict) []Residual {
	var list []Residual
	for _, v := range verdicts {
		list = append(list, v.Residual)
	}
	return list
}

// Words describes a verdict for people: its result, each criterion, and how the commands ran.
func (v Verdict) Words() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s on %.12s: %s", v.Verdict, v.Commit, v.Reason)
	if v.Verdict != None {
		fmt.Fprintf(&b, " (%s, %s)", v.Lane.Words(), RungWords(v.Rung))
	}
	b.WriteString("\n")
	for _, o := range v.Criteria {
		state := fmt.Sprintf("exit %d", o.ExitCode)
		if o.Control != "" {
			state += ", " + ControlWords(o.Control, o.Before)
		}
		if o.Trouble != "" {
			state = o.Trouble
		}
		fmt.Fprintf(&b, "  %s: %s\n", state, o.Criterion)
	}
	if len(v.Deviations) > 0 {
		fmt.Fprintf(&b, "  changed by the commit, main's version was used: %s\n", strings.Join(v.Deviations, ", "))
	}
	for _, what := range v.Sampled {
		fmt.Fprintf(&b, "  not each test was broken alone: %s\n", what)
	}
	b.WriteString(v.againstWords())
	if v.Cache != "" {
		fmt.Fprintf(&b, "  dependencies from the cache: %s\n", v.Cache)
	}
	switch _, runtime, _ := strings.Cut(v.Fence, "/"); {
	case v.Fence == FenceNone:
		b.WriteString("  without a fence: the commands ran as plain processes\n")
		if v.Shared != "" {
			fmt.Fprintf(&b, "  they shared /tmp and could reach each other: %s\n", v.Shared)
		}
	case runtime != "" && runtime != "runc":
		fmt.Fprintf(&b, "  the commands ran in %s\n", runtime)
	}
	return b.String()
}

// shownLines bounds the lists of surviving mutants and of removed declarations in Words.
const shownLines = 20

// againstWords describes the results of the adversarial runs for people; "" if there were none.
func (v Verdict) againstWords() string {
	var b strings.Builder
	if m := v.Mutants; m != nil {
		fmt.Fprintf(&b, "  of %s to the work's own lines, the commands noticed %d\n", diag.Count(m.Made, "small change"), m.Killed)
		for i, s := range m.Survived {
			if i == shownLines {
				fmt.Fprintf(&b, "    and %d more\n", len(m.Survived)-i)
				break
			}
			fmt.Fprintf(&b, "    not noticed: %s\n", s)
		}
	}
	if s := v.Surface; s != nil {
		fmt.Fprintf(&b, "  the interface lost %s and gained %d\n", diag.Count(len(s.Gone), "declaration"), len(s.New))
		for _, line := range s.Gone[:min(len(s.Gone), shownLines)] {
			fmt.Fprintf(&b, "    gone: %s\n", line)
		}
	}
	for _, what := range v.NotDone {
		fmt.Fprintf(&b, "  not done: %s\n", what)
	}
	return b.String()
}
