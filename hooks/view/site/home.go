package site

import (
	"fmt"
	"slices"
	"strings"

	"git-ward/hooks/view"
	"git-ward/internal/diag"
	"git-ward/internal/live"
	"git-ward/protocols/review"
	"git-ward/protocols/uow"
)

// The limits of one page of the overview.
const (
	maxWaiting = 50
	maxLines   = 200
)

// stateClass is the CSS class of a state.
var stateClass = map[review.State]string{review.Waiting: "wait", review.Ready: "good", review.Unproved: "bad", review.Working: "work", review.Taken: "good"}

// An ask is a reader's query to the overview.
type ask struct {
	Search, State string
	Page          int // from 1
}

// home is the data of a page of the overview.
type home struct {
	WaitingWords string
	Waiting      []card
	MoreWaiting  string
	Host         *host
	Warnings     []string
	Ask          asking
	Groups       []group
	None         string // why no directive is shown
	Pages        *pager
}

type host struct{ Class, Words string }

// asking is the form for an ask.
type asking struct {
	Form   bool
	Search string
	States []option
}

type option struct {
	Name, Words string
	Count       int
	Chosen      bool
}

type card struct {
	view.Waiting
	Class, Name, Href, Review string
	Quote                     string // the beginning of the agent's own words
}

type group struct {
	ID, Words string
	Count     int // on all pages
	Open      bool
	Lines     []line
}

type line struct {
	Name, Href string
	Title      diag.Untrusted
	Chip       chip
	Facts      string
	Live       string
}

// A pager links to the neighbouring pages of a list.
type pager struct {
	Words, Before, BeforeWords, After, AfterWords string
}

// newHome makes one page of the overview. works reports whether a directive's work has a page; more
// says whether another page of the overview follows.
func newHome(o *view.Overview, l links, a ask, works func(name string) bool) (h home, more bool) {
	h = home{Host: newHost(o.Host), Warnings: o.Warnings, WaitingWords: waitingWords(o)}
	if a.Page <= 1 && a.Search == "" && a.State == "" {
		h.cards(o, l, works)
	} else {
		h.WaitingWords = "Directives"
	}
	lines := slices.DeleteFunc(slices.Clone(o.Directives), func(d view.Line) bool { return !a.wants(d) })
	sorted := sortLines(lines)
	h.Ask = asking{Form: l.Live, Search: a.Search, States: options(o.Directives, a.State)}
	if len(sorted) == 0 {
		h.None = "There is no directive yet: git ward directive new writes one."
		if len(o.Directives) > 0 {
			h.None = "No directive is like that."
		}
	}
	from := min(len(sorted), (max(1, a.Page)-1)*maxLines)
	to := min(len(sorted), from+maxLines)
	for i, d := range sorted { // its card says what it waits for
		if slices.ContainsFunc(h.Waiting, func(c card) bool { return c.Directive == d.Directive }) {
			sorted[i].WaitsWords = ""
		}
	}
	h.Groups = groups(sorted[from:to], lines, l, a)
	h.Pages = a.pager(l, from, to, len(sorted))
	return h, to < len(sorted)
}

// cards fills in what waits, first what only the PM can move.
func (h *home) cards(o *view.Overview, l links, works func(name string) bool) {
	for _, w := range o.Waiting[:min(len(o.Waiting), maxWaiting)] {
		c := card{Waiting: w, Class: kindClass[w.Kind], Name: w.Directive, Href: l.Directive(w.Directive)}
		switch {
		case w.Unit != "":
			c.Name = w.Unit
		case w.Directive == "": // without a directive there is no page to link to
			c.Name, c.Href = "Ward", ""
		}
		if w.Kind == view.Ready || w.Kind == view.Unproved {
			c.Name = w.Directive
			if works(w.Directive) {
				c.Review = l.Review(w.Directive)
			}
		}
		c.Quote = quoteOf(w.Words)
		h.Waiting = append(h.Waiting, c)
	}
	if n := len(o.Waiting) - maxWaiting; n > 0 {
		h.MoreWaiting = fmt.Sprintf("And %d more; git ward says them all.", n)
	}
}

// quoteOf cuts the agent's words to the size of a card.
func quoteOf(words diag.Untrusted) string {
	const most = 600 // bytes
	text := strings.Trim(words.Lines(), "\n")
	if len(text) > most {
		return cutAt(text, most) + " ..."
	}
	return text
}

// kindClass is the CSS class of a card.
var kindClass = map[view.Kind]string{view.Incident: "bad", view.Unproved: "bad", view.Ready: "good"}

