package command

import (
	"strings"
	"testing"

	"git-ward/protocols/loop"
	"git-ward/protocols/loop/looptest"
	"git-ward/protocols/review"
)

// TestExportsDoubts: what a verdict names against its own word stands in what other tools read.
func TestExportsDoubts(t *testing.T) {
	for words, doubt := range looptest.Doubtful {
		v := loop.Verdict{Verdict: loop.Exact, Criteria: []loop.Outcome{{Criterion: "it doubles", Met: true}}}
		doubt(&v)
		list := (&work{Review: review.Review{Word: &v}}).remarks()
		if len(list) != 1 || !strings.Contains(list[0].Message, words) || reviewDoc(list[0].Rule) == "" {
			t.Errorf("%s: %v", words, list)
		}
	}
}
