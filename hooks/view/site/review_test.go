package site

import (
	"strings"
	"testing"

	"git-ward/protocols/loop"
	"git-ward/protocols/loop/looptest"
	"git-ward/protocols/review"
)

// TestLooksAtDoubts: what a verdict names against its own word stands first on the page.
func TestLooksAtDoubts(t *testing.T) {
	for words, doubt := range looptest.Doubtful {
		v := loop.Verdict{Verdict: loop.Exact, Criteria: []loop.Outcome{{Criterion: "it doubles", Met: true}}}
		doubt(&v)
		list := looks(&review.Review{Word: &v})
		if len(list) != 1 || !strings.Contains(list[0].What, words) {
			t.Errorf("%s: %v", words, list)
		}
	}
}
