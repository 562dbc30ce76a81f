package setup

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"git-ward/internal/tier"
	"git-ward/protocols/forge"
	"git-ward/sandbox/doctor/finding"
	"git-ward/sandbox/forge/client"
	"git-ward/sandbox/forge/client/githubtest"
	"git-ward/sandbox/gateway"
)

// TestGitHubRights: what is asked of GitHub's stand-in is as its description has it, makes
// nothing, and finds what a user may not.
func TestGitHubRights(t *testing.T) {
	tier.First(t, "GitHub's description has 13 MB")
	s := githubtest.New(t)
	for _, login := range []string{"ann", "ward", "eve"} {
		s.User(login, "User")
	}
	p := s.Project("ann", "box")
	p.Give("ward", "write")
	for login, want := range map[string]string{"ward": "", "eve": "project people statuses", "ann": "fork"} {
		token, err := gateway.NewKey("token-of-" + login)
		if err != nil {
			t.Fatal(err)
		}
		found, err := Find(t.Context(), s.URL+"/ann/box", []string{"github"}, token)
		if err != nil {
			t.Fatal(err)
		}
		var lacks []string
		for _, f := range Examine(t.Context(), Asked{Forge: found.Forge, Page: s.URL + "/ann/box", File: "FILE", Branches: "fork"}) {
			if f.State != finding.Fine {
				lacks = append(lacks, strings.TrimPrefix(f.Thing, "forge: "))
			}
		}
		if got := strings.Join(lacks, " "); got != want {
			t.Errorf("%s lacks %q, want %q", login, got, want)
		}
		if all, err := found.Forge.Requests(t.Context(), login, noBranch); err != nil || len(all) > 0 {
			t.Errorf("%s made %v %v", login, all, err)
		}
	}
}

// TestAppRights: an app that is not in the project, that GitHub does not know, or that the branch's
// rule does not ask for alone, is said with its own remedy.
func TestAppRights(t *testing.T) {
	tier.First(t, "GitHub's description has 13 MB")
	s := githubtest.New(t)
	for _, login := range []string{"ann", "ward"} {
		s.User(login, "User")
	}
	p := s.Project("ann", "box")
	p.Give("ward", "write")
	id, pem := s.App()
	file := filepath.Join(t.TempDir(), "app.pem")
	if err := os.WriteFile(file, pem, 0o600); err != nil {
		t.Fatal(err)
	}
	examined := func(id int64) string {
		at, err := At(s.URL+"/ann/box", "github")
		if err != nil {
			t.Fatal(err)
		}
		at.Now = s.Now
		if at.App, err = client.ReadApp(id, file); err != nil {
			t.Fatal(err)
		}
		if at.Token, err = gateway.NewKey("token-of-ward"); err != nil {
			t.Fatal(err)
		}
		f, err := client.New(at)
		if err != nil {
			t.Fatal(err)
		}
		var all []string
		for _, one := range Examine(t.Context(), Asked{Forge: f, Page: s.URL + "/ann/box", File: "FILE", Branches: "fork"}) {
			if one.State != finding.Fine {
				all = append(all, strings.TrimPrefix(one.Thing, "forge: ")+" "+string(one.State)+": "+one.Mend)
			}
		}
		return strings.Join(all, "; ")
	}
	holds := func(what, want string, id int64) {
		t.Helper()
		if got := examined(id); !strings.HasPrefix(got, want) || (want == "") != (got == "") {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
	}
	holds("not installed", "statuses missing: install it there", id)
	p.Install(true)
	holds("installed", "", id)
	holds("another id", "statuses missing: see whether forge.app is the app's id", id+1)
	p.Required = forge.Context
	for _, p.Ruled = range []bool{false, true} {
		p.Pinned = 0
		holds("a rule for anybody", "rule warning: ", id)
		p.Pinned = id
		holds("a rule for the app", "", id)
	}
}
