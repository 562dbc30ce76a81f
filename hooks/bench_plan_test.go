package hooks_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"git-ward/internal/benchtest"
)

// TestBenchPlanPush measures what the lint of a plan adds to a push: the same text
// is pushed as a plan and as prose, in turn.
func TestBenchPlanPush(t *testing.T) {
	benchtest.Only(t)
	p := newPair(t)
	for _, steps := range []int{10, 1_000, 100_000} {
		var took, base []time.Duration
		for i := range 11 {
			var b strings.Builder
			fmt.Fprintf(&b, "# FSM: sub\n# %d\n", i)
			for n := range steps / 2 {
				fmt.Fprintf(&b, "create_file_with_block out/f%d.md\nread_file out/f%d.md\n", n, n)
			}
			type variant struct {
				path string
				took *[]time.Duration
			}
			order := []variant{{"plans/p.txt", &took}, {"plans/p.md", &base}}
			if i%2 == 1 {
				order[0], order[1] = order[1], order[0]
			}
			for _, v := range order {
				p.Commit(v.path, b.String())
				start := time.Now()
				if out, err := p.Push("HEAD:refs/heads/agent/bench"); err != nil {
					t.Fatal(out)
				}
				*v.took = append(*v.took, time.Since(start))
			}
		}
		m, n := benchtest.Median(took), benchtest.Median(base)
		benchtest.Against(fmt.Sprintf("push of a plan of %d steps", steps), m, "the same text as prose", n)
	}
}
