package view

import (
	"testing"

	"git-ward/protocols/comms"
)

// TestSpentOf: what a directive allows itself is said after what was used of it.
func TestSpentOf(t *testing.T) {
	tokens, money := int64(1200), "0.25"
	s := Spent{Iterations: 1, Allowed: 3, Tokens: &tokens, Money: &money}
	if words := s.Words(); words != "1 of 3 iterations, 1200 tokens, $0.25" {
		t.Error(words)
	}
	s.Bound(comms.Options{MaxTokens: 9000, MaxCost: "1.50"})
	if words := s.Words(); words != "1 of 3 iterations, 1200 tokens of 9000, $0.25 of 1.50" {
		t.Error(words)
	}
}
