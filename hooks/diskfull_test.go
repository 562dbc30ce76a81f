package hooks_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"git-ward/internal/gittest"
	"git-ward/internal/growth"
	"git-ward/internal/tier"
)

// TestDiskFull: on a disk that fills up in the middle of pushes, records and maintenance
// nothing is half written: each push enters whole or not at all, and when there is room
// again the next one works and the repository is whole.
func TestDiskFull(t *testing.T) {
	tier.Full(t, "it mounts a small disk and fills it")
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: a small disk wants root, to be mounted")
	}
	p := newPair(t)
	p.Commit("f", "1")
	if out, err := p.Push("main"); err != nil {
		t.Fatal(err, out)
	}
	small := filepath.Join(t.TempDir(), "small")
	if err := os.Mkdir(small, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("ward-test", small, "tmpfs", 0, "size=40m,mode=0755"); err != nil {
		t.Skipf("SKIPPED: no small disk can be mounted here: %v", err)
	}
	t.Cleanup(func() { unix.Unmount(small, unix.MNT_DETACH) })
	bare := filepath.Join(small, "remote.git")
	p.Run(small, "cp", "-a", p.Bare, bare)
	p.Bare = bare
	p.Git("remote", "set-url", "origin", bare)
	limitTo(p, "disk_free", "1") // git's own errors are what is tried
	fill := func(leave int64) {
		t.Helper()
		free, err := growth.Free(small)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(small, "fill"), make([]byte, max(0, free-leave)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	entered, failed := 0, 0
	for n := range 7 { // from no room at all to some
		fill(int64(n) * 16 << 10)
		p.Git("switch", "--quiet", "--discard-changes", "-C", fmt.Sprintf("agent/full-%d", n), "main")
		p.Commit("g", noise(2000))
		push := p.AgentPush
		if n%2 == 1 {
			push = p.Push
		}
		if _, err := push("HEAD"); err == nil {
			entered++
		} else {
			failed++
		}
		p.Try(bare, nil, "", "git-ward", "maintain", "--reclaim")
		if err := os.Remove(filepath.Join(small, "fill")); err != nil {
			t.Fatal(err)
		}
		wholeAgain(p, n)
	}
	t.Logf("%d pushes entered, %d did not", entered, failed)
	if failed == 0 {
		t.Error("the disk was never full: the test proves nothing")
	}
}

// wholeAgain fails the test unless the next push works and all is whole.
func wholeAgain(p *gittest.Pair, n int) {
	p.T.Helper()
	p.Git("switch", "--quiet", "--discard-changes", "-C", "next", "main")
	p.Commit("n", fmt.Sprint(n))
	if out, err := p.AgentPush("+HEAD:refs/heads/agent/next"); err != nil || strings.Contains(out, "not recorded") {
		p.T.Errorf("%d: the next push: %v\n%s", n, err, out)
	}
	if out, err := p.Try(p.Bare, nil, "", "git-ward", "maintain", "--reclaim"); err != nil {
		p.T.Errorf("%d: the next maintenance: %v\n%s", n, err, out)
	}
	if _, err := growth.Read(p.Bare); err != nil {
		p.T.Errorf("%d: %v", n, err)
	}
	p.Fsck()
}
