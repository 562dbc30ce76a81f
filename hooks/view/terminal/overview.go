package terminal

import (
	"cmp"
	"slices"
	"strings"

	"git-ward/hooks/view"
	"git-ward/internal/diag"
	"git-ward/protocols/review"
	"git-ward/protocols/uow"
)

// block is a group of rows. item is the directive that keys choose with it, "" for none.
type block struct {
	item string
	rows []row
}

// overview is the body of the screen of all directives, w columns wide.
func (c canvas) overview(s Scene) (list []block) {
	list = append(list, c.waiting(s)...)
	named := map[string]bool{}
	for _, wait := range s.Over.Waiting {
		named[wait.Directive] = true
	}
	for _, state := range review.States {
		first := true
		lines := slices.Clone(s.Over.Directives)
		if state != review.Open { // the newest first; but what was asked for first comes next
			slices.Reverse(lines)
		}
		for _, d := range lines {
			if d.State != state || named[d.Directive] {
				continue
			}
			if first {
				list, first = append(list, block{rows: []row{{}}}, c.heading(capital(state.Words()))), false
			}
			list = append(list, block{d.Directive, c.line(s, d)})
		}
	}
	if len(s.Over.Directives) == 0 {
		list = append(list, block{rows: c.text("there is no directive yet: git ward directive new", Plain, 0)})
	}
	return list
}

func capital(words string) string { return strings.ToUpper(words[:1]) + words[1:] }

// waiting lists what waits for the reader or continues by itself, each with the command that settles it.
func (c canvas) waiting(s Scene) (list []block) {
	if len(s.Over.Waiting) == 0 {
		return []block{{rows: []row{{piece{"nothing waits for you", Good}}}}}
	}
	var whom uow.Party
	for _, wait := range s.Over.Waiting {
		if wait.For != whom {
			whom = wait.For
			list = append(list, c.heading("Waits for "+string(whom)))
		}
		name := cmp.Or(wait.Directive, "Ward")
		b := block{item: wait.Directive}
		b.rows = append(b.rows, row{piece{cut(name+"  "+wait.Title.String(), c.w-c.edge(), c.more), Wants}})
		b.rows = append(b.rows, c.text(foreign(wait.What), Plain, 4)...)
		b.rows = append(b.rows, c.text(cut(wait.Words.OneLine(), 2*c.w, c.more), Faint, 4)...)
		b.rows = append(b.rows, c.command(s.typed(wait.Command))...)
		list = append(list, b)
	}
	return list
}

// line is a directive in the list: its state, what it is, and what goes on in it.
func (c canvas) line(s Scene, d view.Line) (rows []row) {
	rows = append(rows, apart(plain(d.Directive+"  "+d.Title.String()), piece{foreign(d.Words), stateRole(d.State)}, c.w-c.edge(), c.more))
	if d.State != review.Working {
		return rows
	}
	rows = append(rows, c.text(foreign(d.Spent.Words()), Faint, 4)...)
	if d.Worker != nil && s.Over.Several() {
		rows = append(rows, c.text(foreign(d.Worker.Words), Faint, 4)...)
	}
	if v := s.Over.Verdict(d.Unit); v != nil {
		rows = append(rows, c.text("verdict: "+foreign(v.Words), Plain, 4)...)
	}
	if d.Live != nil {
		word, role := eventWords(*d.Live)
		rows = append(rows, row{piece{cut("    "+clock(d.Live.Time)+" "+word+" "+foreign(diag.Cut(eventText(*d.Live), 4*c.w)), c.w, c.more), role}})
	}
	return rows
}

func stateRole(s review.State) Role {
	switch s {
	case review.Waiting, review.Ready:
		return Wants
	case review.Unproved:
		return Bad
	case review.Taken:
		return Good
	}
	return Faint
}
