package site

import (
	"strings"
	"testing"

	"git-ward/hooks/view"
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
