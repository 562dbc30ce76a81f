package forge_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"git-ward/internal/await"
	"git-ward/internal/gittest"
	"git-ward/internal/tier"
)

// pages are what a process wrote so far.
type pages struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (p *pages) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.Write(b)
}

func (p *pages) looks() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Count(p.text.String(), "looked")
}

// serves runs the process, and returns after its first look.
func (s *scene) serves() (stop func()) {
	s.T.Helper()
	var said pages
	cmd := s.Command(s.Bare, nil, "git-ward", "forge", "--bare", s.Bare)
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		s.T.Fatal(err)
	}
	stop = sync.OnceFunc(func() {
		cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			s.T.Errorf("%v\n%s", err, said.text.String())
		}
	})
	s.T.Cleanup(stop)
	await.True(s.T, "the first look", func() bool { return said.looks() > 0 })
	return stop
}

// hooks are the URLs of the project's webhooks.
func (g *gitea) hooks() (urls []string) {
	var all []struct{ Config struct{ URL string } }
	g.call("GET", "/hooks", nil, &all)
	for _, h := range all {
		urls = append(urls, h.Config.URL)
	}
	return urls
}

// TestWebhook: the set-up makes one webhook on a real Gitea, and a second run no other; by it the
// process, whose next look is a day away, answers an issue. Who takes Ward out again takes that
// webhook away, and no other (FORGE-1, FORGE-2).
func TestWebhook(t *testing.T) {
	tier.Full(t, "a real Gitea")
	s := newScene(t)
	at := fmt.Sprintf("127.0.0.1:%d", gittest.Port(t))
	const others = "http://127.0.0.1:1/another"
	s.forge.call("POST", "/hooks", map[string]any{"type": "gitea", "active": true, "events": []string{"push"}, "config": map[string]string{"url": others, "content_type": "json"}}, nil)
	page := s.forge.url + "/" + s.forge.name
	s.Run(s.Bare, "git-ward", "config", "--bare", s.Bare, "forge.poll=24h", "forge.webhook="+at, "forge.webhook_url=http://"+at+"/")
	out := initForge(s.Pair, s.Bare, "", 0, page, "--bare", s.Bare)
	gittest.InOrder(t, out, "wrote ward/config.toml: forge.webhook_secret_file=", "the webhook to http://"+at+"/ is made; its secret is in ")
	secret, err := os.ReadFile(filepath.Join(filepath.Dir(s.Bare), "token.webhook"))
	if err != nil || strings.Contains(out, strings.TrimSpace(string(secret))) {
		t.Fatal(err, out)
	}
	made := s.forge.hooks()
	gittest.InOrder(t, initForge(s.Pair, s.Bare, "", 0, page, "--bare", s.Bare), "the webhook to http://"+at+"/ was there")
	if again := s.forge.hooks(); len(made) != 2 || !slices.Equal(again, made) {
		t.Fatal(made, again)
	}
	gittest.InOrder(t, s.Run(s.Bare, "git-ward", "forge", "--check", "--bare", s.Bare), "fine     forge: webhook")

	stop := s.serves()
	n := s.forge.issue("greet the user", body)
	await.True(t, "the proposal, a day before the next look", func() bool { return len(s.forge.comments(n)) == 1 })
	stop()

	gittest.InOrder(t, s.Run(s.Bare, "git-ward", "init", "--remove", "--bare", s.Bare), "init --remove will", "remove the webhook of "+page)
	if again := s.forge.hooks(); !slices.Equal(again, made) {
		t.Fatal(again)
	}
	token := filepath.Join(filepath.Dir(s.Bare), "token")
	kept, err := os.ReadFile(token)
	if err == nil {
		err = os.WriteFile(token, []byte(strings.Repeat("f", 40)+"\n"), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	out, err = s.Try(s.Bare, nil, "", "git-ward", "init", "--remove", "--yes", "--bare", s.Bare)
	if err == nil || !slices.Equal(s.forge.hooks(), made) {
		t.Fatalf("of a token that the forge does not take: %v\n%s", err, out)
	}
	gittest.InOrder(t, out, "the forge does not take it", "nothing was changed")
	if err := os.WriteFile(token, kept, 0o600); err != nil {
		t.Fatal(err)
	}
	gittest.InOrder(t, s.Run(s.Bare, "git-ward", "init", "--remove", "--yes", "--bare", s.Bare), "removed the webhook of "+page, "Ward is out of")
	if left := s.forge.hooks(); !slices.Equal(left, []string{others}) {
		t.Error(left)
	}
}
