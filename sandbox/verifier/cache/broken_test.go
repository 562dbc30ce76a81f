package cache

import (
	"archive/tar"
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestKilledFill: a process that is killed in the middle of a fill leaves no entry, and
// nothing that the next fill does not clear away.
func TestKilledFill(t *testing.T) {
	const variable = "WARD_TEST_FILL"
	if dir := os.Getenv(variable); dir != "" { // the process that is killed
		s := &Store{Dir: dir, Size: 1 << 20}
		t.Fatal(s.Fill(t.Context(), key, first, []Kind{Go}, 0, func(_ *Entry, w io.Writer) error {
			files := tar.NewWriter(w)
			files.WriteHeader(&tar.Header{Name: "go/half", Mode: 0o644, Size: 100 << 10, Typeflag: tar.TypeReg})
			files.Write(make([]byte, 50<<10))
			os.Stdout.WriteString("half\n")
			select {}
		}))
	}
	dir := t.TempDir()
	c := exec.Command(os.Args[0], "-test.run=^TestKilledFill$")
	c.Env = append(os.Environ(), variable+"="+dir)
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "half\n" {
		t.Error(line, err)
	}
	c.Process.Kill()
	c.Wait()
	if left, err := filepath.Glob(filepath.Join(dir, "ward-*")); len(left) != 1 {
		t.Errorf("it was not killed in the middle: %q %v", left, err)
	}
	s := &Store{Dir: dir, Size: 1 << 20}
	if e := newest(t, s, key, first); e != nil {
		t.Errorf("half an entry is found: %+v", e)
	}
	if err := s.Fill(t.Context(), key, first, []Kind{Go}, 0, packing(map[string]string{"go/x": "1"})); err != nil {
		t.Error(err)
	}
	if entries, err := os.ReadDir(dir); len(entries) != 2 { // the entry, and the lock
		t.Error(entries, err)
	}
}

// TestFullDisk: a fill for which the disk has no room fails, says why, and leaves nothing.
func TestFullDisk(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: only root can mount a small disk")
	}
	dir, done := t.TempDir(), make(chan error)
	go func() {
		runtime.LockOSThread() // the mounts are this thread's own, and end with it
		done <- func() error {
			if err := unix.Unshare(unix.CLONE_NEWNS | unix.CLONE_FS); err != nil {
				return err
			}
			if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
				return err
			}
			if err := unix.Mount("small", dir, "tmpfs", 0, "size=64k"); err != nil {
				return err
			}
			s := &Store{Dir: dir, Size: 1 << 20}
			err := s.Fill(t.Context(), key, first, []Kind{Go}, 0, packing(map[string]string{"go/x": strings.Repeat("x", 200<<10)}))
			if !errors.Is(err, unix.ENOSPC) {
				t.Errorf("a full disk: %v", err)
			}
			entries, err := os.ReadDir(dir)
			if len(entries) != 1 { // the lock
				t.Error(entries)
			}
			return err
		}()
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}
