package client

import (
	"errors"
	"net/http"
	"testing"

	"git-ward/sandbox/forge/client/githubtest"
)

// TestGitHubWithoutDrafts: on a free plan a private project takes no drafts; there the title marks
// one, as on Gitea, from its opening on or from when it is to be one again.
func TestGitHubWithoutDrafts(t *testing.T) {
	s, p, as := hubBox(t)
	f, ctx := as("ward"), t.Context()
	fork := must[Project](t)(f.Fork(ctx))
	yes, no, title := true, false, "Another"
	for i, from := range []string{"opened without", "had them before"} {
		branch := []string{"agent/D-1", "agent/D-2"}[i]
		s.Find("ward", fork.Name).Push(branch, githubtest.Commit(branch))
		p.NoDrafts = i == 0
		made := must[Request](t)(f.Open(ctx, NewRequest{Head{Owner: "ward", Name: fork.Name, Branch: branch}, "main", "One thing", "words", true}))
		if read := must[Request](t)(f.Request(ctx, made.Number)); read != made || !made.Draft || made.Title != "One thing" {
			t.Fatalf("%s: %+v, read %+v", from, made, read)
		}
		if list := must[[]Request](t)(f.Requests(ctx, "ward", branch)); len(list) != 1 || !list[0].Draft || list[0].Title != "One thing" {
			t.Errorf("%s: %+v", from, list)
		}
		p.NoDrafts = true
		for _, e := range []Edit{{Draft: &no}, {Draft: &yes}, {Draft: &no, Title: &title}, {Draft: &yes, Body: &title}, {Title: &title}, {Draft: &no}} {
			want := must[Request](t)(f.Request(ctx, made.Number))
			if e.Draft != nil {
				want.Draft = *e.Draft
			}
			if e.Title != nil {
				want.Title = "Another"
			}
			edited := must[Request](t)(f.Edit(ctx, made.Number, e))
			read := must[Request](t)(f.Request(ctx, made.Number))
			if edited != read || read.Draft != want.Draft || read.Title != want.Title {
				t.Errorf("%s, %+v: %+v, read %+v", from, e, edited, read)
			}
		}
	}
}

// TestGitHubDraftRefused: that a draft is refused for another reason leaves the title as it is.
func TestGitHubDraftRefused(t *testing.T) {
	s, p, as := hubBox(t)
	f, ctx := as("ward"), t.Context()
	fork := must[Project](t)(f.Fork(ctx))
	s.Find("ward", fork.Name).Push("agent/D-1", githubtest.Commit("one"))
	made := must[Request](t)(f.Open(ctx, NewRequest{Head{Owner: "ward", Name: fork.Name, Branch: "agent/D-1"}, "main", "One thing", "words", false}))
	for _, name := range []string{"a conflict of what stands between", "closed"} {
		if name == "closed" {
			p.Close(made.Number)
			p.NoDrafts = true
		} else {
			s.Before = func(w http.ResponseWriter, r *http.Request) bool {
				if r.URL.Path == "/api/graphql" {
					w.WriteHeader(http.StatusConflict)
				}
				return r.URL.Path == "/api/graphql"
			}
		}
		yes := true
		_, err := f.Edit(ctx, made.Number, Edit{Draft: &yes})
		s.Before = nil
		if read := must[Request](t)(f.Request(ctx, made.Number)); err == nil || read.Title != "One thing" || read.Draft {
			t.Errorf("%s: %v, %+v", name, err, read)
		}
	}
}

// TestGitHubSecondAnswer: what came of asking without a draft is what is said, so that a request that
// may have been made is looked for, and a forge that is away is waited for.
func TestGitHubSecondAnswer(t *testing.T) {
	s, p, as := hubBox(t)
	f, ctx := as("ward"), t.Context()
	fork := must[Project](t)(f.Fork(ctx))
	s.Find("ward", fork.Name).Push("agent/D-1", githubtest.Commit("one"))
	p.NoDrafts = true
	asked := 0
	s.Before = func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPost {
			asked++
		}
		if asked == 2 {
			w.WriteHeader(http.StatusBadGateway)
		}
		return asked == 2
	}
	_, err := f.Open(ctx, NewRequest{Head{Owner: "ward", Name: fork.Name, Branch: "agent/D-1"}, "main", "One thing", "words", true})
	if _, later := errors.AsType[*ErrLater](err); !later || asked != 2 {
		t.Errorf("after %d calls: %v", asked, err)
	}
}
