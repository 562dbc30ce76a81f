package forge

import (
	"fmt"
	"slices"
	"strings"

	"git-ward/internal/diag"
	"git-ward/internal/pattern"
	"git-ward/protocols/loop"
	"git-ward/protocols/review"
)

// Request is the content of the pull request that Ward keeps on a forge for a directive.
type Request struct {
	Review *review.Review
	Issue  int64 // from which the directive was made, 0 for none
	// Redact removes secrets from a text; nil means none. It gets the original text, because a
	// secret that was cut or escaped can no longer be recognized.
	Redact func(string) string
}

func (r Request) redacted(words diag.Untrusted) diag.Untrusted {
	if r.Redact == nil {
		return words
	}
	return diag.Untrusted(r.Redact(words.Raw()))
}

func (r Request) quote(words diag.Untrusted, most int) string { return Quote(r.redacted(words), most) }

// span quotes others' words within a line.
func (r Request) span(words diag.Untrusted) string { return Span(r.redacted(words), maxWords) }

// The limits of a request's body. What matters most fits in the first Top lines: each list there has
// at most so many lines, the most serious first, and the rest follows below.
const (
	Top         = 40
	maxFirst    = 6
	maxDecides  = 10
	maxUnread   = 4
	maxRefused  = 3
	maxWords    = 200      // bytes of others' words on one line
	maxQuoted   = 3 << 10  // bytes of one of the agent's texts
	maxSaid     = 6        // number of the agent's texts
	maxTail     = 4 << 10  // bytes of the end of a criterion's output
	maxStat     = 6 << 10  // bytes of the diffstat
	maxBelow    = 36 << 10 // bytes of the body after which only the next steps are added: forges accept 64 KiB
	maxHeadline = 120      // bytes of a title
)

// Title returns the request's title. It begins with the directive's name, so that a forge cannot
// read a prefix like "Draft:" in the rest.
func (r Request) Title() string {
	return Plain(r.redacted(diag.Untrusted(r.Review.Directive+": ")+r.Review.Title), maxHeadline)
}

// Message returns the message of the commit by which a forge merges the request: that of `git ward
// take` without mentions, and without words that close issues.
func (r Request) Message() string {
	var lines []string
	for line := range strings.Lines(r.Review.TakeMessage(false, nil)) {
		line = strings.TrimSpace(line)
		if by, ok := strings.CutPrefix(line, assisted); ok && !named(by) {
			continue
		}
		lines = append(lines, Plain(r.redacted(diag.Untrusted(line)), 2*maxWords))
	}
	return strings.Join(lines, "\n")
}

// page is a body under construction.
type page struct{ strings.Builder }

func (p *page) line(format string, args ...any) { fmt.Fprintf(p, format+"\n", args...) }

func (p *page) full() bool { return p.Len() > maxBelow }

// list writes a bold heading and at most most lines; if there are more items, the last line counts
// them, and rest writes them below.
func (p *page) list(head string, items []string, most int) {
	if len(items) == 0 {
		return
	}
	p.line("**%s**", head)
	for i, item := range items {
		if i == most-1 && len(items) > most {
			p.line("- and %d more, below", len(items)-i)
			break
		}
		p.line("- %s", item)
	}
	p.line("")
}

// rest writes the items that list left out.
func (p *page) rest(head string, items []string, most int) {
	if len(items) <= most {
		return
	}
	p.line("**%s**\n", head)
	items = items[most-1:]
	for i, item := range items {
		if p.full() {
			p.line("- and %d more: git ward review on the host shows all", len(items)-i)
			break
		}
		p.line("- %s", item)
	}
	p.line("")
}

