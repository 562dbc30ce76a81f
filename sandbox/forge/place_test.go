package forge_test

import (
	"context"
	"errors"
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

// site knows who asks, and ends the look at its first question about the project.
type site struct {
	client.Forge
	login string
	asked int
}

func (s *site) Self(context.Context) (client.Person, error) {
	return client.Person{Login: s.login}, nil
}

func (s *site) Project(context.Context) (client.Project, error) {
	s.asked++
	return client.Project{}, errors.New("that is all")
}

// TestElsewhere: another forge, or another user there, gets nothing of what is recorded of the
// one before: no number, and no token for where its fork was (FORGE-5).
func TestElsewhere(t *testing.T) {
	tier.First(t, "a guarded repository")
	p := gittest.New(t)
	for _, c := range []struct {
		url, login, says string
		asked            int
	}{
		{"https://one.example/lead/p", "bot", "that is all", 1},
		{"https://one.example/lead/p", "bot", "that is all", 1},
		{"https://two.example/lead/p", "bot", "what is known here is of bot on https://one.example/lead/p", 0},
		{"https://one.example/lead/p", "other", "and this is other on https://one.example/lead/p", 0},
		{"https://one.example/lead/p", "bot", "that is all", 1},
	} {
		settings := config.Default()
		settings.Forge.URL = c.url
		at := &site{login: c.login}
		word, err := (&forge.Syncer{Repo: git.Open(p.Bare), Settings: settings, Forge: at, Ward: forge.Verbs{Bare: p.Bare}, Log: zerolog.Nop()}).Once(t.Context())
		if err != nil || len(word.Troubles) != 1 || !strings.Contains(word.Troubles[0].Why.Raw(), c.says) || at.asked != c.asked {
			t.Fatalf("%+v: %d, %+v %v", c, at.asked, word, err)
		}
		if _, anew, ok := strings.Cut(word.Troubles[0].Remedy.Raw(), "begin anew: "); ok && c.login == "other" {
			p.Run(p.Bare, "sh", "-c", anew) // and the next in the table is a new beginning
			if refs := p.Run(p.Bare, "git", "for-each-ref", "refs/ward/forge/place"); refs != "" {
				t.Fatal(refs)
			}
		}
	}
}
