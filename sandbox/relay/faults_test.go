package relay

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"git-ward/internal/await"
	"git-ward/internal/tier"
)

// TestFaults: near, the gate's sessions or the wire end at any moment of a push. The push
// that is tried again comes in, no push moves a ref twice, and both repositories are whole.
func TestFaults(t *testing.T) {
	tier.Full(t, "kills in the middle of twelve pushes over sshd")
	t.Parallel()
	h := newGateHost(t)
	p := h.server()
	faults := []struct {
		name string
		do   func()
	}{
		{"kill -9 of near", func() { p.kill() }},
		{"kill -9 of the gate's sessions", h.killSessions},
		{"a reset", h.wire.reset},
		{"a wire that says nothing", h.wire.silence},
	}
	random := rand.New(rand.NewPCG(tier.Seed(t), 0))
	again := func() (out string, err error) {
		for range 5 {
			if out, err = h.push("HEAD:refs/heads/agent/D-1"); err == nil {
				break
			}
		}
		return out, err
	}
	const rounds = 12
	for i := range rounds {
		fault := faults[i%3]
		if i == rounds-1 {
			fault = faults[3] // it takes half a minute until that is noticed
		}
		h.Commit("a", strings.Repeat(fmt.Sprintln(i, random.Int()), 20000))
		pushed := make(chan string, 1)
		go func() {
			out, err := h.push("HEAD:refs/heads/agent/D-1")
			pushed <- fmt.Sprint(err, "\n", out)
		}()
		at := time.Duration(random.IntN(900)) * time.Millisecond
		time.Sleep(at) // any moment of a push, which takes about as long as the longest: that is the test
		fault.do()
		first := <-pushed
		select {
		case <-p.ended:
			p = h.server()
		default:
		}
		await.True(t, "near is there", func() bool { return IsReady(context.Background(), h.sockets()) == nil })
		if out, err := again(); err != nil {
			t.Fatalf("round %d, %s after %v: %v\n%s\nat first:\n%s", i, fault.name, at, err, out, first)
		}
		if mine, gate := h.refs(h.mirror()), h.refs(h.Bare); mine != gate {
			t.Fatalf("round %d, %s after %v: the mirror has\n%s\nand the gate\n%s", i, fault.name, at, mine, gate)
		}
	}
	// Each commit was the new tip of one accepted push and no more.
	seen := map[string]int{}
	for line := range strings.Lines(h.Run(h.Bare, "git-ward", "log", "--json", h.Bare)) {
		if strings.Contains(line, `"accepted"`) {
			for _, commit := range strings.Fields(h.Run(h.Work, "git", "rev-list", "HEAD")) {
				if strings.Contains(line, `"new":"`+commit+`"`) {
					seen[commit]++
				}
			}
		}
	}
	for commit, n := range seen {
		if n > 1 {
			t.Errorf("%s came in %d times", commit, n)
		}
	}
	if len(seen) < rounds {
		t.Errorf("the audit has %d accepted pushes of %d", len(seen), rounds)
	}
	// A push whose session went with the wire may end after the one that was tried again: the
	// next push records it.
	h.killSessions()
	h.Commit("a", "the last")
	if out, err := again(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	h.Fsck()
	h.Run(h.mirror(), "git", "fsck", "--strict", "--no-dangling")
	if left, _ := filepath.Glob(filepath.Join(h.Bare, "objects", "tmp_objdir-*")); len(left) > 0 {
		t.Logf("quarantines that maintenance removes: %d", len(left))
	}
}
