package looptest

import (
	"strings"
	"testing"

	"git-ward/protocols/loop"
)

// TestDoubtful: each makes a verdict name one thing against its word, in the words that its
// readers are held to; nothing does that by itself.
func TestDoubtful(t *testing.T) {
	for words, doubt := range Doubtful {
		v := loop.Verdict{Verdict: loop.Exact, Criteria: []loop.Outcome{{Criterion: "it doubles", Met: true}}}
		if len(v.Against()) > 0 {
			t.Fatal(v.Against())
		}
		doubt(&v)
		if list := v.Against(); len(list) != 1 || !strings.Contains(list[0].Words(), words) || !strings.Contains(list[0].One, words) {
			t.Errorf("%s: %v", words, list)
		}
	}
	two := loop.Doubt{One: "lost test", Many: "lost tests", Of: []string{"TestA", "TestB"}}
	if got := two.Words(); got != "2 lost tests: TestA, TestB" {
		t.Error(got)
	}
}
