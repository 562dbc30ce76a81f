package podman

import (
	"os"
	"path/filepath"
	"testing"
)

// A disk is made once and whole, however many begin at once, and what a killed
// one left beside it goes.
func TestDiskFile(t *testing.T) {
	if !executable(sbin("mkfs.ext4")) {
		t.Skip("SKIPPED: mkfs.ext4 is not installed; scripts/setup --fence installs it")
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, ".disk.123"), []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	d := newDisk(Mount{Kind: Disk, Source: filepath.Join(dir, "bot.img"), Target: "/bot", Size: 16 << 20, Owner: 1000}, DefaultIDs)
	done := make(chan error)
	for range 4 {
		go func() { done <- d.makeFile(t.Context()) }()
	}
	for range 4 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	data, err := os.ReadFile(filepath.Join(dir, "bot.img"))
	if err != nil || len(data) != 16<<20 || data[0x438] != 0x53 || data[0x439] != 0xef { // ext4(5)'s magic number
		t.Errorf("%d bytes, %v", len(data), err)
	}
	if all, _ := os.ReadDir(dir); len(all) != 1 {
		t.Errorf("left over: %v", all)
	}
}
