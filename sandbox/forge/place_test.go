package forge_test

import (
	"context"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"git-ward/internal/config"
	"git-ward/internal/git"
	"git-ward/internal/gittest"
	"git-ward/internal/tier"
	"git-ward/sandbox/forge"
	"git-ward/sandbox/forge/client"
)

// site knows who asks, and the project's number.
type site struct {
	client.Forge
	login  string
	number int64
	asked  int
}

func (s *site) Self(context.Context) (client.Person, error) {
	return client.Person{Login: s.login}, nil
}

func (s *site) Project(context.Context) (client.Project, error) {
	s.asked++
	return client.Project{ID: s.number}, nil
}

// TestElsewhere: another forge, another user there, or another project of that name gets nothing of
// what is recorded of the one before: no number, and no token for where its fork was (FORGE-5). A
// project that was renamed is the same.
func TestElsewhere(t *testing.T) {
	tier.First(t, "a guarded repository")
	p := gittest.New(t)
	for _, c := range []struct {
		url, login string
		number     int64
		asked      int
		says       string // "" where the look goes on
	}{
		{"https://one.example/lead/p", "bot", 7, 1, ""},
		{"https://one.example/lead/p", "bot", 7, 1, ""},
		{"https://two.example/lead/p", "bot", 7, 0, "what is known here is of bot on https://one.example/lead/p"},
		{"https://one.example/below/lead/p", "bot", 7, 0, "what is known here is of bot on https://one.example/lead/p"},
		{"https://one.example/lead/p", "bot", 8, 1, "https://one.example/lead/p is another project than the one that is known here: its number on the forge is 8, and was 7"},
		{"https://one.example/lead/q", "bot", 8, 1, "is another project"},
		{"https://one.example/lead/q", "bot", 7, 1, ""},
		{"https://one.example/lead/q", "other", 7, 0, "and this is other on https://one.example/lead/q"},
		{"https://one.example/lead/p", "bot", 8, 1, ""},
	} {
		settings := config.Default()
		settings.Forge.URL = c.url
		at, went := &site{login: c.login, number: c.number}, false
		remote := func(string, string) git.HTTPRemote { went = true; return git.HTTPRemote{URL: "none:"} }
		word, err := (&forge.Syncer{Repo: git.Open(p.Bare), Settings: settings, Forge: at, Git: remote, Ward: forge.Verbs{Bare: p.Bare}, Log: zerolog.Nop()}).Once(t.Context())
		if err != nil || len(word.Troubles) != 1 || !strings.Contains(word.Troubles[0].Why.Raw(), c.says) || at.asked != c.asked || went != (c.says == "") {
			t.Fatalf("%+v: %d, %t, %+v %v", c, at.asked, went, word, err)
		}
		back, anew, ok := strings.Cut(word.Troubles[0].Remedy.Raw(), "begin anew: ")
		if ok && back != "set [forge] and its user's name back, or " { // an account may have been renamed
			t.Errorf("%+v: %s", c, back)
		}
		if ok && c.login == "other" {
			p.Run(p.Bare, "sh", "-c", anew) // and the next in the table is a new beginning
			if refs := p.Run(p.Bare, "git", "for-each-ref", "refs/ward/forge/place"); refs != "" {
				t.Fatal(refs)
			}
		}
	}
}
