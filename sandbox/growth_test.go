package sandbox

import (
	"io/fs"
	"path/filepath"
	"strings"
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
	m.works(t)
	m.Run(m.Bare, "git-ward", "maintain") // which counts what agents pushed, once in a while
	before, kept := m.traces(), m.kept(t)
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
	for path := range m.kept(t) {
		if !kept[path] {
			t.Errorf("left: %s", path)
		}
	}
	m.Fsck()
}

// kept are the files of a launch's that stay, and the cgroups of its name.
func (m *machine) kept(t *testing.T) map[string]bool {
	all := map[string]bool{}
	for _, dir := range []string{filepath.Join(m.Bare, "ward"), filepath.Join(filepath.Dir(m.Bare), "state")} {
		err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			all[path] = true
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	group := "ward-" + m.owner()
	filepath.WalkDir("/sys/fs/cgroup", func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, group) {
			all[path] = true
		}
		return nil // others make and remove groups all the while
	})
	return all
}
