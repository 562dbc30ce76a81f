package setup

import (
	"strings"
	"testing"

	"git-ward/internal/tier"
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
			if f.State != Fine {
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
