package terminal

import (
	"slices"
	"strings"

	"git-ward/hooks/view"
	"git-ward/internal/live"
)

// facts returns the facts of the open directive; brief is a short form, and a key shows all.
func (c canvas) facts(s Scene, brief bool) (rows []row) {
	d := s.One
	for _, wait := range d.Waiting {
		rows = append(rows, c.labelled("waits", foreign(wait.What), Wants)...)
		rows = append(rows, c.labelled("it says", cut(wait.Words.OneLine(), 4*c.w, c.more), Plain)...)
		rows = append(rows, c.command(s.typed(wait.Command))...)
	}
	rows = append(rows, c.labelled("state", foreign(d.Words), stateRole(d.State))...)
	rows = append(rows, c.labelled("cost", foreign(d.Spent.Words()), Plain)...)
	if d.Sign != nil {
		rows = append(rows, c.labelled("heard", "last work "+clock(d.Sign.Work)+", last sign of life "+clock(d.Sign.Beat), Plain)...)
	}
	if d.Worker != nil {
		rows = append(rows, c.labelled("worker", foreign(d.Worker.Words), Plain)...)
	}
	rows = append(rows, c.labelled("residual", curve(d.Residuals, c.glyphs), Plain)...)
	if v := s.Over.Verdict(d.Unit); v != nil {
		rows = append(rows, c.labelled("verdict", foreign(v.Words), Plain)...)
	} else if d.Verdict != "" {
		rows = append(rows, c.labelled("verdict", d.Verdict, Plain)...)
	}
	if brief {
		return rows
	}
	rows = append(rows, c.text(d.Text.Lines(), Plain, 0)...)
	for _, u := range slices.Backward(d.Units) {
		rows = append(rows, c.unit(s, u)...)
	}
	return rows
}

// unit is a unit's journal, the newest step first.
func (c canvas) unit(s Scene, u view.Unit) (rows []row) {
	rows = append(rows, c.heading(u.ID+": "+foreign(u.Words)).rows...)
	if u.Broken != "" {
		rows = append(rows, c.text("its journal is invalid: "+foreign(u.Broken), Bad, 0)...)
	}
	for _, st := range slices.Backward(u.Steps) {
		text := st.Time.Local().Format("01-02 15:04:05") + " " + foreign(st.Words)
		if note := st.Note.String(); note != "" {
			text += ": " + note
		}
		rows = append(rows, c.text(text, Plain, 0)...)
	}
	if u.LeftOut > 0 {
		rows = append(rows, c.text("and older steps: "+s.typed("git ward uow show "+u.ID), Faint, 0)...)
	}
	if len(u.Transcripts) > 0 {
		rows = append(rows, c.command(s.typed("git ward transcript "+u.ID))...)
	}
	return rows
}

// label is the heading of the worker's words.
const label = "the agent's own words, proved by nothing"

// maxRows bounds the rows of one event, and toldRows those of a prompt; the transcript has all.
const (
	maxRows  = 12
	toldRows = 4
)

// event is an event's rows.
func (c canvas) event(e live.Event, named bool) (rows []row) {
	word, role := eventWords(e)
	head := ""
	if c.w >= 40 {
		head = clock(e.Time) + " "
	}
	if named && e.Unit != "" {
		head += foreign(e.Unit) + " "
	}
	head += word + strings.Repeat(" ", max(1, 9-len(word)))
	indent := min(width(head), c.w/2)
	if c.w < 40 {
		indent = 1
	}
	text := eventText(e)
	first, most := true, maxRows
	if e.Kind == live.Told {
		most = toldRows
	}
	for line := range strings.Lines(text + "\n") {
		line = foreign(strings.TrimRight(line, "\r\n"))
		if line == "" && !first {
			continue
		}
		for _, part := range fold(line, c.w-indent) {
			if len(rows) == most {
				return append(rows, row{piece{strings.Repeat(" ", indent) + c.more + " and more", Faint}})
			}
			space := strings.Repeat(" ", indent)
			if first {
				rows, first = append(rows, c.first(head, part, indent, role)...), false
				continue
			}
			rows = append(rows, row{piece{space + part, role}})
		}
	}
	return rows
}

// first is the first row of an event: who, and the first of its words; on a narrow screen
// the words begin below.
func (c canvas) first(head, part string, indent int, r Role) []row {
	if width(head) <= indent {
		return []row{{piece{head, Faint}, piece{part, r}}}
	}
	rows := []row{{piece{cut(head, c.w, c.more), Faint}}}
	if part != "" {
		rows = append(rows, row{piece{strings.Repeat(" ", indent) + part, r}})
	}
	return rows
}

// words are the rows of all events that were kept.
func (c canvas) words(s Scene) (rows []row) {
	for _, e := range s.Live {
		rows = append(rows, c.event(e, s.One == nil)...)
	}
	if len(rows) > 0 {
		return rows
	}
	switch {
	case s.Clone:
		return c.text("only the host shows words live; a clone has them when an iteration ends: git ward transcript "+s.Name, Faint, 0)
	case s.Over.Host != nil && !s.Over.Host.Running:
		return c.text("no word yet, and nothing runs: "+s.typed("git ward launch"), Faint, 0)
	}
	return c.text("no word yet", Faint, 0)
}
