package client

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"git-ward/internal/tier"
	"git-ward/sandbox/forge/client/githubtest"
	"git-ward/sandbox/gateway"
)

// hubBox is a project of ann's on a stand-in of GitHub, with a user for Ward and a stranger.
func hubBox(t *testing.T) (*githubtest.Server, *githubtest.Project, func(token string) Forge) {
	t.Helper()
	tier.First(t, "GitHub's description has 13 MB")
	s := githubtest.New(t)
	for _, login := range []string{"ann", "ward", "eve"} {
		s.User(login, "User")
	}
	s.User("helper[bot]", "Bot")
	as := func(login string) Forge {
		token, err := gateway.NewKey("token-of-" + login)
		if err != nil {
			t.Fatal(err)
		}
		f, err := New(Config{Kind: "github", URL: s.URL, Owner: "ann", Name: "box", Token: token, Now: func() time.Time { return noon }})
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	return s, s.Project("ann", "box"), as
}

// TestGitHubIssues: what is labelled, by whom the last time, and which words are a person's.
func TestGitHubIssues(t *testing.T) {
	s, p, as := hubBox(t)
	f, ctx := as("ward"), t.Context()
	if got, err := f.Labelled(ctx, "ward"); err != nil || len(got) != 0 {
		t.Errorf("of none: %v %v", got, err)
	}
	eves := p.Issue("eve", "please", "words")
	p.Label(eves, "ann", "ward", true)
	again := p.Issue("eve", "twice", "")
	p.Label(again, "ann", "ward", true)
	p.Label(again, "ann", "ward", false)
	p.Label(again, "helper[bot]", "Ward", true) // the same label to GitHub
	taken := p.Issue("ann", "not any more", "")
	p.Label(taken, "ann", "ward", true)
	p.Label(taken, "eve", "ward", false)
	gone := p.Issue("nobody-any-more", "a ghost's", "")
	p.Label(gone, "nobody-any-more", "ward", true)
	done := p.Issue("ann", "done", "")
	p.Label(done, "ann", "ward", true)
	p.Close(done)
	var got []string
	for _, i := range must[[]Issue](t)(f.Labelled(ctx, "ward")) {
		got = append(got, fmt.Sprintf("%d %q by %q, %v", i.Number, i.Body, i.LabelledBy.Login, i.LabelledBy.Bot))
	}
	if got, want := strings.Join(got, "; "), `4 "" by "", false; 2 "" by "helper[bot]", true; 1 "words" by "ann", false`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if err := f.Close(ctx, eves); err != nil {
		t.Error(err)
	}
	if i := must[Issue](t)(f.Issue(ctx, eves)); i.Open {
		t.Errorf("%+v", i)
	}
	if _, err := f.Issue(ctx, 99); !errors.Is(err, ErrNotFound) {
		t.Errorf("%v", err)
	}

	on := Thread{Number: eves}
	for range 250 {
		p.Say(eves, "eve", "spam")
	}
	app, edited := p.Say(eves, "ann", "/ward approve"), p.Say(eves, "ann", "/ward retry")
	p.ByApp(eves, app)
	p.Edit(eves, edited, "/ward drop")
	p.Say(eves, "nobody-any-more", "bye")
	said := must[Comment](t)(f.Comment(ctx, on, "proposed"))
	all := must[[]Comment](t)(f.Comments(ctx, on))
	if len(all) != 254 {
		t.Fatalf("%d comments", len(all))
	}
	if c := all[250]; c.ID != app || !c.Author.Bot || c.Author.Login != "ann" || c.Edited() {
		t.Errorf("an app's: %+v", c)
	}
	if c := all[251]; !c.Edited() || c.Author.Bot {
		t.Errorf("edited: %+v", c)
	}
	if c := all[252]; c.Author != (Person{}) {
		t.Errorf("of one who is gone: %+v", c)
	}
	if c := all[253]; c != said || c.Author != (Person{"ward", false}) {
		t.Errorf("own: %+v, was %+v", c, said)
	}
	s.Calls()
	f.Comments(ctx, on)
	if calls := s.Calls(); len(calls) != 3 || slices.ContainsFunc(calls, func(c string) bool { return !strings.HasSuffix(c, " 304") }) {
		t.Errorf("asked again: %v", calls)
	}
}

// TestGitHubRights: who may write, what is out of sight, and what a token lacks.
func TestGitHubRights(t *testing.T) {
	s, p, as := hubBox(t)
	ctx := t.Context()
	s.User("lee", "User")
	p.Give("lee", "write")
	p.Give("rex", "read")
	if _, err := as("ward").MayWrite(ctx, "lee"); kindOf(err) != "denied: metadata=read" {
		t.Errorf("without the right: %v", err)
	}
	p.Give("ward", "write")
	for login, want := range map[string]bool{"ann": true, "lee": true, "ward": true, "eve": false, "rex": false, "nobody": false, "": false, "../lee": false} {
		if got, err := as("ward").MayWrite(ctx, login); err != nil && !errors.Is(err, ErrNotFound) || got != want {
			t.Errorf("%q may write: %v %v, want %v", login, got, err, want)
		}
	}
	p.Give("lee", "")
	if may, err := as("ward").MayWrite(ctx, "lee"); may || err != nil {
		t.Errorf("who lost the right: %v %v", may, err)
	}
	status := Status{Context: "ward/verdict", State: "success"}
	if err := as("eve").SetStatus(ctx, githubtest.Commit("main"), status); kindOf(err) != "denied: statuses=write" {
		t.Errorf("a stranger's status: %v", err)
	}
	if err := as("none").SetStatus(ctx, githubtest.Commit("main"), status); !strings.HasPrefix(kindOf(err), "denied: to be known") {
		t.Errorf("an unknown token's status: %v", err)
	}
	status.Description = "long" // which GitHub refuses
	for len(status.Description) < 141 {
		status.Description += "er"
	}
	if err := as("ward").SetStatus(ctx, githubtest.Commit("main"), status); kindOf(err) != "conflict: 422" {
		t.Errorf("a long description: %v", err)
	}
	if got := must[Project](t)(as("ward").Project(ctx)); got.ID == 0 || got != (Project{got.ID, "ann", "box", "main", s.URL + "/ann/box.git", s.URL + "/ann/box", true, false}) {
		t.Errorf("%+v", got)
	}
	p.Private = true
	if _, err := as("eve").Project(ctx); !errors.Is(err, ErrNotFound) {
		t.Errorf("a private project: %v", err)
	}
	p.Rename("chest")
	_, err := as("ward").Project(ctx)
	_, err2 := as("ward").Comment(ctx, Thread{Number: 1}, "x")
	for _, err := range []error{err, err2} {
		if kind := kindOf(err); !strings.HasPrefix(kind, "moved: "+s.URL+"/api/v3/repositories/") {
			t.Errorf("renamed: %v", err)
		}
	}
}

// TestGitHubRequest: from the fork to the merge, with listings that lag behind.
func TestGitHubRequest(t *testing.T) {
	s, p, as := hubBox(t)
	f, ctx := as("ward"), t.Context()
	if self := must[Person](t)(f.Self(ctx)); self != (Person{"ward", false}) {
		t.Errorf("%+v", self)
	}
	s.Project("ward", "box") // another project of the same name
	fork := must[Project](t)(f.Fork(ctx))
	if again := must[Project](t)(f.Fork(ctx)); again != fork || fork.Owner != "ward" || fork.Name != "box-1" || !fork.Write {
		t.Errorf("%+v, again %+v", fork, again)
	}
	s.Find("ward", "box").Rename("chest") // which answers with a redirect from then on
	if again := must[Project](t)(f.Fork(ctx)); again != fork {
		t.Errorf("beside one that was renamed: %+v", again)
	}
	head := Head{Owner: "ward", Name: fork.Name, Branch: "agent/D-1"}
	if _, err := f.Open(ctx, NewRequest{head, "main", "t", "b", true}); kindOf(err) != "conflict: 422" {
		t.Errorf("of no branch: %v", err)
	}
	forked := s.Find("ward", fork.Name)
	forked.Push("agent/D-1", githubtest.Commit("one"))
	s.Lag = 2
	made := must[Request](t)(f.Open(ctx, NewRequest{head, "main", "One thing", "words", true}))
	head.Commit = githubtest.Commit("one")
	if !made.Draft || made.Title != "One thing" || made.Body != "words" || made.State != Open || made.Base != "main" || made.Author.Login != "ward" || made.Head != head || made.MergeCommit != "" {
		t.Errorf("%+v", made)
	}
	for i, want := range []int{0, 0, 1, 1} {
		if found := must[[]Request](t)(f.Requests(ctx, "ward", "agent/D-1")); len(found) != want || want == 1 && found[0] != made {
			t.Errorf("%d: %+v", i, found)
		}
	}
	if read := must[Request](t)(f.Request(ctx, made.Number)); read != made {
		t.Errorf("%+v", read)
	}
	if _, err := f.Open(ctx, NewRequest{head, "main", "Again", "", true}); kindOf(err) != "conflict: 422" {
		t.Errorf("a second one: %v", err)
	}
	if theirs := must[[]Request](t)(as("ann").Requests(ctx, "ward", "agent/D-1")); len(theirs) != 0 {
		t.Errorf("another's requests are found: %+v", theirs)
	}
	title, body, yes, no := "Another", "new words", true, false
	for i, e := range []struct {
		Edit
		title string
		draft bool
	}{{Edit{Title: &title}, "Another", true}, {Edit{Draft: &no}, "Another", false}, {Edit{Draft: &no}, "Another", false},
		{Edit{Draft: &yes}, "Another", true}, {Edit{Title: &body, Body: &body, Draft: &no}, "new words", false}} {
		edited := must[Request](t)(f.Edit(ctx, made.Number, e.Edit))
		if read := must[Request](t)(f.Request(ctx, made.Number)); edited != read || read.Draft != e.draft || read.Title.String() != e.title {
			t.Errorf("%d: %+v, read %+v", i, edited, read)
		}
	}
	if _, err := as("eve").Edit(ctx, made.Number, Edit{Draft: &yes}); kindOf(err) != "denied: to edit its own pull requests" {
		t.Errorf("a stranger's draft: %v", err)
	}
	p.Review(made.Number, "eve", "COMMENTED", "hm")
	p.Review(made.Number, "ann", "CHANGES_REQUESTED", "tests!", "here", "and here")
	p.Review(made.Number, "nobody", "DISMISSED", "")
	p.Review(made.Number, "ann", "APPROVED", "")
	var reviews []string
	for _, r := range must[[]Review](t)(f.Reviews(ctx, made.Number)) {
		reviews = append(reviews, r.Author.Login+" "+r.State+" "+r.Body.String())
		remarks := must[[]Remark](t)(f.Remarks(ctx, made.Number, r.ID))
		if want := []Remark{{r.Author, "greet.sh", 1, "here"}, {r.Author, "greet.sh", 1, "and here"}}; r.State == Changes && !slices.Equal(remarks, want) || r.State != Changes && len(remarks) > 0 {
			t.Errorf("%+v", remarks)
		}
	}
	if got, want := strings.Join(reviews, ", "), "eve commented hm, ann changes tests!,  dismissed , ann approved "; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	hubMerge(t, f, p, made)
	forked.Push("agent/D-1", "")
	forked.Delete()
	last := must[Request](t)(f.Request(ctx, made.Number))
	if last.State != Merged || last.MergedBy.Login != "ward" || last.MergeCommit != githubtest.Commit("merge"+made.Head.Commit) || last.Head != (Head{"ward", "", "agent/D-1", made.Head.Commit}) {
		t.Errorf("%+v", last)
	}
}

// hubMerge merges under a rule that wants a status.
func hubMerge(t *testing.T, f Forge, p *githubtest.Project, r Request) {
	t.Helper()
	ctx := t.Context()
	if err := f.Merge(ctx, r.Number, r.Head.Commit, "Merge D-1: x\n\nmore"); kindOf(err) != "denied: contents=write" {
		t.Errorf("without the right: %v", err)
	}
	p.Give("ward", "write")
	wants := func(want bool) {
		t.Helper()
		if rule, err := f.Required(ctx, "main", "ward/verdict"); err != nil || rule.Required != want || rule.Pinned {
			t.Errorf("%v %v", rule, err)
		}
	}
	wants(false)
	p.Required, p.Ruled = "ward/verdict", true
	wants(true)
	p.Ruled = false
	wants(true)
	if all := must[[]Request](t)(f.Onto(ctx, "main")); len(all) != 1 || all[0].Number != r.Number || all[0].Ref != fmt.Sprintf("refs/pull/%d/head", r.Number) {
		t.Errorf("%+v", all)
	}
	if all := must[[]Request](t)(f.Onto(ctx, "old")); len(all) != 0 {
		t.Errorf("%+v", all)
	}
	for i, s := range []Status{{State: "pending", Description: "claimed"}, {State: "success", Description: "EXACT", URL: "https://ward.example/x"}} {
		s.Context = "ward/verdict"
		if err := f.Merge(ctx, r.Number, r.Head.Commit, "Merge D-1: x\n\nmore"); kindOf(err) != "conflict: 405" {
			t.Errorf("%d: a rule forbids it: %v", i, err)
		}
		if err := f.SetStatus(ctx, r.Head.Commit, s); err != nil {
			t.Fatal(err)
		}
		if got := must[[]Status](t)(f.Statuses(ctx, r.Head.Commit)); len(got) != i+1 || got[0] != (Status{s.Context, s.State, s.Description, s.URL, Person{"ward", false}}) {
			t.Errorf("%+v", got)
		}
	}
	if err := f.Merge(ctx, r.Number, githubtest.Commit("another"), "m"); kindOf(err) != "conflict: 409" {
		t.Errorf("another head: %v", err)
	}
	if err := f.Merge(ctx, r.Number, r.Head.Commit, "Merge D-1: x\n\nmore"); err != nil {
		t.Fatal(err)
	}
	if err := f.Merge(ctx, r.Number, r.Head.Commit, "Merge D-1: x\n\nmore"); kindOf(err) != "conflict: 405" {
		t.Errorf("again: %v", err)
	}
}

// TestGitHubLimits: each call that meets a limit says when to come again, and is made then.
func TestGitHubLimits(t *testing.T) {
	s, p, as := hubBox(t)
	n := p.Issue("ann", "t", "b")
	f, ctx, limited := as("ward"), t.Context(), true
	s.Before = func(w http.ResponseWriter, r *http.Request) bool {
		if limited {
			w.Header().Set("Content-Type", "application/json; charset=utf-8")
			w.Header().Set("Retry-After", "60")
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, `{"message":"You have exceeded a secondary rate limit.","documentation_url":"https://docs.github.com/rest/overview/rate-limits-for-the-rest-api#about-secondary-rate-limits"}`)
		}
		return limited
	}
	title, no := "t", false
	calls := map[string]func() error{
		"self":      func() error { _, err := as("ward").Self(ctx); return err },
		"project":   func() error { _, err := f.Project(ctx); return err },
		"labelled":  func() error { _, err := f.Labelled(ctx, "ward"); return err },
		"comments":  func() error { _, err := f.Comments(ctx, Thread{Number: n}); return err },
		"comment":   func() error { _, err := f.Comment(ctx, Thread{Number: n}, "x"); return err },
		"fork":      func() error { _, err := f.Fork(ctx); return err },
		"requests":  func() error { _, err := f.Requests(ctx, "ward", "x"); return err },
		"statuses":  func() error { _, err := f.Statuses(ctx, githubtest.Commit("main")); return err },
		"may write": func() error { _, err := as("ann").MayWrite(ctx, "ann"); return err },
	}
	never := map[string]func() error{
		"edit":   func() error { _, err := f.Edit(ctx, n, Edit{Title: &title, Draft: &no}); return err },
		"merge":  func() error { return f.Merge(ctx, n, githubtest.Commit("x"), "m") },
		"status": func() error { return f.SetStatus(ctx, githubtest.Commit("x"), Status{Context: "c", State: "error"}) },
	}
	for name, call := range calls {
		limited = true
		if err := call(); kindOf(err) != "later: 1m0s" {
			t.Errorf("%s: %v", name, err)
		}
		limited = false
		if err := call(); err != nil {
			t.Errorf("%s, afterwards: %v", name, err)
		}
	}
	limited = true
	for name, call := range never {
		if err := call(); kindOf(err) != "later: 1m0s" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if all := must[[]Comment](t)(unlimited(&limited, f).Comments(ctx, Thread{Number: n})); len(all) != 1 {
		t.Errorf("what was refused was done: %v", all)
	}
}

func unlimited(limited *bool, f Forge) Forge {
	*limited = false
	return f
}
