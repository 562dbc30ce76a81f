package audit

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"git-ward/internal/await"
)

// TestSweepsItsOwn: of old files beside those of pushes, what a killed writer left goes.
func TestSweepsItsOwn(t *testing.T) {
	repo := bare(t)
	for name, goes := range map[string]bool{"notes.txt": false, ".notes": false, ".20261129T1-1.json": true, ".20261129T1-1.json.ward-12": true} {
		path := filepath.Join(pendingDir(repo), name)
		if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Chtimes(path, time.Time{}, time.Unix(1, 0))); err != nil {
			t.Fatal(err)
		}
		if all, broken, err := LoadPending(repo); err != nil || len(all)+len(broken) > 0 {
			t.Errorf("%v, %v, %v", all, broken, err)
		}
		if _, err := os.Lstat(path); errors.Is(err, os.ErrNotExist) != goes {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestAlive: a process that ended is not taken for alive because nobody has waited
// for it yet, as an orphan's new parent may be slow to do.
func TestAlive(t *testing.T) {
	cmd := exec.Command("cat")
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	p, err := Identify(cmd.Process.Pid)
	if err != nil || !p.Alive() {
		t.Fatalf("%+v, %v", p, err)
	}
	if other := (Process{p.PID, p.Start + 1, p.Boot}); other.Alive() {
		t.Error("another process of the same id is taken for it")
	}
	// The kernel tells nobody that a child has ended before somebody waits for it, which is
	// what this test must not do.
	in.Close()
	await.True(t, "a zombie counts as ended", func() bool { return !p.Alive() })
	if self, err := Identify(os.Getpid()); err != nil || !self.Alive() {
		t.Error(self, err)
	}
}

// TestLeft: a push that is admitted or recorded between the reading of its file and the look at its
// process has not ended without a record.
func TestLeft(t *testing.T) {
	repo := bare(t)
	batch := repo.Batch(t.Context())
	defer batch.Close()
	self, err := Identify(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	ended := Process{self.PID, self.Start + 1, self.Boot}
	entry := Entry{Record: &Record{Push: "20261201T072000.000000Z-1"}}
	for name, c := range map[string]struct {
		meanwhile func(p *Pending) error
		left      bool
	}{
		"as it was": {func(*Pending) error { return nil }, true},
		"admitted":  {func(p *Pending) error { return p.Admit(repo, batch, entry, self, "") }, false},
		"recorded":  {func(p *Pending) error { return os.Remove(p.path) }, false},
		"refused":   {func(p *Pending) error { return p.Reject() }, false},
		"damaged":   {func(p *Pending) error { return os.WriteFile(p.path, nil, 0o600) }, true},
	} {
		now, err := Arrive(repo, batch, entry, ended)
		if err != nil {
			t.Fatal(name, err)
		}
		all, broken, err := LoadPending(repo)
		if err != nil || len(all) != 1 || len(broken) > 0 {
			t.Fatal(name, all, broken, err)
		}
		if err := c.meanwhile(now); err != nil {
			t.Fatal(name, err)
		}
		if got := all[0].Left(repo, batch); got != c.left {
			t.Errorf("%s: %v", name, got)
		}
		if err := os.RemoveAll(now.path); err != nil {
			t.Fatal(err)
		}
	}
}
