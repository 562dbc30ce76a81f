package hooks_test

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"git-ward/internal/configtest"
	"git-ward/internal/gittest"
	"git-ward/internal/growth"
	"git-ward/internal/tier"
)

// limitTo changes one of the repository's settings.
func limitTo(p *gittest.Pair, key, value string) {
	p.T.Helper()
	configtest.Set(p.T, p.Bare, key+" = "+value)
}

// noise is text that does not compress below half, and holds no secret of a known form.
func noise(n int) string {
	data := make([]byte, n/2)
	rand.Read(data)
	var b bytes.Buffer
	for line := range slices.Chunk([]byte(hex.EncodeToString(data)), 24) { // too short for what looks like a key
		b.Write(line)
		b.WriteByte('\n')
	}
	return b.String()
}

// floods pushes branches of the agent's with noise, and deletes each, until one is
// refused; it returns how many entered.
func floods(p *gittest.Pair, most, size int) (entered int, last string) {
	p.T.Helper()
	for i := range most {
		p.Git("switch", "--quiet", "--discard-changes", "-C", fmt.Sprintf("agent/flood-%d", i), "origin/main")
		p.Commit("noise.txt", noise(size))
		out, err := p.AgentPush("HEAD")
		if err != nil {
			return i, out
		}
		if out, err := p.AgentPush("--delete", fmt.Sprintf("agent/flood-%d", i)); err != nil {
			p.T.Fatal(err, out)
		}
	}
	return most, ""
}

func objectsSize(p *gittest.Pair) int64 {
	p.T.Helper()
	n, err := growth.Size(filepath.Join(p.Bare, "objects"))
	if err != nil {
		p.T.Fatal(err)
	}
	return n
}

// TestAgentObjects: an agent that pushes and deletes fills [limits] agent_objects and no
// more; with the bound out of the way the same fills the disk. A deletion and the PM pass,
// maintenance gives all of it back, and nothing of anybody's is lost.
func TestAgentObjects(t *testing.T) {
	tier.Full(t, "it fills a share of the disk twice")
	t.Parallel()
	const limit, size, most = 4 << 20, 1 << 20, 16
	p := newPair(t)
	p.Commit("f", "1")
	if out, err := p.Push("main"); err != nil {
		t.Fatal(err, out)
	}
	limitTo(p, "agent_objects", "1_000_000_000_000")
	before := objectsSize(p)
	if n, out := floods(p, most, size); n != most {
		t.Fatal("without the bound the attack is refused, too: it proves nothing", out)
	}
	harm := objectsSize(p) - before
	if harm < 2*limit {
		t.Fatalf("without the bound it did little harm: %d bytes", harm)
	}
	limitTo(p, "agent_objects", fmt.Sprint(limit))
	out := p.Run(p.Bare, "git-ward", "maintain")
	after := objectsSize(p) - before
	t.Logf("without the bound: %d bytes of deleted branches; after maintenance %d: %s", harm, after, out)
	if after > harm/20 {
		t.Errorf("maintenance left %d of %d bytes of deleted branches\n%s", after, harm, out)
	}
	p.Fsck()

	before = objectsSize(p)
	n, out := floods(p, most, size)
	if n == 0 || n == most || !strings.Contains(out, "limit/agent-objects") {
		t.Fatalf("after %d pushes: %s", n, out)
	}
	if grew := objectsSize(p) - before; grew > limit+limit/4 { // the audit's own records besides
		t.Errorf("with the bound it grew by %d bytes", grew)
	} else {
		t.Logf("with the bound of %d bytes it grew by %d in %d pushes", limit, grew, n)
	}
	p.Git("switch", "--quiet", "--discard-changes", "main")
	p.Commit("g", noise(size))
	if out, err := p.Push("main"); err != nil {
		t.Error("the PM is held", err, out)
	}
	p.Git("switch", "--quiet", "--create", "agent/small")
	p.Commit("h", "a word")
	if out, err := p.AgentPush("HEAD"); err != nil {
		t.Error("nothing small passes", err, out)
	}
	p.Run(p.Bare, "git-ward", "maintain")
	if n, out := floods(p, 1, size); n != 1 {
		t.Error("maintenance made no room:", out)
	}
	p.Fsck()
}

// TestDiskFree: on a disk that is nearly full the agent's pushes are refused, what deletes
// passes, and so do the PM's.
func TestDiskFree(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	p.Git("switch", "--quiet", "--create", "agent/x")
	p.Commit("f", "1")
	if out, err := p.AgentPush("HEAD"); err != nil {
		t.Fatal(err, out)
	}
	limitTo(p, "disk_free", "9_000_000_000_000_000")
	p.Commit("f", "2")
	if out, err := p.AgentPush("HEAD"); err == nil || !strings.Contains(out, "limit/disk-free") {
		t.Error(err, out)
	}
	if out, err := p.AgentPush("--delete", "agent/x"); err != nil {
		t.Error(err, out)
	}
	if out, err := p.Push("HEAD:main"); err != nil {
		t.Error(err, out)
	}
	p.Fsck()
}
