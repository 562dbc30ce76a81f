package view

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"git-ward/internal/git"
	"git-ward/internal/gittest"
	"git-ward/internal/tier"
	"git-ward/protocols/boot"
	"git-ward/protocols/review"
)

func TestMain(m *testing.M) {
	code := m.Run()
	gittest.Clean()
	os.Exit(code)
}

// open is the repository in a directory, to be looked at.
func open(t *testing.T, dir string) *Source {
	t.Helper()
	repo, err := git.Named(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Open(t.Context(), repo)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func overview(t *testing.T, s *Source) *Overview {
	t.Helper()
	o, err := s.Overview(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// A new repository, on the host and in a clone: what waits, what runs, and what nobody
// knows.
func TestOverview(t *testing.T) {
	tier.First(t, "the built programs, real hooks and pushes")
	p := gittest.New(t)
	host, clone := open(t, p.Bare), open(t, p.Work)
	before := overview(t, host)
	if before.Host == nil || before.Host.Running || !before.Host.MayAsk || len(before.Directives) != 0 {
		t.Errorf("%+v", before)
	}
	p.Run(p.Work, "git-ward", "directive", "new", "--untried", "-m", "it is one\n\n- [ ] it holds (`true`)\n")
	p.Run(p.Work, "git", "fetch", "--quiet", "origin")
	for name, s := range map[string]*Source{"host": host, "clone": clone} {
		o := overview(t, s)
		if o.Version == before.Version || overview(t, s) != o {
			t.Errorf("%s: the version of a repository that moved is another, and that of one that did not is the same", name)
		}
		if len(o.Directives) != 1 || o.Directives[0].State != review.Open || o.Directives[0].Spent.Tokens != nil {
			t.Fatalf("%s: %+v", name, o.Directives)
		}
		if (o.Host == nil) != (name == "clone") {
			t.Errorf("%s: %+v", name, o.Host)
		}
		data, err := json.Marshal(o)
		if err != nil || strings.Contains(string(data), p.Bare) || !strings.Contains(string(data), `"tokens":null`) {
			t.Errorf("%s: %v %s", name, err, data)
		}
	}
}

// TestFactsOfAName: pages name the repository, so those of one that was renamed are others.
func TestFactsOfAName(t *testing.T) {
	tier.First(t, "the built programs, real hooks and pushes")
	p := gittest.New(t)
	p.Run(p.Work, "git-ward", "directive", "new", "--untried", "-m", "it is one\n\n- [ ] it holds (`true`)\n")
	facts := func(dir string) Facts {
		t.Helper()
		f, err := open(t, dir).Facts(t.Context(), "D-1")
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	was, name := facts(p.Bare), filepath.Base(p.Bare)
	for to, same := range map[string]bool{filepath.Join(t.TempDir(), name): true, filepath.Join(t.TempDir(), "other.git"): false} {
		p.Run(p.Bare, "cp", "-a", p.Bare, to)
		if is := facts(to); (is.Directive == was.Directive) != same || (is.Review == was.Review) != same {
			t.Errorf("%s: %+v, and it was %+v", to, is, was)
		}
	}
}

// Where main's program gave way to an earlier one, whoever looks is told (BOOT-2).
func TestFallen(t *testing.T) {
	tier.First(t, "the built programs, real hooks and pushes")
	p := gittest.New(t)
	if w := overview(t, open(t, p.Bare)).Warnings; len(w) > 0 {
		t.Error(w)
	}
	good := strings.TrimSpace(p.Git("rev-parse", "HEAD"))
	p.Commit("agent.sh", "exit 1\n")
	p.Git("push", "-q", "origin", "main")
	fallen := strings.TrimSpace(p.Git("rev-parse", "HEAD"))
	p.Run(p.Bare, "git", "update-ref", boot.LastGood, good)
	p.Run(p.Bare, "git", "update-ref", boot.Fallen, fallen)
	want := "the agent does not run from main: the program of its commit " + fallen[:12] + " did not hold. It runs from " + good[:12] + ", "
	if w := overview(t, open(t, p.Bare)).Warnings; len(w) != 1 || !strings.HasPrefix(w[0], want) {
		t.Errorf("%q, want %q", w, want)
	}
	if out := p.Run(p.Work, "git-ward", "status", "--bare", p.Bare); !strings.Contains(out, "warning: "+want) {
		t.Error(out)
	}
	p.Run(p.Bare, "git", "update-ref", "-d", boot.Fallen)
	p.Run(p.Bare, "git", "update-ref", boot.PinFrom, fallen)
	p.Run(p.Bare, "git", "update-ref", boot.PinTo, good)
	want = "the agent does not run from main: it went back from its commit " + fallen[:12] + " to " + good[:12] + ", "
	if w := overview(t, open(t, p.Bare)).Warnings; len(w) != 1 || !strings.HasPrefix(w[0], want) {
		t.Errorf("%q, want %q", w, want)
	}
}
