package view

import (
	"testing"

	"git-ward/protocols/comms"
	"git-ward/protocols/review"
)

// TestSpentWords: what nobody counted is not 0.
func TestSpentWords(t *testing.T) {
	tokens, none, calls, money := int64(12000), int64(0), int64(2), "0.10"
	for want, s := range map[string]Spent{
		"nothing begun":                                                  {},
		"2 of 3 iterations, tokens not counted":                          {Iterations: 2, Allowed: 3},
		"0 of 3 iterations, 0 tokens":                                    {Tokens: &none, Allowed: 3},
		"2 of 3 iterations, 12,000 tokens, $0.10 (prices of 2026-11-01)": {Tokens: &tokens, Money: &money, Iterations: 2, Allowed: 3, Prices: "2026-11-01"},
		"1 of 3 iterations, 12,000 tokens (2 calls of them estimated)":   {Tokens: &tokens, Estimated: &calls, Iterations: 1, Allowed: 3},
		"1 of 3 iterations, 12,000 tokens by the agent's own count":      {Tokens: &tokens, CountedBy: review.ByAgent, Iterations: 1, Allowed: 3},
	} {
		if got := s.Words(); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
}

// TestSpentOf: what a directive allows itself is said after what was used of it.
func TestSpentOf(t *testing.T) {
	tokens, money := int64(1200), "0.25"
	s := Spent{Iterations: 1, Allowed: 3, Tokens: &tokens, Money: &money}
	if words := s.Words(); words != "1 of 3 iterations, 1,200 tokens, $0.25" {
		t.Error(words)
	}
	s.Bound(comms.Options{MaxTokens: 9000, MaxCost: "1.50"})
	if words := s.Words(); words != "1 of 3 iterations, 1,200 of 9,000 tokens, $0.25 of $1.50" {
		t.Error(words)
	}
}
