package launch

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"git-ward/internal/diag"
	"git-ward/internal/growth"
)

// room says why the full-size directories of all of a launch's workers do not fit on their
// disk beside [limits] disk_free and other launches' mounted ones. One worker that fills its
// own would otherwise take the others' space, and the repository's (MANY-1). An ordinary
// user's are in memory.
func (c *containers) room(agents int, directory func(number int) string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	warm := int64(c.launch.spec.Settings.Launch.Warm) * c.launch.spec.Settings.Sandbox.StateSize // a disk each
	return c.launch.spec.fits(c.launch.spec.allTake(agents, directory)+warm, agents)
}

// allTake is how much more disk space so many workers' directories may take.
func (s *Spec) allTake(agents int, directory func(number int) string) (bytes int64) {
	for n := range agents {
		bytes += stillTakes(s.disk(directory(n+1)), s.Settings.Sandbox.StateSize)
	}
	return bytes
}

// mountedTakes is how much more of the disk of dir the image files may take that other launches
// have mounted. own is this launch's state directory: what a killed launcher left mounted in it is
// swept, or counted as a worker's.
func mountedTakes(dir, own string) (bytes int64) {
	var disk unix.Stat_t
	if unix.Stat(dir, &disk) != nil {
		return 0
	}
	if resolved, err := filepath.EvalSymlinks(own); err == nil { // as the kernel names files
		own = resolved
	}
	loops, _ := filepath.Glob("/sys/block/loop*/loop/backing_file")
	for _, loop := range loops {
		name, err := os.ReadFile(loop)
		file := strings.TrimSuffix(string(name), "\n")
		var st unix.Stat_t
		if err == nil && !strings.HasPrefix(file, own+"/") && unix.Stat(file, &st) == nil && st.Dev == disk.Dev {
			bytes += stillTakes(file, 0)
		}
	}
	return bytes
}

// existing is a path's longest existing prefix.
func existing(path string) string {
	for {
		if _, err := os.Stat(path); err == nil || path == filepath.Dir(path) {
			return path
		}
		path = filepath.Dir(path)
	}
}

// fits compares what so many workers may still take with the free space.
func (s *Spec) fits(wanted int64, agents int) error {
	there := existing(s.State)
	free, err := growth.Free(there)
	mounted := mountedTakes(there, s.State)
	if keep := s.Settings.Limits.DiskFree; err == nil && wanted+mounted > free-keep {
		const gib = 1 << 30
		others := ""
		if mounted > 0 {
			others = fmt.Sprintf(", what other launches have mounted %.1f GiB more", float64(mounted)/gib)
		}
		return diag.Hint(fmt.Errorf("%s: the disk has %.1f GiB free, and the directory /bot of %s may take %.1f GiB of it%s, beside %.1f GiB of [limits] disk_free",
			s.State, float64(free)/gib, diag.Count(agents, "agent"), float64(wanted)/gib, others, float64(keep)/gib),
			"make room, name another disk's directory (--state DIR), or lower [sandbox] state_size (%.1f GiB each) or [launch] agents", float64(s.Settings.Sandbox.StateSize)/gib)
	}
	return nil
}

// stillTakes is how much more disk space an image file may take: its whole size if it does not
// exist yet. Later settings do not change an existing one.
func stillTakes(file string, size int64) int64 {
	var st unix.Stat_t
	if unix.Stat(file, &st) != nil {
		return size
	}
	const block = 512 // stat(2)
	return max(st.Size-st.Blocks*block, 0)
}
