package growth

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"git-ward/internal/await"
	"git-ward/internal/gittest"
)

// TestClockSetAhead: a clock that jumps while a push is judged makes its quarantine look
// abandoned. The push is refused then, and no ref leads to what is not there.
func TestClockSetAhead(t *testing.T) {
	bare := filepath.Join(t.TempDir(), "x.git")
	gittest.Git(t, filepath.Dir(bare), "init", "--quiet", "--bare", bare)
	hook := "#!/bin/sh\ntouch arrived\nwhile [ -e arrived ]; do sleep 0.02; done\n" // until the clock has jumped
	gittest.Program(t, filepath.Join(bare, "hooks/pre-receive"), hook)
	work := t.TempDir()
	gittest.Git(t, work, "init", "--quiet")
	gittest.Git(t, work, "commit", "--quiet", "--allow-empty", "--message", "one")
	push := exec.Command("git", "-C", work, "push", bare, "HEAD:refs/heads/x")
	if err := push.Start(); err != nil {
		t.Fatal(err)
	}
	arrived := filepath.Join(bare, "arrived")
	await.True(t, "the push comes", func() bool { _, err := os.Stat(arrived); return err == nil })
	found, _ := filepath.Glob(filepath.Join(bare, "objects/tmp_objdir-incoming-*"))
	if len(found) != 1 {
		t.Fatal(found)
	}
	old := time.Now().Add(-abandonedAfter - time.Minute)
	filepath.WalkDir(found[0], func(path string, _ os.DirEntry, _ error) error { return os.Chtimes(path, old, old) })
	if left, err := Quarantines(bare, nobody); len(left) != 0 || err != nil {
		t.Errorf("%v left: %v", left, err)
	}
	if err := os.Remove(arrived); err != nil {
		t.Fatal(err)
	}
	if err := push.Wait(); err == nil {
		t.Error("the push went in without its objects")
	}
	gittest.Git(t, bare, "fsck", "--strict")
}

// TestNothingHalf: nobody sees a quarantine from which a part has gone.
func TestNothingHalf(t *testing.T) {
	dir := bare(t)
	quarantine := filepath.Join(dir, "objects/tmp_objdir-incoming-aaaaaa")
	if err := os.Mkdir(quarantine, 0o755); err != nil {
		t.Fatal(err)
	}
	const files = 500
	for i := range files {
		if err := os.WriteFile(filepath.Join(quarantine, strconv.Itoa(i)), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	there := func(i int) bool {
		_, err := os.Lstat(filepath.Join(quarantine, strconv.Itoa(i)))
		return err == nil
	}
	half := make(chan bool)
	looking := make(chan bool)
	go func() {
		close(looking)
		for i := 0; there(i); i = (i + 1) % files {
		}
		rest := false
		for i := range files {
			rest = rest || there(i)
		}
		half <- rest
	}()
	<-looking
	if err := discard(quarantine); err != nil {
		t.Fatal(err)
	}
	if <-half {
		t.Error("a part of it had gone, and the rest was there")
	}
	if left, _ := os.ReadDir(filepath.Join(dir, "objects")); len(left) > 0 {
		t.Error(left)
	}
}
