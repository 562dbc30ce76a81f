package model

import "testing"

func TestTally(t *testing.T) {
	for _, c := range []struct {
		tally Tally
		want  string
	}{
		{Tally{Turns: 3, Calls: 2}, ""}, // the script counts no tokens
		{Tally{1, 1, Usage{Input: 999, Output: 1}}, "\n\n(1 turn, 1 call of tools, 999 tokens in, 1 out.)"},
		{Tally{0, 12, Usage{Input: 1234567, Cached: 1000, Output: 20}}, "\n\n(12 calls of tools, 1,234,567 tokens in (1,000 from the cache), 20 out.)"},
	} {
		if got := c.tally.Sentence(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
