package forge

import (
	"context"
	"io"
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

// TestGone: an issue that the forge no longer has is no trouble, and is asked for no more.
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
		{open, "an answer", client.ErrNotFound, true},
		{open, "an answer", &client.ErrAnswer{Err: context.Canceled}, false},
	} {
		p.Forge, p.positions = without{err: c.err}, []review.Position{c.at}
		n := int64(i + 1)
		if err := p.save(issueRef(n), git.Zero, issue{Number: n, Directive: "D-1", Comments: comments{Owes: c.owes}}); err != nil {
			t.Fatal(err)
		}
		err := p.heard(n, true)
		r, _, loaded := p.issue(n)
		if loaded != nil || (err == nil) != c.gone || r.Gone != c.gone || c.gone && r.Comments.Owes != "" {
			t.Errorf("%d: %v, %+v %v", i, err, r, loaded)
		}
		p.Forge = without{err: context.Canceled} // which nobody hears of where it is not asked
		if err := p.heard(n, true); c.gone && err != nil {
			t.Errorf("%d: asked again: %v", i, err)
		}
	}
}

// TestGoneProposal: an issue that was deleted before anybody approved it is forgotten, and no trouble
// at each look. As long as no issue can be listed, nothing is known to be deleted.
func TestGoneProposal(t *testing.T) {
	tier.First(t, "a guarded repository")
	p := newPass(t, gittest.New(t).Bare)
	for n, c := range []struct {
		err    error
		listed bool
		dry    io.Writer
		well   bool
		gone   bool
	}{
		{client.ErrNotFound, true, nil, true, true},
		{&client.ErrMoved{}, true, nil, true, true},
		{client.ErrNotFound, true, io.Discard, true, false},
		{client.ErrNotFound, false, nil, false, false},
		{&client.ErrAnswer{Err: context.Canceled}, true, nil, false, false},
	} {
		p.Forge, p.Dry = without{err: c.err}, nil
		n := int64(n + 1)
		if err := p.save(issueRef(n), git.Zero, issue{Number: n, Proposals: []proposal{{Hash: "hash"}}}); err != nil {
			t.Fatal(err)
		}
		p.Dry = c.dry
		err := p.heard(n, c.listed)
		_, b, loaded := p.issue(n)
		if loaded != nil || (err == nil) != c.well || (b.old == git.Zero) != c.gone {
			t.Errorf("%d: %v, the record is at %s, %v", n, err, b.old, loaded)
		}
	}
}

// crowded is a forge with many requests of people's, whose heads cannot be fetched.
type crowded struct{ client.Forge }

func (crowded) Required(context.Context, string, string) (client.Rule, error) {
	return client.Rule{Required: true}, nil
}
func (crowded) Onto(context.Context, string) (list []client.Request, err error) {
	for n := range int64(2*maxOthers - 1) {
		list = append(list, client.Request{Number: n + 1, Ref: "refs/pull/1/head", Head: client.Head{Commit: strings.Repeat("b", 40)}})
	}
	return list, nil
}

// TestPlaces: requests that fail at each look do not keep the others from being looked at.
func TestPlaces(t *testing.T) {
	tier.First(t, "a guarded repository")
	bare, failed := gittest.New(t).Bare, map[string]bool{}
	for range 2 {
		p := newPass(t, bare)
		p.Forge, p.Git = crowded{}, func(string, string) git.HTTPRemote { return git.HTTPRemote{URL: "http://127.0.0.1:1/"} }
		if err := p.ofPeople(); err != nil || len(p.word.Troubles) != maxOthers {
			t.Fatalf("%v %+v", err, p.word.Troubles)
		}
		for _, of := range p.word.Troubles {
			failed[of.Of] = true
		}
	}
	if len(failed) != 2*maxOthers-1 {
		t.Errorf("%d were looked at: %v", len(failed), failed)
	}
}
