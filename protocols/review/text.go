package review

import (
	"cmp"
	"fmt"
	"strings"

	"git-ward/internal/diag"
	"git-ward/protocols/loop"
)

// Look is the style of a line of text.
type Look int

// The looks.
const (
	Plain Look = iota
	Title
	Good
	Bad
	Warn
)

// Line is a line of text without its line end. The agent's words in it are not cleaned.
type Line struct {
	Look Look
	Text string
}

// page is a list of lines under construction.
type page []Line

func (p *page) add(look Look, format string, args ...any) {
	*p = append(*p, Line{look, fmt.Sprintf(format, args...)})
}

// gap adds an empty line, to begin a part.
func (p *page) gap() { p.add(Plain, "") }

// Above returns the text above the difference, in the order in which a person decides: the result,
// what to look at first, the criteria, and the diffstat.
func (r *Review) Above() []Line {
	var p page
	p.add(r.look(), "%s %s: %s", r.Directive, r.Title, diag.Untrusted(r.Outcome))
	r.first(&p)
	r.criteria(&p)
	r.observed(&p)
	if r.Commit != "" {
		p.gap()
		p.add(Title, "%s%s", map[bool]string{true: r.Unit + " claims ", false: "agent/" + r.Directive + " is at "}[r.Claimed], diag.Short(r.Commit))
		for _, line := range Stat(r.Changes) {
			p.add(Plain, "%s", line)
		}
		p.add(Plain, " %s", Summary(r.Changes))
	}
	return p
}

// first adds the remarks of Looks.
func (r *Review) first(p *page) {
	list := r.Looks()
	if len(list) == 0 {
		return
	}
	p.gap()
	p.add(Title, "look first")
	for i, l := range list {
		p.add(l.Look, "  %s", l)
		if last := i+1 == len(list) || list[i+1].What != leftOut; l.What == leftOut && last { // also why a directive's "test/**" did not
			p.add(Plain, "    (a line - work: makes it count; a test, and what a criterion names, only by that very path, without a pattern)")
		}
	}
}

func (r *Review) look() Look {
	switch r.State {
	case Ready, Taken:
		return Good
	case Unproved:
		return Bad
	}
	return Title
}

// firstSize bounds the paths that are named before all else, in bytes.
const firstSize = 300

// First counts, on one line, what a reader must not miss.
func (r *Review) First() string { return strings.Join(r.Firsts(), "; ") }

// Firsts returns the parts of First.
func (r *Review) Firsts() (list []string) {
	some := func(n int, one, many string) {
		switch {
		case n == 1:
			list = append(list, "1 "+one)
		case n > 1:
			list = append(list, fmt.Sprintf("%d %s", n, many))
		}
	}
	if r.Word != nil {
		if left := r.Word.LeftWords(); len(left) > 0 {
			some(len(r.Word.Additions)+len(r.Word.Left)+r.Word.LeftMore, "path that is no work", "paths that are no work")
			list[0] += ", " + diag.Clean(diag.Cut(strings.Join(left, ", "), firstSize))
		}
		some(len(r.Word.Deviations), "deviation put back", "deviations put back")
		for _, d := range r.Word.Against() {
			list = append(list, diag.Clean(diag.Cut(d.Words(), firstSize)))
		}
	}
	some(len(r.Touched.Instructions), "file of instructions to agents", "files of instructions to agents")
	some(len(r.Touched.Protected), "protected path", "protected paths")
	some(len(r.Touched.NewAtRoot), "new root name", "new root names")
	some(len(r.Merge.Conflicts), "conflict with the project", "conflicts with the project")
	if r.Merge.Unjudged() {
		list = append(list, "the project has moved on, so the merged tree is not judged")
	}
	if r.Word != nil && r.Word.Fence == loop.FenceNone {
		list = append(list, "judged without a fence")
	}
	if r.Merge.Unrelated {
		list = append(list, "it shares no history with the project")
	}
	if r.Omitted > 0 {
		list = append(list, fmt.Sprintf("%d bytes of the difference are left out", r.Omitted))
	}
	return list
}

