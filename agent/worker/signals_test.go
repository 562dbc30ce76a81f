package worker

import (
	"testing"

	"golang.org/x/sys/unix"

	"git-ward/protocols/loop"
)

// TestDisk: a disk is as full as df says, whatever of it is kept from everybody.
func TestDisk(t *testing.T) {
	for name, c := range map[string]struct {
		fs   unix.Statfs_t
		over bool
	}{
		"a quota far below the disk": {unix.Statfs_t{Blocks: 252_000, Bfree: 186_000, Bavail: 25_000}, false},
		"root's share is left":       {unix.Statfs_t{Blocks: 100_000, Bfree: 5_000, Bavail: 0}, true},
		"91 of 100":                  {unix.Statfs_t{Blocks: 100_000, Bfree: 9_000, Bavail: 9_000}, true},
		"90 of 100":                  {unix.Statfs_t{Blocks: 100_000, Bfree: 10_000, Bavail: 10_000}, false},
	} {
		if over := loop.DiskOver90(disk(c.fs)); over != c.over {
			t.Errorf("%s: %v", name, over)
		}
	}
}
