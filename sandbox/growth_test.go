package sandbox

import (
	"testing"
	"time"

	"git-ward/internal/benchtest"
	"git-ward/internal/tier"
)

// TestNoGrowth: launch after launch, also with some that are killed between them, takes
// no longer and leaves nothing that was not there after the first one: no process, mount,
// namespace, volume, container, loop device, cgroup, and no file in the temporary
// directory, beside the repository or below ward/.
func TestNoGrowth(t *testing.T) {
	tier.Full(t, "it launches containers")
	m := newMachine(t)
	m.settles(t)
	before := m.traces()
	var took []time.Duration
	for range 10 {
		start := time.Now()
		if out, err := m.in("", "true"); err != nil {
			t.Fatal(err, out)
		}
		took = append(took, time.Since(start))
	}
	t.Logf("the first launches took %v, the last %v: %v", benchtest.Median(took[:3]), benchtest.Median(took[7:]), took)
	for range 2 {
		m.killed(t, "launcher", 600*time.Millisecond)
		m.works(t)
	}
	m.clean(t, before)
	// A killed launcher's reaper may have outlived the launch after it, and with it the
	// group that both were in: the next launch takes that up.
	m.works(t)
	m.clean(t, before)
	m.Fsck()
}
