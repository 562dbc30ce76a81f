package git

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"git-ward/internal/tier"
)

// TestLineage: what a lineage says of random histories is what git says.
func TestLineage(t *testing.T) {
	random := rand.New(rand.NewPCG(tier.Seed(t), 0))
	said := 0
	for range 4 {
		dir, run := newBare(t)
		var stream strings.Builder
		const commits = 24
		for i := range commits {
			fmt.Fprintf(&stream, "commit refs/heads/c%d\nmark :%d\ncommitter T <t@t> %d +0000\ndata 3\n%03[2]d\n", i, i+1, 1700000000+i)
			if i > 0 && random.IntN(12) > 0 { // else a root
				fmt.Fprintf(&stream, "from :%d\n", max(1, i-random.IntN(6)))
				if random.IntN(4) == 0 {
					fmt.Fprintf(&stream, "merge :%d\n", 1+random.IntN(i))
				}
			}
			stream.WriteString("\n")
		}
		run(stream.String(), "fast-import", "--quiet")
		ids := strings.Fields(run("", append([]string{"rev-parse"}, names(commits)...)...))
		r := Open(dir).Reader(t.Context())
		for _, tip := range ids[commits-3:] {
			l, err := r.Lineage(tip, ids, "nothing says this")
			if err != nil {
				t.Fatal(err)
			}
			for _, id := range ids {
				want, err := r.MergeBase(tip, id)
				if err != nil {
					t.Fatal(err)
				}
				base, ok, err := l.Base(id)
				if err != nil || ok && base != want {
					t.Errorf("the base of %s and %s: %s (%v), git: %s", tip, id, base, err, want)
				}
				if ok {
					said++
				}
				if has, _ := l.Contains(tip, id); has != (want == id) {
					t.Errorf("%s contains %s: %v", tip, id, has)
				}
			}
		}
		r.Close()
	}
	if said == 0 {
		t.Error("it never says a base")
	}
}

func names(n int) (list []string) {
	for i := range n {
		list = append(list, fmt.Sprintf("refs/heads/c%d", i))
	}
	return list
}
