package forge

import (
	"context"
	"strings"
	"testing"

	"git-ward/internal/git"
	"git-ward/internal/gittest"
	"git-ward/internal/tier"
	"git-ward/protocols/comms"
	"git-ward/protocols/review"
	"git-ward/sandbox/forge/client"
)

// without is a forge that has no such issue.
type without struct {
	client.Forge
	err error
}

func (w without) Issue(context.Context, int64) (client.Issue, error) { return client.Issue{}, w.err }
func (w without) Comments(context.Context, client.Thread) ([]client.Comment, error) {
	return nil, w.err
}

// TestGone: an issue that the forge no longer has is no trouble once its directive is over.
func TestGone(t *testing.T) {
	tier.First(t, "a guarded repository")
	p := newPass(t, gittest.New(t).Bare)
	open := review.Position{Name: "D-1", Directive: &comms.Directive{}}
	taken, dropped := open, open
	taken.Taken, dropped.Dropped = strings.Repeat("a", 40), true
	for i, c := range []struct {
		at   review.Position
		owes string
		err  error
		gone bool
	}{
		{taken, "", client.ErrNotFound, true},
		{taken, "an answer", &client.ErrMoved{}, true},
		{dropped, "an answer", client.ErrNotFound, true},
		{dropped, "an answer", &client.ErrAnswer{Err: context.Canceled}, false},
		{open, "an answer", client.ErrNotFound, false},
	} {
		p.Forge, p.positions = without{err: c.err}, []review.Position{c.at}
		n := int64(i + 1)
		if err := p.save(issueRef(n), git.Zero, issue{Number: n, Directive: "D-1", hearing: hearing{Owes: c.owes}}); err != nil {
			t.Fatal(err)
		}
		err := p.heard(n)
		r, _, loaded := p.issue(n)
		if loaded != nil || (err == nil) != c.gone || r.Closed != c.gone || c.gone && r.Owes != "" {
			t.Errorf("%d: %v, %+v %v", i, err, r, loaded)
		}
	}
}
