package launch

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"git-ward/sandbox/host"
	"git-ward/sandbox/lease"
)

// TestSite: where a worker works, what it is called, and what it needs of this host are one
// decision.
func TestSite(t *testing.T) {
	state := t.TempDir()
	for _, c := range []struct {
		name   string
		launch *launch
		where  string
		open   int // services
		state  string
	}{
		{"fenced", &launch{spec: Spec{State: state}}, "podman", 3, state},
		{"unfenced", &launch{spec: Spec{State: state, Unfenced: true}}, "process", 3, state},
		{"an engine's", &launch{spec: Spec{State: state, Unfenced: true}, engine: engine{}}, "kube x/D-1", 1, ""},
	} {
		os.RemoveAll(filepath.Join(state, "home"))
		at := c.launch.site()
		w := c.launch.newWorker(&host.Job{Number: 1, Directive: "D-1", Hold: &lease.Hold{}}, at)
		open, err := at.open(w)
		_, missing := os.Stat(home(state))
		if where := at.where("D-1"); where != c.where || len(open) != c.open || w.state != c.state || err != nil || (missing == nil) != (c.state != "") {
			t.Errorf("%s: %s, %d services, %q, %v, %v", c.name, where, len(open), w.state, err, missing)
		}
	}
	told := ""
	ran := elsewhere(called("kube"), func(_ context.Context, w Work) error { told = w.Directive; return nil })
	w := (&launch{}).newWorker(&host.Job{Directive: "D-2", Hold: &lease.Hold{}}, ran)
	if err := ran.run(w, t.Context()); err != nil || told != "D-2" {
		t.Errorf("%q, %v", told, err)
	}
}
