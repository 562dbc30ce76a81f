package review

import (
	"strings"
	"testing"

	"git-ward/protocols/loop"
)

// TestNotSeenFirst: criteria whose tests nobody saw end are among what is said first, and their
// line says what may be the cause.
func TestNotSeenFirst(t *testing.T) {
	t.Parallel()
	o := loop.Outcome{Criterion: "a", Met: true, Control: loop.ControlNotSeen}
	if r := (&Review{Word: &loop.Verdict{Criteria: []loop.Outcome{o}}}); !strings.Contains(r.First(), "1 criterion whose tests were not seen to end") {
		t.Error(r.First())
	}
	v := &loop.Verdict{Criteria: []loop.Outcome{o}}
	if above := joined((&Review{Word: v, Criteria: Criteria([][2]string{{"a", "x | grep PASS"}}, v)}).Above()); !strings.Contains(above, "to its end (something else may have failed first)") {
		t.Error(above)
	}
}
