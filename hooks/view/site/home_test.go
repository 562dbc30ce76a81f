package site

import (
	"strings"
	"testing"
	"time"

	"git-ward/hooks/view"
	"git-ward/protocols/review"
	"git-ward/protocols/uow"
)

// TestOutageWaitsForNobody: an outage has its card, and is none of the things that are
// counted as waiting for the reader.
func TestOutageWaitsForNobody(t *testing.T) {
	outage := view.Waiting{Kind: view.Outage, For: uow.ForCause, Directive: "D-1", What: "what it needs is out"}
	asks := view.Waiting{Kind: view.Question, For: uow.ForYou, Directive: "D-2", What: "it asks you something"}
	for want, list := range map[string][]view.Waiting{"<h1>Nothing waits for you</h1>": {outage}, "<h1>One thing waits for you</h1>": {asks, outage}} {
		data, _, err := Pages{}.home(&view.Overview{Waiting: list}, ask{})
		if text := string(data); err != nil || !strings.Contains(text, want) || !strings.Contains(text, "What it needs is out.") {
			t.Errorf("it has no %s: %v\n%s", want, err, text)
		}
	}
}

// TestQueuedIsSaid: a directive that was begun and that nobody works on is queued, in the list and
// on its own page.
func TestQueuedIsSaid(t *testing.T) {
	d := view.Line{Standing: review.Standing{Directive: "D-1", State: review.Working, Waits: uow.NobodyAtIt.Waiting("D-1", "D-1.1", "")}, Words: "queued"}
	if c := newLine(d, links{}).Chip; c.Words != "queued" || c.Class != stateClass[review.Working] {
		t.Errorf("%+v", c)
	}
	if c := newDirective(&view.Directive{Line: d}, links{}, time.Time{}).Chip; c.Words != "queued" {
		t.Errorf("%+v", c)
	}
	d.Waits = uow.IsAtWork.Waiting("D-1", "D-1.1", "")
	if c := newLine(d, links{}).Chip; c.Words != "in progress" {
		t.Errorf("%+v", c)
	}
}

// TestWaitsOnce: where a card says what a directive waits for, its line in the list does not say it
// again, and one group of the list needs no list of groups.
func TestWaitsOnce(t *testing.T) {
	d := view.Line{Standing: review.Standing{Directive: "D-1", State: review.Unproved}, WaitsWords: "you, the budget is spent: git ward directive edit D-1"}
	o := &view.Overview{Directives: []view.Line{d}, Waiting: []view.Waiting{{Kind: view.Unproved, For: uow.ForYou, Directive: "D-1", What: "the budget is spent"}}}
	for asked, want := range map[ask]string{{}: "The budget is spent", {Search: "D-1"}: "the budget is spent"} {
		data, _, err := Pages{}.home(o, asked)
		if text := string(data); err != nil || !strings.Contains(text, want) || strings.Count(strings.ToLower(text), "the budget is spent") != 1 {
			t.Errorf("%+v: it is not said once: %v\n%s", asked, err, text)
		} else if strings.Contains(text, "Directives by state") {
			t.Errorf("%+v: one group, and a list of groups\n%s", asked, text)
		}
	}
}