// Body returns the request's body. Its first Top lines say who proved the work and how strongly, what
// to look at first, the criteria, the changed files that no criterion read, the cost, and what the
// fence refused. Then come the rest of these lists, the changes, and the agent's own words.
func (r Request) Body() string {
	p := &page{}
	first, decides, unread, refused := r.first(), r.decides(), r.unread(), r.refused()
	for _, line := range r.proof() {
		p.line("%s", line)
	}
	p.line("")
	p.list("Look first", first, maxFirst)
	p.list("What decides", decides, maxDecides)
	p.list("Changed, and read by no criterion", unread, maxUnread)
	if r.Review.Unit != "" {
		p.line("**Cost**: %s\n", apart(diag.Clean(r.Review.Cost.Words())))
	}
	p.list("Refused by the fence", refused, maxRefused)

	p.rest("Look at, too", first, maxFirst)
	p.rest("What decides, too", decides, maxDecides)
	p.rest("Changed, and read by no criterion, too", unread, maxUnread)
	p.rest("Refused by the fence, too", refused, maxRefused)
	r.below(p)
	return p.String()
}

// proof says in at most three lines who proved the work and how strongly.
func (r Request) proof() []string {
	w, v := r.Review, r.Review.Word
	from := w.Directive
	if r.Issue > 0 {
		from += fmt.Sprintf(", of issue #%d", r.Issue)
	}
	switch {
	case v == nil && !w.Claimed:
		return []string{"**Not proved yet**: the agent is at work on " + from + ", and has claimed nothing."}
	case v == nil:
		return []string{fmt.Sprintf("**Not proved yet**: %s (%s) claims `%s`, and Ward's host has not judged it.", w.Unit, from, w.Commit)}
	}
	proved := "**" + v.Verdict + "** for " + from
	switch {
	case !w.Current:
		proved = "**Not proved** for " + from + " as it stands; for an earlier text of it, " + v.Verdict
	case v.Verdict == loop.None:
		proved = "**Not proved** (NONE) for " + from
	}
	ran := fmt.Sprintf("Ward's host ran all of it %s on `%s`, in %s, behind %s; no model decided.",
		map[bool]string{true: "once", false: fmt.Sprintf("%d times, with one result,", v.Trials)}[v.Trials == 1],
		v.Commit, r.span(diag.Untrusted(v.Image)), r.span(diag.Untrusted(v.Fence)))
	if !v.Agree {
		ran = strings.Replace(ran, "with one result", "with different results", 1)
	}
	if v.Fence == loop.FenceNone {
		ran = strings.Replace(ran, "behind `none`", "**without a fence**", 1)
	}
	lines := []string{fmt.Sprintf("%s: %s", proved, r.span(diag.Untrusted(v.Reason))), ran}
	if by := wanted(v); by != "" {
		lines = append(lines, by)
	}
	if v.Verdict != loop.None {
		lines = append(lines, fmt.Sprintf("How sure: %s, %s%s. %s", v.Lane.Words(), loop.RungWords(v.Rung), process(v.Process), loop.Caveat))
	}
	return lines
}

// wanted names the comment by which a person can accept a claim that waits for a decision.
func wanted(v *loop.Verdict) string {
	switch {
	case v.Verdict != loop.None:
		return ""
	case v.OnlyGuards:
		return "If it is enough that these held before the work, comment `/ward include " + Guards + "`."
	case v.NotIncluded:
		return "If what was left out is work, comment `/ward include`, or that with paths behind it; then it is judged again."
	}
	return ""
}

// process says whether the work could fake its tests' results.
func process(of string) string {
	switch of {
	case loop.SameProcess:
		return "; the work runs in its tests' process and could report in their name"
	case loop.SeparateProcess:
		return "; separate: each criterion starts the work from outside, does not open it, or is held out"
	}
	return ""
}

// first lists what a reader must not miss.
func (r Request) first() (list []string) {
	w := r.Review
	for _, s := range w.Firsts() {
		list = append(list, r.span(diag.Untrusted(s)))
	}
	if w.Claimed && w.Branch != "" && w.Branch != w.Commit && w.Record != "" {
		list = append(list, fmt.Sprintf("the agent's branch is at `%s` by now, which nobody judged", w.Branch))
	}
	return list
}

