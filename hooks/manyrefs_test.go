package hooks_test

import (
	"fmt"
	"strings"
	"testing"

	"git-ward/internal/tier"
)

// TestManyRefs: a push that makes, moves or deletes a thousand refs is judged and recorded as one
// that moves a single ref is, with the agent's rights and with a person's, at once and in four.
func TestManyRefs(t *testing.T) {
	tier.Full(t, "pushes of a thousand refs")
	p := patient(t)
	limitTo(p, "agent_branches", "1000")
	p.Git("switch", "--quiet", "--create", "topic")
	p.Commit("f", "1")
	p.Commit("f", "2")
	recorded := func() int {
		t.Helper()
		return strings.Count(p.Run(p.Bare, "git-ward", "log", "--json", "-n", "1000"), "\n")
	}
	for _, who := range []struct {
		space string
		push  func(...string) (string, error)
	}{{"agent/", p.AgentPush}, {"", p.Push}} {
		for _, step := range []int{1000, 250} {
			for _, from := range []string{"topic~1", "topic", ""} { // made, moved, deleted
				before := recorded()
				for first := 0; first < 1000; first += step {
					specs := make([]string, step)
					for i := range specs {
						specs[i] = fmt.Sprintf("%s:refs/heads/%sm%d", from, who.space, first+i)
					}
					if out, err := who.push(specs...); err != nil || strings.Contains(out, "not recorded") {
						t.Fatalf("%q by %d from %q: %v\n%.2000s", who.space, step, from, err, out)
					}
				}
				if n := recorded() - before; n != 1000/step {
					t.Errorf("%q by %d from %q: %d pushes recorded, want %d", who.space, step, from, n, 1000/step)
				}
			}
		}
	}
	p.Fsck()
}
