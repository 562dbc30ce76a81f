package review

import (
	"fmt"
	"strings"

	"git-ward/internal/diag"
	"git-ward/protocols/loop"
)

// Look is how a line of text is to look.
type Look int

// The looks.
const (
	Plain Look = iota
	Title
	Good
	Bad
	Warn
)

// Line is a line of text, without its end; what the agent wrote in it is not cleaned.
type Line struct {
	Look Look
	Text string
}

// page collects lines.
type page []Line

func (p *page) add(look Look, format string, args ...any) {
	*p = append(*p, Line{look, fmt.Sprintf(format, args...)})
}

// gap begins a part with an empty line.
func (p *page) gap() { p.add(Plain, "") }

// Above is what stands above the difference: the outcome, what decided, and what to look
// at first.
func (r *Review) Above() []Line {
	var p page
	p.add(r.look(), "%s %s: %s", r.Directive, r.Title, diag.Untrusted(r.Outcome))
	if first := r.First(); first != "" {
		p.add(Warn, "look first: %s", first)
	}
	if r.Commit != "" {
		p.add(Plain, "%s%s: %s", map[bool]string{true: r.Unit + " claims ", false: "agent/" + r.Directive + " is at "}[r.Claimed], r.Commit, Summary(r.Changes))
		if r.Claimed && r.Branch != "" && r.Branch != r.Commit && r.Record != "" { // without a record its papers follow the claim
			p.add(Warn, "agent/%s is at %s by now, which nobody judged", r.Directive, r.Branch)
		}
	}
	r.criteria(&p)
	r.deviations(&p)
	r.touched(&p)
	if len(r.Changes) > 0 {
		p.gap()
		for _, line := range Stat(r.Changes) {
			p.add(Plain, "%s", line)
		}
		p.add(Plain, " %s", Summary(r.Changes))
	}
	return p
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

// First names what a reader must not miss, with numbers.
func (r *Review) First() string {
	var list []string
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
		list = append(list, "the project went on, so nobody judged the merged tree")
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
	return strings.Join(list, "; ")
}

func (r *Review) criteria(p *page) {
	if len(r.Criteria) == 0 {
		return
	}
	p.gap()
	if v := r.Word; v != nil {
		p.add(Title, "criteria, as the host ran them (%s in %s, %s, %s; git notes --ref=certificates show %s)",
			diag.Count(v.Trials, "run"), diag.Untrusted(orWord(v.Image, "no image")), v.Lane.Words(), loop.RungWords(v.Rung), v.Commit)
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
		if c.Control != "" && c.Trouble.Raw() != c.Control { // what cannot fail says so as its trouble
			place += "; " + c.Control
		}
		if c.Separate {
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

func orWord(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

func (r *Review) deviations(p *page) {
	v := r.Word
	if v == nil || len(v.Deviations)+len(v.LeftWords())+len(v.Included)+len(v.Opened)+len(v.NeverOpened)+len(v.Rewritten)+len(v.RewrittenNot)+len(v.NotOpened)+len(v.NotOpenedWhy)+len(v.Lost)+len(v.Checkers)+v.Comparisons == 0 && v.Process+v.Shared == "" {
		return
	}
	p.gap()
	for _, path := range v.LeftWords() {
		p.add(Warn, "  no work, and left out of the run that decides: %s", diag.Untrusted(path))
	}
	if len(v.LeftWords()) > 0 { // whoever wrote "test/**" wonders
		p.add(Plain, "    (a test, and what a criterion names, is work only where - work: names that very path, without a pattern)")
	}
	for _, path := range v.Deviations {
		p.add(Warn, "  frozen, and put back for the verdict: %s", diag.Untrusted(path))
	}
	for _, path := range v.Included {
		p.add(Plain, "  work by your word: %s", diag.Untrusted(path))
	}
	for _, name := range v.Lost {
		p.add(Warn, "  lost test: %s finished without this work, and no longer does", diag.Untrusted(name))
	}
	for _, where := range v.Whatever {
		p.add(Warn, "  holds with any value: %s (read what the work hands to it)", diag.Untrusted(where))
	}
	for _, path := range v.Checkers {
		p.add(Warn, "  changed, and a criterion checks the work by it: %s (read its change)", diag.Untrusted(path))
	}
	if v.Comparisons > 0 {
		p.add(Plain, "  of %s with a value, %d were asked whether another would have done", diag.Count(v.Comparisons, "comparison"), v.Asked)
	}
	for _, path := range v.Rewritten {
		p.add(Warn, "  rewritten while a command ran, and not work: %s", diag.Untrusted(path))
	}
	if v.RewrittenNot != "" {
		p.add(Warn, "  what the commands rewrote is not known: %s", diag.Untrusted(v.RewrittenNot))
	}
	for _, path := range v.NotOpened {
		p.add(Warn, "  a command opens it without this work, and no longer with it: %s", diag.Untrusted(path))
	}
	if v.NotOpenedWhy != "" {
		p.add(Warn, "  what the commands no longer open is not known: %s", diag.Untrusted(v.NotOpenedWhy))
	}
	for _, path := range v.NeverOpened {
		p.add(Plain, "  changed, and opened by no command: %s", diag.Untrusted(path))
	}
	switch {
	case v.NotObserved != "":
		p.add(Plain, "  which changed files the commands opened is not known: %s", diag.Untrusted(v.NotObserved))
	case len(v.Opened) > 0:
		p.add(Plain, "  changed, and opened by a command: %s", diag.Untrusted(strings.Join(v.Opened, ", ")))
	}
	if v.Shared != "" {
		p.add(Warn, "  the commands shared /tmp and could reach each other: %s", diag.Untrusted(v.Shared))
	}
	switch v.Process {
	case loop.SameProcess:
		p.add(Plain, "  same process: the work can run where its tests do, and speak for them")
	case loop.SeparateProcess:
		p.add(Plain, "  separate: each criterion starts the work from outside, does not open it, or is held out")
	}
}

func (r *Review) touched(p *page) {
	t := r.Touched
	if len(t.Instructions)+len(t.Protected)+len(t.NewAtRoot)+len(t.Tests) == 0 {
		return
	}
	p.gap()
	for _, part := range []struct {
		look Look
		what string
		list []diag.Untrusted
	}{
		{Warn, "touches instructions to agents", t.Instructions},
		{Warn, "touches what is protected, because it runs code or steers tools", t.Protected},
		{Warn, "new at the root", t.NewAtRoot},
		{Plain, "touches a test, or what is frozen", t.Tests},
	} {
		for _, path := range part.list {
			p.add(part.look, "  %s: %s", part.what, path)
		}
	}
}

// Below is what stands below the difference: the agent's words, the cost, the next step.
func (r *Review) Below() []Line {
	var p page
	for _, said := range r.Said {
		p.gap()
		p.add(Title, "the agent's own word, proved by nothing (%s):", diag.Untrusted(said.Where))
		for line := range strings.Lines(strings.TrimRight(said.Text.Lines(), "\n")) {
			p.add(Plain, "    %s", strings.TrimRight(line, "\n"))
		}
	}
	if r.Unit != "" {
		p.gap()
		p.add(Plain, "cost: %s", r.Cost.Words())
	}
	if len(r.Commands) > 0 {
		p.gap()
	}
	for i, command := range r.Commands {
		p.add(map[bool]Look{true: Title}[i == 0], "%s %s", map[bool]string{true: "next:", false: "  or:"}[i == 0], command)
	}
	return p
}
