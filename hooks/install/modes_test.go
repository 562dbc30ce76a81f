package install

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// TestEachFileStaysInside: a directory that becomes a link out of the repository while
// init walks leads nobody out (ID-3).
func TestEachFileStaysInside(t *testing.T) {
	outside, dir := t.TempDir(), t.TempDir()
	for path, mode := range map[string]fs.FileMode{filepath.Join(outside, "f"): 0o600, filepath.Join(dir, "objects", "f"): 0o640} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(os.WriteFile(path, nil, mode), os.Chmod(path, mode)); err != nil { // whatever the umask
			t.Fatal(err)
		}
	}
	objects, met := filepath.Join(dir, "objects"), false
	err := tree{dir}.eachFile(func(root *os.Root, rel string, info fs.FileInfo) error {
		if rel != "objects/f" {
			return nil
		}
		met = true
		if info.Mode() != 0o640 {
			t.Error(info.Mode())
		}
		if err := os.Rename(objects, objects+".old"); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(outside, objects); err != nil {
			t.Fatal(err)
		}
		if root.Chmod(rel, 0o666) == nil || root.Lchown(rel, -1, os.Getegid()) == nil {
			t.Error("it follows a link out of the repository")
		}
		return nil
	})
	if err != nil || !met {
		t.Error(met, err)
	}
	info, err := os.Stat(filepath.Join(outside, "f"))
	if err != nil || info.Mode() != 0o600 {
		t.Error(info, err)
	}
}