// decides lists the criteria with their results, those that are not met first.
func (r Request) decides() (list []string) {
	criteria := slices.Clone(r.Review.Criteria)
	slices.SortStableFunc(criteria, func(a, b review.Criterion) int { return rank(a) - rank(b) })
	for _, c := range criteria {
		line := c.Result
		if c.Result != "met" {
			line = "**" + line + "**"
		}
		line += ": " + r.span(c.Text)
		if c.Command != "" && !strings.Contains(c.Text.Raw(), c.Command.Raw()) {
			line += " by " + r.span(c.Command)
		}
		var ends []string
		switch {
		case c.Trouble != "":
			ends = append(ends, r.span(c.Trouble))
		case c.ExitCode != nil:
			ends = append(ends, fmt.Sprintf("exit %d", *c.ExitCode))
		}
		if c.Control != "" && c.Trouble.Raw() != c.Control {
			ends = append(ends, c.Control) // Ward's own text, so it needs no quoting
		}
		if c.Separate {
			ends = append(ends, "separate from the work")
		}
		if len(ends) > 0 {
			line += " (" + strings.Join(ends, "; ") + ")"
		}
		list = append(list, line)
	}
	return list
}

func rank(c review.Criterion) int {
	return slices.Index([]string{"not met", "not run", "met"}, c.Result)
}

// unread lists changed files that no criterion's command opened.
func (r Request) unread() (list []string) {
	v := r.Review.Word
	if v == nil {
		return nil
	}
	if v.NotObserved != "" {
		list = append(list, "not all is known: "+r.span(diag.Untrusted(v.NotObserved)))
	}
	for _, path := range v.NeverOpened {
		list = append(list, r.span(diag.Untrusted(path)))
	}
	return list
}

func (r Request) refused() (list []string) {
	for _, at := range r.Review.Refused {
		line := r.span(at.Address)
		if at.Setting != "" {
			line += ": " + r.span(diag.Untrusted(at.Setting)) + " would allow it"
		}
		list = append(list, line)
	}
	return list
}

// below writes the rest of the body: the changes, the agent's words, the commands for a reader, and
// the trailers, which a squash merge copies into the commit.
func (r Request) below(p *page) {
	w := r.Review
	for _, c := range w.Criteria[:min(len(w.Criteria), maxDecides)] {
		if tail := r.quote(c.Tail, maxTail); tail != "" && !p.full() {
			p.line("**How it ended**, %s\n\n%s\n", r.span(c.Text), tail)
		}
	}
	if len(w.Changes) > 0 {
		p.line("**Changes**\n\n%s\n", r.quote(diag.Untrusted(strings.Join(append(review.Stat(w.Changes), review.Summary(w.Changes)), "\n")), maxStat))
	}
	touched := 0
	for _, part := range []struct {
		what string
		list []diag.Untrusted
	}{
		{"instructions to agents", w.Touched.Instructions}, {"protected, because it runs code or steers tools", w.Touched.Protected},
		{"new at the root", w.Touched.NewAtRoot}, {"a test, or what is frozen", w.Touched.Tests},
	} {
		for _, path := range part.list {
			if p.full() {
				break
			}
			if touched++; touched == 1 {
				p.line("**Touched**\n")
			}
			p.line("- %s: %s", part.what, r.span(path))
		}
	}
	if touched > 0 {
		p.line("")
	}
	heard := w.Heard()
	for _, said := range heard[:min(len(heard), maxSaid)] {
		if words := r.quote(said.Text, maxQuoted); words != "" && !p.full() {
			p.line("**The agent's own word, proved by nothing** (%s)\n\n%s\n", r.span(diag.Untrusted(said.Where)), words)
		}
	}
	p.line("Merging this takes the work; closing it pauses it. A comment that begins with `/ward clarify TEXT`, `/ward retry` or `/ward drop` says more, by somebody who may write here.\n")
	if w.Word != nil {
		for _, by := range w.Word.Assisted {
			if named(by) {
				p.line(assisted+"%s", by)
			}
		}
	}
	p.line("Ward-Directive: %s", w.Directive)
	if w.Record != "" {
		p.line("Ward-Record: %s", w.Record)
	}
}

// assisted begins the trailer that names a program and its model.
const assisted = "Assisted-by: "

func named(by string) bool { return trailer.MatchString(by) && apart(by) == by }

// trailer matches a program and its model. It allows letters, digits and a few other characters, so
// that no forge can find an address in it.
var trailer = pattern.New(`^[A-Za-z]([A-Za-z0-9 _:/+-]|[0-9]\.[0-9]){0,99}$`)
