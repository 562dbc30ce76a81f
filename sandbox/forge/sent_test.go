package forge

import (
	"net/http/cgi"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"git-ward/internal/config"
	"git-ward/internal/git"
	"git-ward/internal/gittest"
	"git-ward/internal/tier"
	"git-ward/sandbox/forge/client"
)

func newPass(t *testing.T, bare string) *pass {
	p := &pass{Syncer: &Syncer{Repo: git.Open(bare), Settings: config.Default(), Redact: func(s string) string { return s }, Log: zerolog.Nop()},
		ctx: t.Context(), self: client.Person{Login: "bot"}, wanted: map[string]bool{}, mayNot: map[string]bool{}}
	p.reader = p.Repo.Reader(p.ctx)
	t.Cleanup(func() { p.reader.Close() })
	return p
}

// TestSendRecords: what was rewritten stays as it was there, and the rest is sent.
func TestSendRecords(t *testing.T) {
	tier.First(t, "a guarded repository")
	s := gittest.New(t)
	to := t.TempDir()
	s.Run(to, "git", "init", "--quiet", "--bare", to)
	s.Run(to, "git", "config", "http.receivepack", "true")
	path := strings.TrimSpace(s.Run(to, "git", "--exec-path"))
	server := httptest.NewServer(&cgi.Handler{Path: path + "/git-http-backend", Env: []string{"GIT_PROJECT_ROOT=" + to, "GIT_HTTP_EXPORT_ALL=1"}})
	t.Cleanup(server.Close)
	commit := func(words string) string {
		tree := strings.TrimSpace(s.Run(s.Bare, "git", "mktree", "--missing"))
		return strings.TrimSpace(s.Run(s.Bare, "git", "-c", "user.name=w", "-c", "user.email=w@localhost", "commit-tree", "-m", words, tree))
	}
	first, second := commit("first"), commit("second")
	set := func(commit string, refs ...string) {
		for _, ref := range refs {
			s.Run(s.Bare, "git", "update-ref", ref, commit)
		}
	}
	set(first, "refs/ward/record/D-1.1", "refs/ward/folded/D-1.1", "refs/ward/take/D-1.1", "refs/ward/last-good", "refs/ward/boot/fallen")
	for range 2 {
		p := newPass(t, s.Bare)
		p.Settings.Forge.Records = server.URL + "/"
		if err := p.sendRecords(); err != nil {
			t.Fatal(err)
		}
		set(second, "refs/ward/record/D-1.1", "refs/ward/record/D-1.2")
	}
	out := s.Run(to, "git", "for-each-ref", "--format=%(objectname) %(refname)", "refs/ward/folded", "refs/ward/take", "refs/ward/last-good", "refs/ward/boot", "refs/ward/record")
	if want := first + " refs/ward/record/D-1.1\n" + second + " refs/ward/record/D-1.2\n"; out != want {
		t.Error(out)
	}
}

// TestRecordsURL: what git may not reach, or has a name in it, is refused with what is wanted.
func TestRecordsURL(t *testing.T) {
	for _, to := range []string{"ssh://git@example.org/a/b", "git@example.org:a/b", "https://me:secret@example.org/a/b", "ext::sh", "/srv/git"} {
		p := &pass{Syncer: &Syncer{Settings: config.Default()}}
		if p.Settings.Forge.Records = to; p.sendRecords() == nil || !strings.Contains(p.sendRecords().Error(), "has to be an https URL") {
			t.Errorf("%s: %v", to, p.sendRecords())
		}
	}
}
