package plan

import (
	"bufio"
	"fmt"
	"strings"
	"testing"
	"time"

	"git-ward/internal/benchtest"
)

// best is the shortest of five runs.
func best(run func()) time.Duration {
	shortest := time.Hour
	for range 5 {
		start := time.Now()
		run()
		shortest = min(shortest, time.Since(start))
	}
	return shortest
}

// flatTree is a mapTree that finds what is missing at once, as real trees do.
type flatTree struct{ mapTree }

func (f flatTree) Kind(path string) (Kind, error) {
	if _, ok := f.mapTree[path]; ok {
		return File, nil
	}
	return Missing, nil
}

// splitLines is the baseline: what any reader of a text has to do.
func splitLines(texts ...string) time.Duration {
	return best(func() {
		n := 0
		for _, text := range texts {
			for lines := bufio.NewScanner(strings.NewReader(text)); lines.Scan(); {
				n += len(strings.Fields(lines.Text()))
			}
		}
		if n == 0 {
			panic("nothing was read")
		}
	})
}

// steps is a plan of n steps that reads, writes, loops.
func steps(n int) string {
	var b strings.Builder
	b.WriteString("# FSM: sub\n")
	for i := range n / 4 {
		fmt.Fprintf(&b, "create_file_with_block out/file%d.md\nread_file out/file%d.md\nfor_each_file out/*.md\n  read_file {file1}\n", i, i)
	}
	return b.String()
}

// TestBenchLint: the lint of one plan is linear in its steps.
func TestBenchLint(t *testing.T) {
	benchtest.Only(t)
	for _, n := range []int{1_000, 10_000, 100_000} {
		text := steps(n)
		tree := mapTree{"p": text}
		took := best(func() {
			if found, err := NewLinter(flatTree{tree}, nil).Lint("p"); err != nil || len(found) > 0 {
				t.Fatal(render(found), err)
			}
		})
		base := splitLines(text)
		benchtest.Row(fmt.Sprintf("plan lint, %d steps (%.1f MB)", n, float64(len(text))/1e6), benchtest.MS(took)+fmt.Sprintf(", %.0f ns a step", float64(took.Nanoseconds())/float64(n)),
			"bufio and Fields "+benchtest.MS(base), benchtest.Ratio(took, base))
	}
}

// TestBenchLintTree: all plans of a tree, each calling three others.
func TestBenchLintTree(t *testing.T) {
	benchtest.Only(t)
	for _, n := range []int{500, 2_000} {
		tree, texts := mapTree{}, []string{}
		for i := range n {
			var b strings.Builder
			b.WriteString("# FSM: sub\n")
			level := i % 9
			for k := range 3 {
				if next := (i + 1 + 9*k*7); level < 8 && next < n && next%9 == level+1 {
					fmt.Fprintf(&b, "call_plan plans/p%d.txt\n", next)
				}
			}
			fmt.Fprintf(&b, "create_file_with_block out/%d\nread_file out/%d\nlist_files\n", i, i)
			tree[fmt.Sprintf("plans/p%d.txt", i)] = b.String()
			texts = append(texts, b.String())
		}
		// Callers of one callee twice would create its file twice: the findings are
		// part of the work.
		took := best(func() {
			l := NewLinter(flatTree{tree}, nil)
			for i := range n {
				if _, err := l.Lint(fmt.Sprintf("plans/p%d.txt", i)); err != nil {
					t.Fatal(err)
				}
			}
		})
		base := splitLines(texts...)
		benchtest.Row(fmt.Sprintf("plan lint, a tree of %d plans with calls", n), benchtest.MS(took)+fmt.Sprintf(", %.1f us a plan", float64(took.Microseconds())/float64(n)),
			"bufio and Fields "+benchtest.MS(base), benchtest.Ratio(took, base))
	}
}
