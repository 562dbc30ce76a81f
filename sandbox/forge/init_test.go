package forge_test

import (
	"encoding/json"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"git-ward/internal/await"
	"git-ward/internal/gittest"
	"git-ward/internal/tier"
)

// initForge is `git ward init --forge`, which must end so.
func initForge(p *gittest.Pair, dir, token string, exit int, args ...string) string {
	p.T.Helper()
	out, err := p.Try(dir, nil, token, "git-ward", append([]string{"init", "--forge"}, args...)...)
	code := 0
	if ended, ok := err.(*exec.ExitError); ok {
		code = ended.ExitCode()
	} else if err != nil {
		p.T.Fatal(err)
	}
	if code != exit {
		p.T.Fatalf("git ward init --forge %v: exit %d, want %d:\n%s", args, code, exit, out)
	}
	return out
}

// TestInitForge: one command sets a repository up beside a project on a real Gitea, and says
// what it did; a second one finds all there; a token that may less is told right by right, and
// is in no file of the repository (FORGE-1, FORGE-5).
func TestInitForge(t *testing.T) {
	tier.Full(t, "a real Gitea")
	g := newGitea(t)
	dir := t.TempDir()
	env, err := gittest.Environ(dir)
	if err != nil {
		t.Fatal(err)
	}
	p := &gittest.Pair{T: t, Bare: filepath.Join(dir, "p.git"), Work: filepath.Join(dir, "work"), Env: append(env, "TERM=dumb")}
	page := g.url + "/" + g.name
	gittest.InOrder(t, initForge(p, dir, g.bot.Token, 2, page), "has no commit on main", "push a first commit")
	p.Run(dir, "git", "init", "--quiet", "--initial-branch=main", p.Work)
	p.Write("README", "a project\n")
	p.Git("add", "--all")
	p.Git("commit", "--quiet", "--message", "the project as it was")
	p.Git("push", "--quiet", g.clone(), "HEAD:main", "HEAD:side", "HEAD:agent/D-9", "HEAD:refs/tags/v1")
	await.True(t, "the forge to know that the project is not empty", func() bool {
		var at struct{ Empty bool }
		g.call("GET", "", nil, &at)
		return !at.Empty
	})

	out := initForge(p, dir, "", 0, page)
	gittest.InOrder(t, out, "the token of "+g.bot.Login+" was in ", "on a forge of kind gitea", "has the branches and tags", "wrote ward/config.toml: forge.url=", `the label "ward" is made`, "the fork for claims is "+g.url+"/"+g.bot.Login+"/p", "the token lacks no right", "next: git ward forge", "then: git ward clone ", "write a directive")
	if n := strings.Count(out, "write a directive"); n != 1 {
		t.Errorf("a directive is asked for %d times:\n%s", n, out)
	}
	if refs := strings.TrimSpace(p.Run(dir, "git", "--git-dir", p.Bare, "for-each-ref", "--format=%(refname)", "refs/heads", "refs/tags")); refs != "refs/heads/main\nrefs/heads/side\nrefs/heads/ward\nrefs/tags/v1" {
		t.Error(refs)
	}
	file := strings.TrimSpace(p.Run(dir, "sh", "-c", `find . -name p.token -perm 0600`))
	if file == "" || strings.Contains(file, "p.git") || strings.Contains(out, g.bot.Token) {
		t.Errorf("the token's file: %q\n%s", file, out)
	}
	if out, err := p.Try(dir, nil, "", "grep", "-r", "-l", g.bot.Token, p.Bare); err == nil {
		t.Errorf("the token is in the repository:\n%s", out)
	}
	p.Run(dir, "git-ward", "forge", "--once", "--bare", p.Bare)
	p.Run(dir, "git-ward", "forge", "--check", "--bare", p.Bare)

	again := initForge(p, dir, "", 0, page, "--bare", p.Bare)
	gittest.InOrder(t, again, "was in ", "is complete: nothing to do", `the label "ward" was there`, "the token lacks no right")
	if strings.Contains(again, "wrote ward/config.toml") {
		t.Error(again)
	}
	gittest.InOrder(t, initForge(p, dir, "", 2, g.url+"/"+g.lead.Login+"/q", "--bare", p.Bare), "is kept in step with "+page, "name another directory")

	p.Run(dir, "git", "clone", "--quiet", "--bare", "--branch=side", "--single-branch", p.Bare, "other.git")
	gittest.InOrder(t, initForge(p, dir, "", 2, page, "--bare", "other.git"), "none is main: it is another project's", "name a directory that is not there")

	for _, c := range []struct {
		token string
		exit  int
		want  []string
	}{
		{g.bot.Scoped("read:user", "write:repository", "read:issue"), 1, []string{"forge: comments", "lacks a right", "write:issue", "mend: give " + g.bot.Login}},
		{g.bot.Scoped("read:user", "read:repository", "write:issue"), 1, []string{"forge: statuses", "write:repository", "forge: requests"}},
		{g.lead.Token, 1, []string{"forge: fork", "owns the project", "make a user for Ward alone"}},
		{g.lab.User("eve").Token, 1, []string{"may read " + page + ", and not write", "forge: people", "to administer the project"}},
		{strings.Repeat("f", 40), 2, []string{"the forge does not take it", "put it into "}},
	} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(c.token+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		gittest.InOrder(t, initForge(p, dir, "", c.exit, page), c.want...)
		asked, _ := p.Try(dir, nil, "", "git-ward", "forge", "--check", "--json", "--bare", p.Bare)
		missing := 0
		for line := range strings.Lines(asked) {
			var f struct{ Thing, State, Detail, Mend string }
			if err := json.Unmarshal([]byte(line), &f); err != nil {
				t.Fatalf("%s: %v", asked, err)
			}
			if f.State == "missing" && f.Mend != "" {
				missing++
			}
		}
		if missing == 0 {
			t.Errorf("%s", asked)
		}
	}
}

