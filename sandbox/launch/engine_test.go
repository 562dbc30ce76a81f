package launch

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"git-ward/internal/config"
	"git-ward/sandbox/host"
	"git-ward/sandbox/lease"
	"git-ward/sandbox/verifier/local"
)

// TestEngine: who runs workers and judges, what it lets run, and what a worker there needs of this
// host are one decision.
func TestEngine(t *testing.T) {
	state := t.TempDir()
	for name, c := range map[string]struct {
		asked Spec
		want  string // engine, who judges, model
		open  int    // services
		state string
	}{
		"fenced":        {Spec{}, "*launch.containers *local.Verifier ", 3, state},
		"unfenced":      {Spec{Unfenced: true}, "*launch.processes *local.Processes script", 3, state},
		"on Kubernetes": {Spec{Kube: &Kube{}}, "*launch.pods *launch.pods ", 1, ""},
	} {
		os.RemoveAll(filepath.Join(state, "home"))
		c.asked.State, c.asked.Settings = state, config.Default()
		l := newLaunch(c.asked)
		w := l.newWorker(&host.Job{Number: 1, Directive: "D-1", Hold: &lease.Hold{}}, l.engine)
		open, err := w.site.opens(w)
		_, missing := os.Stat(home(state))
		if first, ok := l.engine.runner().(*local.Verifier); ok && l.engine.runner() != first {
			t.Errorf("%s: another verifier counts other containers", name)
		}
		if got := fmt.Sprintf("%T %T %s", l.engine, l.engine.runner(), c.asked.Only()); got != c.want || len(open) != c.open || w.state != c.state || err != nil || (missing == nil) != (c.state != "") {
			t.Errorf("%s: %s, %d services, %q, %v, %v", name, got, len(open), w.state, err, missing)
		}
	}
}
