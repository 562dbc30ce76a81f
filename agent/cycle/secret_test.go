package cycle

import (
	"strings"
	"testing"

	"git-ward/agent/stop"
	"git-ward/internal/tier"
	"git-ward/protocols/loop"
)

// TestNoSecretInEvidence: what a model says with a secret in it is on the record without
// the secret, whether its work was done, was stopped, or was reviewed.
func TestNoSecretInEvidence(t *testing.T) {
	tier.First(t, "it runs the loop twice, each a second of git's")
	const secret = "as told" // the fixture's Solver says it
	stopped := func(s *site, _ Brief, _ *Subagents) error {
		if err := s.write("work", "half"); err != nil {
			return err
		}
		return stop.New(stop.Spent, "The tokens are spent, %s.", secret)
	}
	for name, solve := range map[string]func(*site, Brief, *Subagents) error{"done": nil, "stopped": stopped} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, asked, 0)
			s.residuals, s.solve = []string{"0"}, solve
			s.store.Redact = func(text string) string { return strings.ReplaceAll(text, secret, "[secret]") }
			said := []loop.Learning{{Lane: "C", Text: secret}}
			s.review = Review{Tried: []string{secret}, Succeeded: said, Failed: said, Open: []string{secret}, Diagnosis: secret}
			s.ends()
			kept := s.git(s.bare, "", "log", "--patch", "--first-parent", "--diff-merges=first-parent", ref)
			if strings.Contains(kept, secret) || strings.Count(kept, "[secret]") < 3 {
				t.Error(kept)
			}
		})
	}
}
