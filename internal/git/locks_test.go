package git

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestLockedOut(t *testing.T) {
	r := bare(t)
	path := filepath.Join(r.Dir, "refs/ward/x.lock")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if r.LockedOut("refs/ward/y") || !r.LockedOut("refs/ward/y", "refs/ward/x") || !r.LockedOut("refs/ward/x") {
		t.Error("a fresh lock is somebody's")
	}
	old := time.Now().Add(-time.Minute)
	if err := os.Chtimes(path, old, old); err != nil {
		t.Fatal(err)
	}
	if !r.LockedOut("refs/ward/x") || r.LockedOut("refs/ward/x") {
		t.Error("an old lock is nobody's, and goes")
	}
}
