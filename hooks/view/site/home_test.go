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
