package fence

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"git-ward/internal/await"
	"git-ward/internal/process"
	"git-ward/internal/tier"
	"git-ward/sandbox/podman"
)

// TestMain lets the test binary be the reaper of the engines that tests start.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == podman.ReaperVerb {
		if err := podman.Reap(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// share is podman, shared, on a storage of the test's own, and how often it was opened.
func share(t *testing.T, linger time.Duration) (s *Shared, opened *atomic.Int32) {
	t.Helper()
	tier.First(t, "it starts podman")
	if _, err := exec.LookPath("podman"); err != nil {
		t.Skip("SKIPPED: podman is not installed; scripts/setup does it")
	}
	storage, err := os.MkdirTemp(cmp.Or(os.Getenv("WARD_TEST_DIR"), "/var/tmp"), "wf-") // podman wants a short path
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		syscall.Unmount(filepath.Join(storage, "root/overlay"), syscall.MNT_DETACH)
		os.RemoveAll(storage)
	})
	opened = &atomic.Int32{}
	s = Share(t.Context(), linger, zerolog.New(zerolog.NewTestWriter(t)), func(ctx context.Context) (*Connection, error) {
		opened.Add(1)
		e, err := podman.Connect(ctx, podman.Options{Owner: "shared", Storage: storage})
		if errors.Is(err, podman.ErrNoBindings) {
			t.Skip("SKIPPED: no bindings; go test -tags remote,containers_image_openpgp,exclude_graphdriver_btrfs")
		}
		return &Connection{Engine: e}, err
	})
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, opened
}

// running are the processes of this one's podman by their names: reapers, which are its children,
// and theirs.
func running() map[string]int {
	pids := map[string]int{}
	for _, reaper := range process.Children() {
		pids["reaper"] = reaper.PID
		for _, p := range process.ChildrenOf(reaper.PID) {
			name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", p.PID))
			pids[strings.TrimSpace(string(name))] = p.PID
		}
	}
	return pids
}

func use(t *testing.T, s *Shared) (release func()) {
	t.Helper()
	c, release, err := s.Use()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Engine.Dir(t.Context()); err != nil {
		t.Fatal(err)
	}
	return release
}

// TestServiceComesAndGoes: podman's processes are there while somebody uses it, gone when nobody
// does, and come back with the next user.
func TestServiceComesAndGoes(t *testing.T) {
	s, opened := share(t, time.Millisecond)
	if there := running(); len(there) > 0 {
		t.Fatalf("before anybody uses it: %v", there)
	}
	for n := range int32(2) {
		first, second := use(t, s), use(t, s)
		first()
		first() // is no other's end
		if there := running(); there["podman"] == 0 || opened.Load() != n+1 {
			t.Errorf("in use: %v, opened %d times", there, opened.Load())
		}
		use(t, s)() // beside it
		second()
		await.True(t, "podman's processes are gone", func() bool { return len(running()) == 0 })
	}
}

// TestServiceIsUsedAsItEnds: who comes as it ends has a whole one.
func TestServiceIsUsedAsItEnds(t *testing.T) {
	s, opened := share(t, time.Microsecond)
	var users sync.WaitGroup
	for range 4 {
		users.Go(func() {
			for range 3 {
				c, release, err := s.Use()
				if err != nil {
					t.Error(err)
					return
				}
				if _, err := c.Engine.Dir(t.Context()); err != nil {
					t.Error(err)
				}
				release()
			}
		})
	}
	users.Wait()
	if opened.Load() < 1 {
		t.Error("it was never opened")
	}
	await.True(t, "podman's processes are gone", func() bool { return len(running()) == 0 })
}

// TestServiceThatDied: podman's service dies, and who comes after those who used it has another.
func TestServiceThatDied(t *testing.T) {
	s, _ := share(t, time.Hour)
	c, release, err := s.Use()
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(running()["podman"], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	await.Value(t, "its end is known", c.Engine.Done())
	beside, releaseBeside, err := s.Use() // while the dead one has a user
	if err != nil {
		t.Fatal(err)
	}
	if _, err := beside.Engine.Dir(t.Context()); err != nil {
		t.Errorf("who comes while somebody has the dead one gets it, too: %v", err)
	}
	releaseBeside()
	release()
	use(t, s)()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if there := running(); len(there) > 0 {
		t.Errorf("after the end: %v", there)
	}
	if _, _, err := s.Use(); err == nil {
		t.Error("it is used after its end")
	}
}
