package kube

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"git-ward/internal/config"
)

// TestGate: what a pod could not reach, or might reach elsewhere, is refused here.
func TestGate(t *testing.T) {
	for _, c := range []struct{ gate, address, want string }{
		{"", "", "[kube] gate is empty"},
		{"ssh://git@198.51.100.1/p.git", "", "ssh://git@198.51.100.1:22/p.git"},
		{"ssh://git@198.51.100.1:2222/p.git", "", "ssh://git@198.51.100.1:2222/p.git"},
		{"ssh://git@gate.invalid/p.git", "198.51.100.7:2222", "ssh://git@198.51.100.7:2222/p.git"},
		{"ssh://git@gate.invalid/p.git", "[2001:db8::7]:2222", "ssh://git@[2001:db8::7]:2222/p.git"},
		{"ssh://git@gate.invalid/p.git", "198.51.100.7", "missing port"},
		{"ssh://git@gate.invalid/p.git", "198.51.100.7:0", "port"},
		{"ssh://git@gate.invalid/p.git", "198.51.100.7:70000", "port"},
		{"ssh://git@127.0.0.1:22/p.git", "", "a pod's own"},
		{"ssh://git@[::ffff:127.0.0.1]:22/p.git", "", "a pod's own"},
	} {
		g, err := NewGate(context.Background(), &config.Kube{Gate: c.gate}, c.address)
		if err != nil && !strings.Contains(err.Error(), c.want) || err == nil && g.URL != c.want {
			t.Errorf("%+v: %+v %v", c, g, err)
		}
	}
}

// TestHostKey: near gets the host's key under the address that it goes to, and no comment.
func TestHostKey(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key.pub")
	for text, want := range map[string]string{
		"ssh-ed25519 AAAAC3 root@host\n": "[198.51.100.1]:2222 ssh-ed25519 AAAAC3\n",
		"":                               "",
		"-----BEGIN OPENSSH PRIVATE KEY-----\nAA\n": "",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		g, err := NewGate(context.Background(), &config.Kube{Gate: "ssh://git@198.51.100.1:2222/p.git"}, "")
		if err != nil {
			t.Fatal(err)
		}
		if err := g.ReadHostKey(path); (err == nil) != (want != "") || err == nil && string(g.KnownHosts()) != want {
			t.Errorf("%q: %q %v", text, g.KnownHosts(), err)
		}
	}
}

// TestNoHalfOfAToken: where a pod's last words are cut, no half of a token is left: secrets are
// looked for in what is told.
func TestNoHalfOfAToken(t *testing.T) {
	const token = "ghp_0123456789abcdefghij0123456789abcdef"
	for _, before := range []int{maxWords - 10, maxWords - len(token), maxWords - 30, 2*maxWords - 20} {
		text := strings.Repeat("a ", before/2) + token + " and more"
		var p Plan
		failed := pod{}
		failed.Status.Message = text
		for _, got := range []string{p.line("what", text, "do this"), failed.how("agent"), oneLine(errors.New(text))} {
			if strings.Contains(got, "ghp_0") && !strings.Contains(got, token) {
				t.Errorf("%d bytes before it: %s", before, got[len(got)-60:])
			}
		}
	}
}
