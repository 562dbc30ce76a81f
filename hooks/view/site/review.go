package site

import (
	"fmt"
	"slices"
	"strings"

	"git-ward/internal/diag"
	"git-ward/protocols/comms"
	"git-ward/protocols/loop"
	"git-ward/protocols/review"
)

// The limits of the lists on a review's page.
const (
	maxFiles = 500
	maxLook  = 50
	maxSaid  = 50
	maxLead  = 600 // bytes of the line with the outcome
)

// work is the data of a review's page.
type work struct {
	Name, Up string
	Title    diag.Untrusted
	Chip     chip
	Outcome  string
	Commands []command
	Look     []look
	Criteria []criterion
	Caveat   string
	Summary  string
	Files    []changed
	FilesCut string
	Patch    []file
	PatchCut string
	Show     string // the command that shows all
	Said     []quote
	Cost     []fact
}

// look is something that a reader should look at first.
type look struct {
	What string
	Path diag.Untrusted
}

type changed struct {
	Path           diag.Untrusted
	Added, Deleted int
	Note           string
}

type quote struct {
	Where string
	Text  long
}

func newWork(r *review.Review, l links) work {
	p := work{Name: r.Directive, Title: r.Title, Up: l.Directive(r.Directive), Outcome: shorten(outcome(r), maxLead), Chip: chipOf(r.State),
		Commands: commands(r.Commands), Summary: review.Summary(r.Changes), Show: "git ward review " + r.Directive, Cost: costFacts(r.Cost), Look: looks(r)}
	p.Summary = strings.ToUpper(p.Summary[:1]) + p.Summary[1:] + "."
	if r.Word != nil {
		p.Caveat = r.Word.Caveat
	}
	for _, c := range r.Criteria[:min(len(r.Criteria), maxCriteria)] {
		p.Criteria = append(p.Criteria, newCriterion(c))
	}
	for _, c := range r.Changes[:min(len(r.Changes), maxFiles)] {
		p.Files = append(p.Files, changed{c.Path, c.Added, c.Deleted, changeNote(c)})
	}
	if n := len(r.Changes) - maxFiles; n > 0 {
		p.FilesCut = fmt.Sprintf("And %s more.", diag.Count(n, "file"))
	}
	whole := false
	p.Patch, whole = files(r.Patch)
	if !whole || r.Omitted > 0 {
		p.PatchCut = "The difference is too large for this page, and what is left out is named above. All of it:"
	}
	heard := r.Heard()
	for i, s := range heard[:min(len(heard), maxSaid)] {
		p.Said = append(p.Said, quote{diag.Clean(s.Where), newLong(fmt.Sprintf("said-%d", i), s.Text)})
	}
	return p
}

// A command is a line to type; Why is the reason and not part of the line.
type command struct{ Line, Why string }

// commands parses the commands of a review. Some end with a reason in brackets.
func commands(lines []string) (list []command) {
	for _, l := range lines {
		line, why, ok := strings.Cut(strings.TrimSuffix(l, ")"), " (")
		if !ok {
			line = l
		}
		list = append(list, command{line, why})
	}
	return list
}

// outcome describes the result of the work.
func outcome(r *review.Review) string {
	var words []string
	if status := comms.Status(r.Report); r.State == review.Unproved && status.Words() != "" {
		words = append(words, status.Words())
	}
	switch v := r.Word; {
	case v == nil:
		return diag.Clean(r.Outcome)
	case v.Verdict == loop.None:
		words = append(words, loop.VerdictWords(v.Verdict)+": "+diag.Clean(v.Reason))
	default:
		words = append(words, loop.VerdictWords(v.Verdict))
	}
	if !r.Current {
		words = append(words, "for another text of the directive")
	}
	return strings.Join(words, "; ")
}

// looks lists what a reader should look at first, at most maxLook of each kind.
func looks(r *review.Review) (list []look) {
	seen := map[string]int{}
	for _, m := range r.Looks() {
		if seen[m.What]++; seen[m.What] <= maxLook {
			list = append(list, look{diag.Clean(m.What), m.Path})
		}
	}
	for _, l := range slices.Clone(list) {
		if n := seen[l.What] - maxLook; n > 0 {
			seen[l.What] = 0
			list = append(list, look{fmt.Sprintf("%s: and %d more", l.What, n), ""})
		}
	}
	return list
}

func newCriterion(c review.Criterion) criterion {
	p := criterion{Result: c.Result, Class: "bad", Text: c.Text}
	switch {
	case c.Result == "met":
		p.Class = "good"
		return p
	case c.Result == "not run":
		p.Class = ""
		return p
	case c.ExitCode != nil:
		p.Result = fmt.Sprintf("not met, exit %d", *c.ExitCode)
	}
	p.Tail = tail(c.Trouble.Raw(), c.Tail.Raw())
	return p
}

// changeNote describes what the count of lines of a change does not show.
func changeNote(c review.Change) string {
	var words []string
	switch {
	case c.Old == "":
		words = append(words, "new "+string(c.New))
	case c.New == "":
		words = append(words, "deleted")
	case c.Old != c.New:
		words = append(words, fmt.Sprintf("%s, was %s", c.New, c.Old))
	case c.Old != review.File:
		words = append(words, string(c.New))
	}
	if c.Binary {
		words = append(words, fmt.Sprintf("binary, %s before and %s after", size(int(c.OldSize)), size(int(c.NewSize))))
	}
	if c.Target != "" {
		words = append(words, "to "+c.Target.String())
	}
	return strings.Join(words, "; ")
}
