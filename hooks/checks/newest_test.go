package checks

import (
	"testing"

	"git-ward/protocols/loop"
)

// TestNewest: another directive's verdict on the same commit takes nothing back from the worker
// of one, and its own later one does.
func TestNewest(t *testing.T) {
	verdict := func(unit, says string) loop.Verdict { return loop.Verdict{Unit: unit, Verdict: says} }
	all := []loop.Verdict{verdict("D-1.1", loop.Exact), verdict("D-2.1", loop.None)}
	again := append(all, verdict("D-1.2", loop.None))
	for _, c := range []struct {
		verdicts  []loop.Verdict
		directive string
		want      loop.Verdict
	}{
		{all, "D-1", all[0]},
		{all, "D-2", all[1]},
		{all, "D-3", all[1]},
		{all, "", all[1]},
		{again, "D-1", again[2]},
	} {
		if got := newest(c.verdicts, c.directive); got.Unit != c.want.Unit || got.Verdict != c.want.Verdict {
			t.Errorf("of %d, for %q: %s %s", len(c.verdicts), c.directive, got.Unit, got.Verdict)
		}
	}
}
