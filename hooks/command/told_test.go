package command

import (
	"strings"
	"testing"

	"git-ward/hooks/view"
	"git-ward/protocols/review"
)

// TestSaysOnce: what waits is said above, and is no other directive below; one of them that is
// not shown above for want of room is.
func TestSaysOnce(t *testing.T) {
	line := func(name string, state review.State) view.Line {
		return view.Line{Standing: review.Standing{Directive: name, State: state}, Words: state.Words()}
	}
	l := &looked{Overview: &view.Overview{
		Waiting:    []view.Waiting{{Directive: "D-1"}, {Directive: "D-2"}},
		Directives: []view.Line{line("D-1", review.Waiting), line("D-2", review.Working), line("D-3", review.Open), line("D-4", review.Taken), line("D-5", review.Waiting)},
	}}
	var b strings.Builder
	l.lines(&b)
	if want := "D-3 : not begun\nof the others: 1 waiting for you, 1 taken (git ward directive show)\n"; b.String() != want {
		t.Errorf("%q, not %q", b.String(), want)
	}
}
