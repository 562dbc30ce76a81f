package launch

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"git-ward/internal/config"
	"git-ward/internal/diag"
	"git-ward/internal/tier"
)

// TestStateRoom: a worker whose disk is there counts with what that may still grow, whatever
// its size is to be by now.
func TestStateRoom(t *testing.T) {
	dir := t.TempDir()
	there := filepath.Join(dir, "bot.img")
	if err := os.WriteFile(there, make([]byte, 64<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(there, 1<<20); err != nil {
		t.Fatal(err)
	}
	if n := stillTakes(there, 1<<40); n < 1 || n > 1<<20-64<<10 {
		t.Errorf("a file of 1 MiB with 64 KiB in it may take %d bytes more", n)
	}
	if n := stillTakes(filepath.Join(dir, "w2"), 1<<40); n != 1<<40 {
		t.Errorf("one that is not there may take %d bytes", n)
	}
	s := &Spec{Bare: dir, State: filepath.Join(dir, "not/there"), Settings: config.Default()}
	if err := s.fits(1<<60, 2); err == nil || !strings.Contains(err.Error(), "may take 1073741824.0 GiB") {
		t.Errorf("more than is free fits: %v", err)
	}
	if n := mountedTakes(filepath.Join(dir, "not"), dir); n != 0 {
		t.Errorf("of a directory that is not there, %d bytes are mounted", n)
	}
	s.Settings.Limits.DiskFree = 0
	if err := s.fits(0, 2); err != nil {
		t.Error(err)
	}
}

// TestOwnDisk: a disk goes with the directive that it was made for, stays for that directive's next
// worker, and one that says nothing is moved aside. A user's command has another one.
func TestOwnDisk(t *testing.T) {
	var said strings.Builder
	w := &worker{launch: &launch{spec: Spec{Messages: &said}}, state: t.TempDir()}
	disk := w.launch.spec.disk(w.state)
	for _, step := range []struct {
		directive, was, is string // what lies in the disk's place, "" for nothing
	}{
		{"D-1", "a person's", ""}, {"D-1", "of D-1", "of D-1"}, {"D-1", "of D-1", "of D-1"}, {"D-12", "of D-1", ""}, {"D-1", "of D-12", ""}, {"D-2", "", ""},
	} {
		if step.was != "" {
			if err := os.WriteFile(disk, []byte(step.was), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		w.only = step.directive
		if err := w.ownDisk(); err != nil {
			t.Fatal(err)
		}
		if is, _ := os.ReadFile(disk); string(is) != step.is {
			t.Errorf("for %q there is %q of %q, want %q", step.directive, is, step.was, step.is)
		}
	}
	if kept, _ := os.ReadFile(disk + ".before"); string(kept) != "a person's" || !strings.Contains(said.String(), disk+".before") {
		t.Errorf("kept %q, said %q", kept, said.String())
	}
	if err := errors.Join(os.Remove(disk+".directive"), os.WriteFile(disk, []byte("another's"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := w.ownDisk(); err == nil || !strings.Contains(strings.Join(diag.Hints(err), ""), "look at both") {
		t.Errorf("a second one to move aside: %v", err)
	}
	command := &worker{launch: &launch{spec: Spec{Messages: &said, Payload: Payload{Command: []string{"sh"}}}}, state: w.state, payload: Payload{Command: []string{"sh"}}}
	if own := command.launch.spec.disk(w.state); own == disk || command.ownDisk() != nil {
		t.Errorf("a command has %s", own)
	}
	if is, _ := os.ReadFile(disk); string(is) != "another's" {
		t.Errorf("after a command there is %q", is)
	}
}

// TestMountedRoom: a disk that another launch has mounted counts with what it may still grow, and one
// that a killed launcher left mounted in the same state directory does not.
func TestMountedRoom(t *testing.T) {
	tier.Full(t, "it mounts a file system")
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: only root mounts a file system in a file")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) {
		t.Helper()
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%q: %v: %s", args, err, out)
		}
	}
	// A disk of the test's own: on the machine's, other tests mount and unmount theirs meanwhile.
	run("mount", "-t", "tmpfs", "-o", "size=128m", "tmpfs", dir)
	t.Cleanup(func() { exec.Command("umount", dir).Run() })
	file, at := filepath.Join(dir, "bot.img"), filepath.Join(dir, "at")
	elsewhere := t.TempDir()
	if err := errors.Join(os.Mkdir(at, 0o700), os.WriteFile(file, nil, 0o600), os.Truncate(file, 64<<20)); err != nil {
		t.Fatal(err)
	}
	run("mkfs.ext4", "-q", file)
	if n := mountedTakes(dir, elsewhere); n != 0 {
		t.Errorf("before it is mounted it may take %d bytes", n)
	}
	run("mount", "-o", "loop", file, at)
	t.Cleanup(func() { exec.Command("umount", at).Run() })
	if n := mountedTakes(dir, elsewhere); n < 32<<20 || n > 64<<20 {
		t.Errorf("it may take %d bytes more", n)
	}
	link := filepath.Join(elsewhere, "state")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	for _, own := range []string{dir, link} {
		if n := mountedTakes(dir, own); n != 0 {
			t.Errorf("the next launch with the state %s counts it as another's, with %d bytes", own, n)
		}
	}
}
