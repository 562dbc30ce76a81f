package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestWriteReplacesAndDoesNotFollow(t *testing.T) {
	for name, write := range map[string]func(string, []byte, fs.FileMode) error{"durable": Write, "volatile": WriteVolatile} {
		dir := t.TempDir()
		target, path := filepath.Join(dir, "target"), filepath.Join(dir, "file")
		if err := os.WriteFile(target, []byte("old"), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, path); err != nil {
			t.Fatal(err)
		}
		if err := write(path, []byte("new"), 0o600); err != nil {
			t.Fatal(err)
		}
		if data, err := os.ReadFile(target); err != nil || string(data) != "old" {
			t.Errorf("%s: the link was followed: %q %v", name, data, err)
		}
		info, err := os.Lstat(path)
		if err != nil || !info.Mode().IsRegular() || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", name, info, err)
		}
		if entries, err := os.ReadDir(dir); err != nil || len(entries) != 2 {
			t.Errorf("%s: a file is left: %v %v", name, entries, err)
		}
	}
}

func TestFailureLeavesTheOldFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	if err := os.Mkdir(path, 0o755); err != nil { // rename cannot replace a directory
		t.Fatal(err)
	}
	if err := Write(path, []byte("new"), 0o600); err == nil {
		t.Error("a directory was replaced")
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("left over: %v %v", entries, err)
	}
	if err := Write(filepath.Join(dir, "none", "file"), nil, 0o600); err == nil {
		t.Error("a missing folder was made up")
	}
}

// TestSweep: what a killed writer of a file left goes, and nothing of another name.
func TestSweep(t *testing.T) {
	dir := t.TempDir()
	names := []string{".file.ward-1234", ".file.1234", ".file.ward-", ".file.ward-12.bak", ".other.ward-1234", "file"}
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := Sweep(filepath.Join(dir, "file")); err != nil {
		t.Fatal(err)
	}
	for i, name := range names {
		if _, err := os.Stat(filepath.Join(dir, name)); (err == nil) != (i > 0) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRewriteKeepsTheMode(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := Rewrite(path, []byte("new")); !os.IsNotExist(err) {
		t.Errorf("a file that is not there: %v", err)
	}
	if err := errors.Join(os.WriteFile(path, []byte("old"), 0o600), os.Chmod(path, 0o640)); err != nil { // whatever the umask
		t.Fatal(err)
	}
	if err := Rewrite(path, []byte("new")); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if data, _ := os.ReadFile(path); err != nil || string(data) != "new" || info.Mode().Perm() != 0o640 {
		t.Errorf("%q %v %v", data, info, err)
	}
}
