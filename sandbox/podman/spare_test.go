package podman_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"git-ward/internal/await"
	"git-ward/internal/git"
	"git-ward/internal/tier"
	"git-ward/sandbox/firewall"
	"git-ward/sandbox/verifier"
)

// TestSpare: a verification's containers are made before their commands are known. One that was
// killed while it waited is made anew, what its command is told is the line and no input, and none
// is left, used or not.
func TestSpare(t *testing.T) {
	tier.Full(t, "it starts podman")
	e := connect(t, "spare")
	bare, work := filepath.Join(t.TempDir(), "bare.git"), t.TempDir()
	run := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("git", args...)
		cmd.Dir = work
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org",
			"GIT_DIR="+bare, "GIT_WORK_TREE="+work)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatal(err, string(out))
		}
		return strings.TrimSpace(string(out))
	}
	if out, err := exec.Command("git", "init", "--quiet", "--bare", bare).CombinedOutput(); err != nil {
		t.Fatal(err, string(out))
	}
	if err := os.WriteFile(filepath.Join(work, "file"), []byte("text\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	run("add", "file")
	run("commit", "--quiet", "--message", "some")
	head := run("rev-parse", "HEAD")

	container := *spec(t, "")
	container.Stdin, container.Command = false, nil
	container.Env = map[string]string{"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/bot"}
	for _, killed := range []bool{false, true} {
		var mu sync.Mutex
		var pids []int
		began := func() []int { mu.Lock(); defer mu.Unlock(); return slices.Clone(pids) }
		v := &verifier.Containers{Engine: e, Limits: verifier.Limits{Time: 5 * time.Minute, Output: 1 << 20}, Container: container, Remote: "/mnt/remote", Dir: "/bot/work",
			Rules: func(_ context.Context, pid int) (*firewall.Follower, error) {
				mu.Lock()
				defer mu.Unlock()
				pids = append(pids, pid)
				return nil, nil
			}}
		scratch, err := os.MkdirTemp(storage, "s") // which its containers may enter
		if err != nil {
			t.Fatal(err)
		}
		v.Ahead(t.Context(), scratch, time.Hour)
		killing := verifier.Claim{Main: head, Commit: head, Replays: 3, Bounds: verifier.Bounds{Entries: 100, Depth: 10, Bytes: 1 << 20}, Scratch: scratch, Controls: []string{verifier.Broken},
			Commands: []verifier.Command{{Name: "criterion 1", Line: "cat - file <<'E'\n\"it's\"\n\nE\nread -r x || echo none; test ! -e ../left && touch ../left"}}}
		killing.Progress = func(s verifier.Step) {
			if !killed || s.Ended == nil || s.Run != 1 {
				return
			}
			await.True(t, "a second container was made, and one has run", func() bool { // in whatever order
				return len(began()) > 1 && len(slices.DeleteFunc(began(), there)) > 0
			})
			spare := slices.DeleteFunc(began(), func(pid int) bool { return !there(pid) })[0]
			syscall.Kill(spare, syscall.SIGKILL)
			await.True(t, "it has ended", func() bool { return !there(spare) })
		}
		facts, err := verifier.Verify(t.Context(), git.Open(bare), v, killing)
		if err != nil {
			t.Fatal(err)
		}
		if len(facts.Replays) != 3 {
			t.Fatalf("%+v", facts)
		}
		for _, runs := range facts.Replays {
			if r := runs[0]; !r.OK() || r.Tail != "\"it's\"\n\ntext\nnone\n" {
				t.Errorf("killed %v: %+v", killed, r)
			}
		}
		if err := v.Close(); err != nil {
			t.Error(err)
		}
		want := 3
		if killed {
			want++
		}
		if got := began(); len(got) < want || slices.ContainsFunc(got, there) {
			t.Errorf("killed %v: containers %v, want %d and none left", killed, got, want)
		}
		if left, err := os.ReadDir(scratch); err != nil || len(left) > 0 {
			t.Errorf("%v is left: %v", left, err)
		}
	}
}

// there reports whether a process is, and has not ended.
func there(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(stat), ") Z ")
}
