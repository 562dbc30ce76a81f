package relay

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"git-ward/internal/await"
	"git-ward/internal/tier"
)

// TestPush: what is pushed through near's door is the lease's holder's, and is in the mirror
// when the push has ended; what moves at the gate comes by itself.
func TestPush(t *testing.T) {
	t.Parallel()
	h := newGateHost(t)
	h.server()
	for i := range 5 {
		h.Commit("a", fmt.Sprint(i))
		out, err := h.push("HEAD:refs/heads/agent/D-1")
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if mine, gate := h.refs(h.mirror()), h.refs(h.Bare); mine != gate {
			t.Fatalf("the mirror has\n%s\nand the gate\n%s", mine, gate)
		}
	}
	if log := h.Run(h.Bare, "git-ward", "log", h.Bare); !strings.Contains(log, "agent D-1") && !strings.Contains(log, "agent:D-1") {
		t.Errorf("the audit does not say whose push it was:\n%s", log)
	}
	h.Run(h.Bare, "git", "update-ref", "refs/heads/topic", "main")
	await.True(t, "the mirror follows", func() bool { return strings.Contains(h.refs(h.mirror()), "refs/heads/topic") })
	h.Run(h.Bare, "git", "update-ref", "-d", "refs/heads/topic")
	await.True(t, "the mirror forgets", func() bool { return !strings.Contains(h.refs(h.mirror()), "refs/heads/topic") })
	h.Fsck()
}

// TestRevoked: a lease that is taken away cuts what runs and ends near, with the exit code
// that says not to try again; the key alone lets nobody in.
func TestRevoked(t *testing.T) {
	t.Parallel()
	h := newGateHost(t)
	p := h.server()
	conn, err := net.Dial("unix", filepath.Join(h.sockets(), "door", "sock"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Read(make([]byte, 1)); err != nil { // its push has begun
		t.Fatal(err)
	}
	h.revoke()
	if code := p.code(t); code != 1 || !strings.Contains(p.log.String(), "refused: ") || !strings.Contains(p.log.String(), "given back or revoked") {
		t.Errorf("exit %d", code)
	}
	if out, err := h.ssh(nil, "git-upload-pack '/x'"); exitCode(err) != 1 || !strings.Contains(out, "given back or revoked") {
		t.Errorf("%v %s", err, out)
	}
	h.Fsck()
}

// TestTakenOver: the key of an earlier holder serves nothing once the directive is another's.
func TestTakenOver(t *testing.T) {
	tier.Full(t, "sshd")
	t.Parallel()
	h := newGateHost(t)
	p := h.server()
	old := h.path("old")
	if err := os.Rename(h.path("key"), old); err != nil {
		t.Fatal(err)
	}
	h.grant("D-1")
	if code := p.code(t); code != 1 {
		t.Errorf("exit %d", code)
	}
	newer := h.path("newer")
	for _, names := range [][2]string{{h.path("key"), newer}, {old, h.path("key")}} {
		if err := os.Rename(names[0], names[1]); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := h.ssh(strings.NewReader("0000"), "git-upload-pack '/x'"); exitCode(err) != 1 || !strings.Contains(out, "is another's now") {
		t.Errorf("the old key: %v %s", err, out)
	}
	if err := os.Rename(newer, h.path("key")); err != nil {
		t.Fatal(err)
	}
	if out, err := h.ssh(strings.NewReader("0000"), "git-upload-pack '/x'"); err != nil {
		t.Errorf("the new key: %v %s", err, out)
	}
}

// TestRefusedKey: a key that the gate does not know, one whose time is over and a host that
// is another end near for good; a gate that is not there does not.
func TestRefusedKey(t *testing.T) {
	tier.Full(t, "sshd")
	t.Parallel()
	h := newGateHost(t)
	if err := h.keys.Remove(h.lease.Name()); err != nil {
		t.Fatal(err)
	}
	if p := h.launch(); p.code(t) != 1 || !strings.Contains(p.log.String(), "refuses the key") {
		t.Error("a key that was taken back")
	}
	h.grant("D-1")
	h.Run(h.dir, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", h.path("other"))
	other, _ := os.ReadFile(h.path("other.pub"))
	known, _ := os.ReadFile(h.path("known_hosts"))
	host, _, _ := strings.Cut(string(known), " ")
	writeFile(t, h.path("known_hosts"), host+" "+string(other), 0o644)
	if p := h.launch(); p.code(t) != 1 || !strings.Contains(p.log.String(), "another host key") {
		t.Error("another host")
	}
	writeFile(t, h.path("known_hosts"), string(known), 0o644)
	h.wire.far = "127.0.0.1:1"
	p := h.launch()
	await.True(t, "near says that the gate is away", func() bool { return strings.Count(p.log.String(), "unreachable") > 2 })
	select {
	case <-p.ended:
		t.Error("near gave up")
	default:
	}
}
