package forge

import (
	"context"
	"strings"
	"testing"
	"time"

	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/internal/gittest"
	"git-ward/internal/tier"
	"git-ward/sandbox/forge/client"
)

// flooded is a forge on which two strangers said many verbs, and that wants to be asked less when it
// is asked about the second.
type flooded struct {
	client.Forge
	asked map[string]int
}

func (f flooded) Comments(context.Context, client.Thread) (list []client.Comment, err error) {
	for i := range int64(200) {
		login := []string{"eve", "mallory"}[i/100]
		list = append(list, client.Comment{ID: i + 1, Author: client.Person{Login: login}, Body: diag.Untrusted("/ward drop"), Created: time.Unix(i, 0), Updated: time.Unix(i, 0)})
	}
	return list, nil
}

func (f flooded) MayWrite(_ context.Context, login string) (bool, error) {
	f.asked[login]++
	if login == "mallory" && f.asked[login] == 1 {
		return false, &client.ErrLater{}
	}
	return false, nil
}

// filled is a forge on which somebody wrote more than is read.
type filled struct{ client.Forge }

func (filled) Labelled(context.Context, string) ([]client.Issue, error) { return nil, nil }
func (filled) Issue(context.Context, int64) (client.Issue, error) {
	return client.Issue{Number: 1}, nil
}
func (filled) Comments(context.Context, client.Thread) ([]client.Comment, error) {
	return nil, &client.ErrAnswer{Call: "GET comments", Err: client.ErrTooMuch}
}

// TestFilled: what cannot be read any more is named with the remedy.
func TestFilled(t *testing.T) {
	tier.First(t, "a guarded repository")
	p := newPass(t, gittest.New(t).Bare)
	p.Forge = filled{}
	if err := p.save(issueRef(1), git.Zero, issue{Number: 1, Proposals: []proposal{{Hash: "hash"}}}); err != nil {
		t.Fatal(err)
	}
	if err := p.proposed(); err != nil || len(p.word.Troubles) != 1 || p.word.Troubles[0].Of != "issue 1" || !strings.Contains(p.word.Troubles[0].Remedy.Raw(), "lock it") {
		t.Fatalf("%v %+v", err, p.word.Troubles)
	}
}

// TestFlood: however much a stranger says, a look asks once what he may, and the next look goes on
// where the forge had enough of it (FORGE-5).
func TestFlood(t *testing.T) {
	tier.First(t, "a guarded repository")
	bare, f := gittest.New(t).Bare, flooded{asked: map[string]int{}}
	p := newPass(t, bare)
	if err := p.save(issueRef(1), git.Zero, issue{Number: 1, Proposals: []proposal{{Hash: "hash"}}}); err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct {
		seen         int64
		eve, mallory int
	}{{100, 1, 1}, {200, 1, 2}, {200, 1, 2}} {
		p := newPass(t, bare)
		p.Forge = f
		err := p.heard(1, true)
		r, _, loaded := p.issue(1)
		if loaded != nil || (err != nil) != (i == 0) || r.Comments.Seen != want.seen || f.asked["eve"] != want.eve || f.asked["mallory"] != want.mallory {
			t.Errorf("look %d: %v, seen %d, asked %v, %v", i, err, r.Comments.Seen, f.asked, loaded)
		}
	}
}