// TestInitForgeFailsClosed: whatever answers in a forge's place, nothing is made, and place and
// remedy are said (FORGE-1).
func TestInitForgeFailsClosed(t *testing.T) {
	tier.First(t, "the built programs")
	dir := t.TempDir()
	env, err := gittest.Environ(dir)
	if err != nil {
		t.Fatal(err)
	}
	p := &gittest.Pair{T: t, Env: append(env, "TERM=dumb")}
	const token = "0123456789abcdef"
	portal := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.Write([]byte("<html>please log in"))
	}))
	empty := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path != "/api/v1/user" {
			w.WriteHeader(http.StatusNotFound)
			w.Write([]byte(`{"message":"not found"}`))
			return
		}
		w.Write([]byte(`{"id":7,"login":"bot"}`))
	}))
	strange := httptest.NewUnstartedServer(http.NotFoundHandler()) // its certificate nobody here has signed
	strange.Config.ErrorLog = log.New(io.Discard, "", 0)
	strange.StartTLS()
	for _, s := range []*httptest.Server{portal, empty, strange} {
		t.Cleanup(s.Close)
	}
	for _, c := range []struct {
		page, stdin string
		want        []string
	}{
		{portal.URL + "/o/p", token, []string{portal.URL + "/o/p", "no JSON", "that a browser shows"}},
		{strange.URL + "/o/p", token, []string{strange.URL + "/o/p", "certificate", "renew the certificate"}},
		{"http://127.0.0.1:1/o/p", token, []string{"127.0.0.1:1", "refused", "curl -I"}},
		{portal.URL + "/o/p", "", []string{"there is no token for " + portal.URL + "/o/p", "on standard input"}},
		{"http://forge.example/o/p", token, []string{"unencrypted"}},
		{portal.URL + "/p", token, []string{"names no project"}},
		{empty.URL + "/o/p", token, []string{empty.URL + "/o/p", "no such thing", "give bot access"}},
	} {
		out := initForge(p, dir, c.stdin, 2, c.page)
		gittest.InOrder(t, out, c.want...)
		if strings.Contains(out, token) {
			t.Errorf("the token is printed:\n%s", out)
		}
		if _, err := os.Stat(filepath.Join(dir, "p.git")); err == nil {
			t.Fatalf("a repository was made:\n%s", out)
		}
	}
}
