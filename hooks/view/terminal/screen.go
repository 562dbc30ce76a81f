package terminal

import (
	"fmt"
	"strings"
)

// screen renders the scene in at most w columns and h lines.
func screen(s Scene, st state, w, h int, g glyphs) (rows []row) {
	c := canvas{max(w, 1), max(h, 1), g}
	head, foot := c.head(s, st), c.foot(s, st)
	if c.h < 4 {
		head = nil
	}
	if c.h < 2 {
		foot = nil
	}
	room := c.h - len(head) - len(foot)
	body := c.body(s, st, room)
	rows = append(append(head, body...), make([]row, max(0, room-len(body)))...)
	rows = append(rows, foot...)
	for i := range rows {
		rows[i] = rows[i].fit(c.w, c.more)
	}
	return rows[:min(len(rows), c.h)]
}

// head names the repository and says what runs; below, what is wrong.
func (c canvas) head(s Scene, st state) (rows []row) {
	var title, right string
	if s.Over != nil {
		title, right = "Ward  "+foreign(s.Over.Repository), hostWords(s)
	}
	if s.One != nil {
		title = s.One.Directive + "  " + s.One.Title.String()
	}
	if c.w < 50 && s.Over != nil && (s.Over.Host == nil || s.Over.Host.Running) {
		right = "" // do not show the normal state
	}
	rows = append(rows, apart(piece{title, Title}, piece{right, Faint}, c.w, c.more))
	if s.Trouble != "" {
		trouble := c.text("trouble: "+foreign(s.Trouble), Bad, 0)
		rows = append(rows, trouble[:min(len(trouble), max(1, c.h/4))]...)
	}
	if s.Over != nil && s.One == nil && !st.help {
		for _, w := range s.Over.Warnings {
			lines := c.text("warning: "+foreign(w), Bad, 0)
			if len(rows)+len(lines) > max(2, c.h/3) {
				rows = append(rows, c.text("more warnings: git ward status", Bad, 0)...)
				break
			}
			rows = append(rows, lines...)
		}
	}
	return rows
}

// foot lists the keys, always with the one for help.
func (c canvas) foot(s Scene, st state) []row {
	keys := "? help  q leave"
	switch {
	case st.help:
		keys = "any key: back"
	case s.Name != "" && st.facts:
		keys += "  esc back  tab words"
	case s.Name != "":
		keys += "  esc back  tab facts"
	default:
		keys += "  up/down choose  enter open"
	}
	if st.back > 0 && s.Name != "" && !st.facts {
		keys += "  end: newest"
	}
	return []row{{piece{keys, Faint}}}
}

// help lists the keys and what they do.
var help = [][2]string{
	{"up, down", "another directive; older and newer words (also k, j)"},
	{"page up, down", "the same by a screen (also b, space)"},
	{"home, end", "the first; the newest (also g, G)"},
	{"enter", "open the directive"},
	{"esc", "back to all directives"},
	{"tab", "the words as they come, or all facts"},
	{"r", "look again now, and draw anew"},
	{"ctrl-z", "stop for now; fg goes on"},
	{"q, ctrl-c", "leave"},
}

func (c canvas) help() (rows []row) {
	rows = c.text("Keys. None changes anything in the repository.", Title, 0)
	for _, line := range help {
		rows = append(rows, c.column(16, line[0], line[1], Plain)...)
	}
	return append(rows, c.text("What waits for you stands first, with the command that settles it: type it in a shell.", Plain, 0)...)
}

func (c canvas) body(s Scene, st state, room int) []row {
	switch {
	case st.help:
		return window(c.help(), st.back, room)
	case s.Over == nil:
		return c.text("reading the repository "+c.more, Faint, 0)
	case s.NotThere:
		return c.text(fmt.Sprintf("there is no directive %s: git ward directive show", foreign(s.Name)), Bad, 0)
	case s.Name != "" && s.One == nil:
		return c.text("reading "+foreign(s.Name)+" "+c.more, Faint, 0)
	case s.One != nil && st.facts:
		return window(c.facts(s, false), st.back, room)
	case s.One != nil:
		return c.directive(s, st, room)
	}
	return c.list(s, st, room)
}

// directive renders the facts, in at most half of the room, and below them the newest events.
func (c canvas) directive(s Scene, st state, room int) []row {
	rows := c.facts(s, true)
	if most := max(room/2, 1); len(rows) > most {
		rows = append(rows[:max(most-1, 0):max(most-1, 0)], row{piece{c.more + " tab shows all", Faint}})
	}
	rows = append(rows, c.heading(label).rows...)
	words := c.words(s)
	left := max(room-len(rows), 0)
	end := max(len(words)-st.back, min(left, len(words)))
	return append(rows, words[max(0, end-left):end]...)
}

// list renders the directives so that the chosen one is visible.
func (c canvas) list(s Scene, st state, room int) []row {
	var rows []row
	from, to := 0, 0
	for _, b := range c.overview(s) {
		start := len(rows)
		rows = append(rows, b.rows...)
		if b.item == "" || len(b.rows) == 0 {
			continue
		}
		edge := piece{strings.Repeat(" ", c.edge()), Plain}
		if b.item == st.chosen && to == 0 {
			edge = piece{cut(c.mark+" ", c.edge(), ""), Chosen}
			from, to = start, len(rows)
		}
		rows[start] = append(row{edge}, rows[start]...)
	}
	top := 0
	if to > room {
		top = min(from, to-room)
	}
	return window(rows, top, room)
}

// edge returns the width of the mark of the chosen line.
func (c canvas) edge() int {
	if c.w < 20 {
		return 1
	}
	return 2
}

// window returns at most room rows, beginning at top.
func window(rows []row, top, room int) []row {
	top = max(0, min(top, len(rows)-room))
	return rows[top:min(len(rows), top+max(room, 0))]
}
