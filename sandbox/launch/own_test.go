package launch

import (
	"strings"
	"testing"

	"git-ward/internal/config"
	"git-ward/internal/gittest"
	"git-ward/sandbox/gateway"
)

// TestOwn: what a directive allows of the models is what the control branch says when a call
// is made.
func TestOwn(t *testing.T) {
	t.Parallel()
	p := gittest.New(t)
	w := &worker{launch: &launch{spec: Spec{Bare: p.Bare, Settings: config.Default()}}}
	const none = gateway.Unlimited
	for _, step := range []struct {
		options, directive string
		want               gateway.Budget
	}{
		{"", "D-1", gateway.Budget{Tokens: none, Cost: none}},
		{"- max_tokens: 20000\n", "D-1", gateway.Budget{Tokens: 20_000, Cost: none}},
		{"- max_tokens: 30000\n- max_cost: 0.50\n", "D-1", gateway.Budget{Tokens: 30_000, Cost: 500_000_000_000}},
		{"- max_cost: 999999.999999999999\n", "D-1", gateway.Budget{Tokens: none, Cost: 999_999_999_999_999_999}},
		{"- max_cost: 1\n", "D-2", gateway.Budget{Tokens: none, Cost: none}},
		{"- max_cost: 2\n", "shell", gateway.Budget{Tokens: none, Cost: none}},
	} {
		p.Commit("COMMS.md", "# COMMS\n\n## Directives\n\n### D-1: a\n\n- [ ] x (`false`)\n"+step.options+"\n## Reports\n\n## Questions\n")
		if out, err := p.Push("HEAD:refs/heads/main"); err != nil {
			t.Fatal(out, err)
		}
		if got, err := w.Own(step.directive); got != step.want || err != nil {
			t.Errorf("%q of %s: %v, %v, want %v", step.options, step.directive, got, err, step.want)
		}
	}
	w.launch.spec.Bare = t.TempDir()
	if got, err := w.Own("D-1"); err == nil || strings.Contains(err.Error(), "max_") {
		t.Errorf("a repository that cannot be read allows %v: %v", got, err)
	}
}
