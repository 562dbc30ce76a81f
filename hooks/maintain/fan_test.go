package maintain

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"git-ward/internal/tier"
)

// TestFanStays: maintenance removes no directory that a push may have made a moment ago, and
// leaves nothing in it; git alone removes one.
func TestFanStays(t *testing.T) {
	r := newRepository(t, "--bare")
	empty := filepath.Join(r.Dir, "objects/ab")
	make := func() os.FileInfo {
		if err := os.MkdirAll(empty, 0o777); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(empty)
		if err != nil {
			t.Fatal(err)
		}
		return info
	}
	make()
	r.git("gc", "--quiet")
	if _, err := os.Stat(empty); err == nil {
		t.Fatal("git gc removes no empty directory: nothing is shown by this test")
	}
	before := make()
	// What a maintenance that was killed has left is in nobody's way.
	if err := os.WriteFile(filepath.Join(empty, held), nil, 0o444); err != nil {
		t.Fatal(err)
	}
	if _, err := Run(t.Context(), r.Repo, Options{Keep: DefaultKeep}); err != nil {
		t.Fatal(err)
	}
	after, err := os.Stat(empty)
	if err != nil || !os.SameFile(before, after) {
		t.Errorf("the directory went: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(r.Dir, "objects/*", held)); len(left) > 0 {
		t.Errorf("left over: %q", left)
	}
}

// TestFanOfTheRepository: directories are made with the mode of the repository's.
func TestFanOfTheRepository(t *testing.T) {
	r := newRepository(t, "--bare")
	objects := filepath.Join(r.Dir, "objects")
	if err := os.Chmod(objects, 0o770|os.ModeSetgid); err != nil {
		t.Fatal(err)
	}
	if _, err := Run(t.Context(), r.Repo, Options{Keep: DefaultKeep}); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(objects, "ff"))
	if err != nil || info.Mode() != os.ModeDir|os.ModeSetgid|0o770 {
		t.Errorf("%v %v", info, err)
	}
}

// TestPushesBesideMaintenance: no push fails because of maintenance that goes on all the
// while, and nothing of what they brought is missing.
func TestPushesBesideMaintenance(t *testing.T) {
	tier.Full(t, "pushes beside maintenance, again and again")
	const clients, each = 4, 60
	r := newRepository(t, "--bare")
	var group, maintenance sync.WaitGroup
	var over atomic.Bool
	for i := range clients {
		clone := t.TempDir()
		group.Go(func() {
			script := fmt.Sprintf(`set -e
				git init -q . && git config user.name C && git config user.email c@example.org
				for k in $(seq %d); do
					git commit -q --allow-empty -m "%d $k"
					git push -q "$1" HEAD:refs/heads/w%[2]d
				done`, each, i)
			cmd := exec.Command("sh", "-c", script, "sh", r.Dir)
			cmd.Dir = clone
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
	maintenance.Go(func() {
		for !over.Load() {
			if _, err := Run(t.Context(), r.Repo, Options{Keep: DefaultKeep}); err != nil {
				t.Error(err)
			}
		}
	})
	group.Wait()
	over.Store(true)
	maintenance.Wait()
	for i := range clients {
		if n := r.git("rev-list", "--count", fmt.Sprintf("w%d", i)); n != fmt.Sprint(each) {
			t.Errorf("w%d has %s commits", i, n)
		}
	}
	if out := r.git("fsck", "--full", "--no-dangling"); strings.Contains(out, "missing") {
		t.Error(out)
	}
}
