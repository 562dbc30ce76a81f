package command

import (
	"strings"
	"testing"

	"git-ward/hooks/view"
	"git-ward/protocols/review"
)

// TestUnbegun: on the host it is said that nothing runs although there is work, begun or not; a
// clone, which cannot know, says it while nothing is begun.
func TestUnbegun(t *testing.T) {
	idle, runs, unknown := &view.Host{MayAsk: true}, &view.Host{MayAsk: true, Running: true}, &view.Host{}
	for _, test := range []struct {
		host   *view.Host
		states []review.State
		want   string
	}{
		{idle, []review.State{review.Open, review.Taken}, "1 directive open and not begun, and nothing runs here: git ward launch --bare ''"},
		{idle, []review.State{review.Open, review.Working}, "2 directives to do, 1 begun, and nothing runs here: git ward launch --bare ''"},
		{idle, []review.State{review.Working}, "1 directive to do, 1 begun, and nothing runs here: git ward launch --bare ''"},
		{idle, []review.State{review.Waiting, review.Taken}, ""},
		{runs, []review.State{review.Open, review.Working}, ""},
		{unknown, []review.State{review.Open}, ""},
		{nil, []review.State{review.Open}, "1 directive open and not begun: nobody begins while no agent is launched on the host"},
		{nil, []review.State{review.Open, review.Working}, ""},
	} {
		o := &view.Overview{Host: test.host}
		for _, state := range test.states {
			o.Directives = append(o.Directives, view.Line{Standing: review.Standing{State: state}})
		}
		var b strings.Builder
		(&looked{Source: new(view.Source), Overview: o}).unbegun(&b)
		if got := strings.TrimSuffix(b.String(), "\n"); got != test.want {
			t.Errorf("%v: %q, want %q", test.states, got, test.want)
		}
	}
}
