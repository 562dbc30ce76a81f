package plan

import (
	"fmt"
	"strings"
	"testing"
)

// mesh is so many plans that all call each other.
func mesh(n int) mapTree {
	files := mapTree{}
	for i := range n {
		var b strings.Builder
		b.WriteString("# FSM: sub\n")
		for j := range n {
			if j != i {
				fmt.Fprintf(&b, "call_plan plans/p%03d.txt\n", j)
			}
		}
		files[fmt.Sprintf("plans/p%03d.txt", i)] = b.String()
	}
	return files
}

// TestMesh: 400 plans that call each other took 200 seconds, one search for each
// call. Each call still has its finding.
func TestMesh(t *testing.T) {
	files := mesh(400)
	l := NewLinter(flatTree{files}, nil)
	total := 0
	for path := range files {
		found, err := l.Lint(path)
		if err != nil {
			t.Fatal(err)
		}
		total += len(found)
	}
	if total != 400*399 {
		t.Errorf("%d findings for %d calls", total, 400*399)
	}
	if l.searched > 2*maxSearch {
		t.Errorf("%d calls were followed in search of circles, more than %d", l.searched, maxSearch)
	}
}