// waitingWords counts what waits for the PM. An outage is not counted: it ends without him.
func waitingWords(o *view.Overview) string {
	n := 0
	for _, w := range o.Waiting {
		if w.For == uow.ForYou {
			n++
		}
	}
	switch n {
	case 0:
		return "Nothing waits for you"
	case 1:
		return "One thing waits for you"
	}
	return fmt.Sprintf("%d things wait for you", n)
}

func newHost(h *view.Host) *host {
	switch {
	case h == nil || !h.MayAsk:
		return nil
	case h.Running:
		words := "The launcher runs"
		if !h.Since.IsZero() {
			words += " since " + moment(h.Since)
		}
		if !h.LastWork.IsZero() {
			words += "; the last work was at " + moment(h.LastWork)
		}
		return &host{"", words + "."}
	}
	return &host{"", "No launcher runs here: what waits for the agent does not move until git ward launch."}
}

func (a ask) wants(d view.Line) bool {
	if a.State != "" && a.State != string(d.State) {
		return false
	}
	search := strings.ToLower(strings.TrimSpace(a.Search))
	return search == "" || strings.EqualFold(d.Directive, search) || strings.Contains(strings.ToLower(d.Title.String()), search)
}

// sortLines sorts directives by state, in the order of review.States, and then newest first.
func sortLines(lines []view.Line) []view.Line {
	sorted := slices.Clone(lines)
	slices.Reverse(sorted)
	slices.SortStableFunc(sorted, func(a, b view.Line) int {
		return slices.Index(review.States, a.State) - slices.Index(review.States, b.State)
	})
	return sorted
}

// groups groups the lines of one page by state, each with the state's count over all pages.
func groups(shown, all []view.Line, l links, a ask) (list []group) {
	for _, s := range review.States {
		g := group{ID: "state-" + string(s), Words: strings.TrimSuffix(sentence(s.Words()), "."), Open: !s.Over() || a.State != "" || a.Search != ""}
		for _, d := range all {
			if d.State == s {
				g.Count++
			}
		}
		for _, d := range shown {
			if d.State == s {
				g.Lines = append(g.Lines, newLine(d, l))
			}
		}
		if len(g.Lines) > 0 {
			list = append(list, g)
		}
	}
	return list
}

func newLine(d view.Line, l links) line {
	p := line{Name: d.Directive, Href: l.Directive(d.Directive), Title: d.Title, Chip: chipOfLine(d), Facts: factsOf(d)}
	if d.Live != nil && l.Live && d.State == review.Working {
		for _, e := range newEvents([]live.Event{*d.Live}) {
			p.Live = shorten(e.What+" "+e.Text, 140)
		}
	}
	return p
}

// chipOf returns the chip of a state.
func chipOf(s review.State) chip { return chip{stateClass[s], s.Words()} }

// chipOfLine returns the chip of a directive in a list, where one that was begun may be queued.
func chipOfLine(d view.Line) chip {
	c := chipOf(d.State)
	if d.Queued() {
		c.Words = d.Words
	}
	return c
}

// factsOf returns the text after the chip: what the directive waits for, and its cost.
func factsOf(d view.Line) string {
	var words []string
	if d.WaitsWords != "" {
		words = append(words, d.WaitsWords)
	}
	if d.Worker != nil && d.State == review.Working {
		words = append(words, "worked on by "+d.Worker.Holder+" ("+d.Worker.Where+")")
	}
	if d.Spent.Iterations > 0 {
		words = append(words, d.Spent.Words())
	}
	return strings.Join(words, " · ")
}

func options(lines []view.Line, chosen string) (list []option) {
	for _, s := range review.States {
		o := option{Name: string(s), Words: s.Words(), Chosen: chosen == string(s)}
		for _, d := range lines {
			if d.State == s {
				o.Count++
			}
		}
		if o.Count > 0 || o.Chosen {
			list = append(list, o)
		}
	}
	return list
}

// pager links to the pages before and after this one; nil if one page has everything.
func (a ask) pager(l links, from, to, all int) *pager {
	if from == 0 && to == all {
		return nil
	}
	n := max(1, a.Page)
	link := func(n int) string {
		if !l.Live {
			return numbered("index", n)
		}
		return asked("/", "q", a.Search, "state", a.State, "page", fmt.Sprint(n))
	}
	p := &pager{Words: fmt.Sprintf("%d to %d of %s.", min(from+1, to), to, diag.Count(all, "directive"))}
	if from > 0 {
		p.Before, p.BeforeWords = link(n-1), "the page before"
	}
	if to < all {
		p.After, p.AfterWords = link(n+1), "the next page"
	}
	return p
}
