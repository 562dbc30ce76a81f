package forge_test

import (
	"bytes"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"git-ward/internal/await"
	"git-ward/internal/tier"
)

// page is what a process wrote so far.
type page struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (p *page) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.Write(b)
}

func (p *page) looks() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Count(p.text.String(), "looked")
}

// TestWebhook: the process, whose next look is a day away, answers an issue when a real Gitea's
// webhook comes (FORGE-2).
func TestWebhook(t *testing.T) {
	tier.Full(t, "a real Gitea")
	s := newScene(t)
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := free.Addr().String()
	free.Close()
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("the-secret-of-both\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.Run(s.Bare, "git-ward", "config", "--bare", s.Bare, "forge.poll=24h", "forge.webhook="+at, "forge.webhook_secret_file="+secret)
	var said page
	cmd := s.Command(s.Bare, nil, "git-ward", "forge", "--bare", s.Bare)
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v\n%s", err, said.text.String())
		}
	})
	await.True(t, "the first look", func() bool { return said.looks() > 0 })
	s.forge.call("POST", "/hooks", map[string]any{"type": "gitea", "active": true, "events": []string{"issues", "issue_label"},
		"config": map[string]string{"url": "http://" + at + "/", "content_type": "json", "secret": "the-secret-of-both"}}, nil)
	n := s.forge.issue("greet the user", body)
	await.True(t, "the proposal, a day before the next look", func() bool { return len(s.forge.comments(n)) == 1 })
}