func (r *Review) criteria(p *page) {
	if len(r.Criteria) == 0 {
		return
	}
	p.gap()
	if v := r.Word; v != nil {
		how := ""
		if v.Verdict != loop.None {
			how = fmt.Sprintf(", %s, %s", v.Lane.Words(), loop.RungWords(v.Rung))
		}
		p.add(Title, "criteria, as the host ran them (%s in %s%s; git notes --ref=certificates show %s)",
			diag.Count(v.Trials, "run"), diag.Untrusted(cmp.Or(v.Image, "no image")), how, diag.Short(v.Commit))
	} else {
		p.add(Title, "criteria, which nobody ran yet")
	}
	for _, c := range r.Criteria {
		look := map[string]Look{"met": Good, "not met": Bad}[c.Result]
		how := ""
		switch {
		case c.Trouble != "":
			how = c.Trouble.String()
		case c.ExitCode != nil:
			how = fmt.Sprintf("exit %d", *c.ExitCode)
		}
		place := c.Place
		if c.Control != "" && c.Trouble.Raw() != c.Control { // a command that cannot fail has this text as its trouble
			place += "; " + c.Control
		}
		if c.Separate && r.Word.Process != loop.SeparateProcess { // else one line says it of all criteria
			place += "; separate from the work"
		}
		p.add(look, "  %-8s %s", c.Result, strings.TrimSpace(fmt.Sprintf("%-7s  %s  %s", how, c.Text, place)))
		if c.Command != "" && !strings.Contains(c.Text.Raw(), c.Command.Raw()) {
			p.add(Plain, "             %s", c.Command)
		}
		for line := range strings.Lines(c.Tail.Lines()) {
			p.add(Plain, "           | %s", strings.TrimRight(line, "\n"))
		}
	}
	if r.Word != nil && r.Word.ResidualRun != nil {
		p.add(Plain, "  residual %s, to be below %s", r.Word.Residual.Words(), r.Word.Rp.Words())
	}
}

// observed adds what the host saw of the run beyond its result.
func (r *Review) observed(p *page) {
	v := r.Word
	if v == nil {
		return
	}
	if v.Comparisons > 0 {
		p.add(Plain, "  of %s with a value, %d were tried with another one", diag.Count(v.Comparisons, "comparison"), v.Asked)
	}
	if v.NotObserved != "" {
		p.add(Plain, "  which changed files the commands opened is not known: %s", diag.Untrusted(v.NotObserved))
	}
	switch v.Process {
	case loop.SameProcess:
		p.add(Plain, "  same process: the work can run in its tests' process and report in their name")
	case loop.SeparateProcess:
		p.add(Plain, "  separate: each criterion starts the work from outside, does not open it, or is held out")
	}
}

// maxRefused bounds the refused addresses in the text.
const maxRefused = 10

// Below returns the text below the difference: the agent's words, the cost, and the next step.
func (r *Review) Below() []Line {
	var p page
	for _, said := range r.Heard() {
		p.gap()
		p.add(Title, "the agent's own word, proved by nothing (%s):", diag.Untrusted(said.Where))
		lines := strings.Split(strings.TrimRight(said.Text.Lines(), "\n"), "\n")
		for i, line := range lines {
			if i == maxHeard && len(lines) > maxHeard+1 {
				p.add(Plain, "    (%s more: git ward directive show %s)", diag.Count(len(lines)-i, "line"), r.Directive)
				break
			}
			p.add(Plain, "    %s", line)
		}
	}
	if r.Unit != "" {
		p.gap()
		p.add(Plain, "cost: %s", r.Cost.Words())
	}
	for i, at := range r.Refused {
		if i == maxRefused && len(r.Refused) > maxRefused+1 {
			p.add(Plain, "  and %d more: git ward review --json %s", len(r.Refused)-i, r.Directive)
			break
		}
		allowed := ""
		if at.Setting != "" {
			allowed = "; " + at.Setting + " would allow it"
		}
		p.add(Plain, "the fence refused %s%s", at.Address, allowed)
	}
	if len(r.Commands) > 0 {
		p.gap()
	}
	for i, command := range r.Commands {
		p.add(map[bool]Look{true: Title}[i == 0], "%s %s", map[bool]string{true: "next:", false: "  or:"}[i == 0], command)
	}
	return p
}
