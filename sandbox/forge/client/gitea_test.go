package client

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"git-ward/internal/await"
	"git-ward/internal/tier"
	"git-ward/sandbox/forge/client/giteatest"
	"git-ward/sandbox/gateway"
)

// box is a project of ann's on a real Gitea, with a user for Ward and a stranger.
type box struct {
	t                   *testing.T
	lab                 *giteatest.Lab
	ann, ward, stranger giteatest.User
	f                   Forge // as ward
	at                  string
}

func newBox(t *testing.T) *box {
	t.Helper()
	b := &box{t: t, lab: giteatest.New(t)}
	b.ann, b.ward, b.stranger = b.lab.User("ann"), b.lab.User("ward"), b.lab.User("eve")
	b.ann.Project("box")
	b.at = "/repos/" + b.ann.Login + "/box"
	b.f = b.as(b.ward)
	return b
}

func (b *box) as(u giteatest.User) Forge {
	b.t.Helper()
	token, err := gateway.NewKey(u.Token)
	if err != nil {
		b.t.Fatal(err)
	}
	f, err := New(Config{Kind: "gitea", URL: b.lab.URL, Owner: b.ann.Login, Name: "box", Token: token})
	if err != nil {
		b.t.Fatal(err)
	}
	return f
}

// must is the value of a call that has to succeed.
func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// branch makes a branch with one more commit in a fork.
func (b *box) branch(fork Project, name string) {
	b.t.Helper()
	b.ward.Do("POST", "/repos/"+fork.Owner+"/"+fork.Name+"/contents/"+strings.ReplaceAll(name, "/", "-")+".txt", map[string]string{
		"content": "aGVsbG8K", "message": "hello", "branch": "main", "new_branch": name}, nil)
}

func (b *box) issue(by giteatest.User, title string, labels ...int64) int64 {
	b.t.Helper()
	var made struct{ Number int64 }
	by.Do("POST", b.at+"/issues", map[string]any{"title": title, "body": "words of " + by.Login, "labels": labels}, &made)
	return made.Number
}

// TestGiteaIssues: what is labelled, and by whom the last time.
func TestGiteaIssues(t *testing.T) {
	tier.Full(t, "needs a Gitea")
	b := newBox(t)
	var label, other struct{ ID int64 }
	b.ann.Do("POST", b.at+"/labels", map[string]string{"name": "ward", "color": "#00aabb"}, &label)
	b.ann.Do("POST", b.at+"/labels", map[string]string{"name": "bug", "color": "#00aabb"}, &other)
	lee := b.lab.User("lee")
	b.ann.Give("box", lee, "write")
	give := func(by giteatest.User, n int64) {
		by.Do("POST", fmt.Sprintf("%s/issues/%d/labels", b.at, n), map[string]any{"labels": []int64{label.ID}}, nil)
	}
	take := func(by giteatest.User, n int64) {
		by.Do("DELETE", fmt.Sprintf("%s/issues/%d/labels/%d", b.at, n, label.ID), nil, nil)
	}
	if got, err := b.f.Labelled(t.Context(), "ward"); err != nil || len(got) != 0 {
		t.Errorf("of none: %v %v", got, err)
	}
	eves := b.issue(b.stranger, "please")
	give(b.ann, eves)
	again := b.issue(b.stranger, "twice")
	give(b.ann, again)
	take(b.ann, again)
	give(lee, again)
	own := b.issue(b.ann, "with it from the start", label.ID)
	taken := b.issue(b.ann, "not any more", label.ID)
	take(lee, taken)
	b.issue(b.ann, "another label", other.ID)
	done := b.issue(b.ann, "done", label.ID)
	b.ann.Do("PATCH", fmt.Sprintf("%s/issues/%d", b.at, done), map[string]string{"state": "closed"}, nil)

	got := map[int64]string{}
	for _, i := range must[[]Issue](t)(b.f.Labelled(t.Context(), "ward")) {
		got[i.Number] = i.LabelledBy.Login
	}
	want := map[int64]string{eves: b.ann.Login, again: lee.Login, own: b.ann.Login}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("labelled by %v, want %v", got, want)
	}
	if got, err := b.f.Labelled(t.Context(), "no such label"); err != nil || len(got) != 0 {
		t.Errorf("of a label that is none: %v %v", got, err)
	}
	i := must[Issue](t)(b.f.Issue(t.Context(), eves))
	if i.Title != "please" || i.Author.Login != b.stranger.Login || i.Author.Bot || !i.Open {
		t.Errorf("%+v", i)
	}
	if i := must[Issue](t)(b.f.Issue(t.Context(), done)); i.Open {
		t.Error("the closed issue is open")
	}
	if err := b.f.Close(t.Context(), eves); kindOf(err) != "denied: to close issues" { // who may is sandbox/forge's TestStory
		t.Error(err)
	}
	if _, err := b.f.Issue(t.Context(), 999); !errors.Is(err, ErrNotFound) {
		t.Errorf("no such issue: %v", err)
	}

	on := Thread{Number: eves}
	b.stranger.Do("POST", fmt.Sprintf("%s/issues/%d/comments", b.at, eves), map[string]string{"body": "/ward approve"}, nil)
	said := must[Comment](t)(b.f.Comment(t.Context(), on, "proposed"))
	all := must[[]Comment](t)(b.f.Comments(t.Context(), on))
	if len(all) != 2 || all[0].Author.Login != b.stranger.Login || all[0].Body != "/ward approve" || all[0].Edited() ||
		all[1].ID != said.ID || all[1].Author.Login != b.ward.Login || all[1].Body != "proposed" {
		t.Fatalf("%+v", all)
	}
	n := 0
	await.True(t, "the edit shows, as Gitea counts in seconds", func() bool {
		n++
		b.stranger.Do("PATCH", fmt.Sprintf("%s/issues/comments/%d", b.at, all[0].ID), map[string]string{"body": fmt.Sprint("/ward drop ", n)}, nil)
		return must[[]Comment](t)(b.f.Comments(t.Context(), on))[0].Edited()
	})
}

// TestGiteaRights: who may write is looked up, by a token that may look; what a token may not
// do is said with the right.
func TestGiteaRights(t *testing.T) {
	tier.Full(t, "needs a Gitea")
	b := newBox(t)
	lee, reader := b.lab.User("lee"), b.lab.User("rex")
	b.ann.Give("box", lee, "write")
	b.ann.Give("box", reader, "read")
	_, err := b.f.MayWrite(t.Context(), lee.Login)
	if kindOf(err) != "denied: to administer the project: Gitea tells nobody else who may write" {
		t.Errorf("without the right: %v", err)
	}
	if p := must[Project](t)(b.f.Project(t.Context())); p.Write || p.Branch != "main" || p.Owner != b.ann.Login || !strings.HasPrefix(p.Clone, b.lab.URL) {
		t.Errorf("%+v", p)
	}
	b.ann.Give("box", b.ward, "admin")
	for login, want := range map[string]bool{b.ann.Login: true, lee.Login: true, b.ward.Login: true, strings.ToUpper(lee.Login): true,
		reader.Login: false, b.stranger.Login: false, "nobody-of-that-name": false, "": false, "../" + lee.Login: false, "Ghost": false} {
		if got, err := b.f.MayWrite(t.Context(), login); err != nil && !errors.Is(err, ErrNotFound) || got != want {
			t.Errorf("%q may write: %v %v, want %v", login, got, err, want)
		}
	}
	b.ann.Do("DELETE", b.at+"/collaborators/"+lee.Login, nil, nil)
	if got, err := b.f.MayWrite(t.Context(), lee.Login); err != nil || got {
		t.Errorf("who lost the right may write: %v %v", got, err)
	}
	if p := must[Project](t)(b.f.Project(t.Context())); !p.Write || p.Closed {
		t.Errorf("%+v", p)
	}
	commit := strings.Repeat("a", 40)
	err = b.as(b.stranger).SetStatus(t.Context(), commit, Status{Context: "ward/verdict", State: "success"})
	if kindOf(err) != "denied: to set the status of commits" {
		t.Errorf("a stranger's status: %v", err)
	}
	b.ann.Do("PATCH", b.at, map[string]bool{"archived": true}, nil)
	if p := must[Project](t)(b.f.Project(t.Context())); !p.Closed {
		t.Error("archived, and not closed")
	}
	b.ann.Do("PATCH", b.at, map[string]bool{"archived": false, "private": true}, nil)
	if _, err := b.as(b.stranger).Project(t.Context()); !errors.Is(err, ErrNotFound) {
		t.Errorf("a stranger sees a private project: %v", err)
	}
	b.ann.Do("PATCH", b.at, map[string]string{"name": "chest"}, nil)
	if _, err := b.f.Project(t.Context()); kindOf(err) != "moved: /api/v1/repos/"+b.ann.Login+"/chest" {
		t.Errorf("renamed: %v", err)
	}
	gone := b.ward
	gone.Token = strings.Repeat("0", 40)
	if _, err := b.as(gone).Self(t.Context()); !strings.HasPrefix(kindOf(err), "denied: to be known") {
		t.Errorf("a token that is none: %v", err)
	}
}

// TestGiteaRequest: from the fork to the merge.
func TestGiteaRequest(t *testing.T) {
	tier.Full(t, "needs a Gitea")
	b, ctx := newBox(t), t.Context()
	b.ann.Give("box", b.ward, "write")
	if self := must[Person](t)(b.f.Self(ctx)); self != (Person{b.ward.Login, false}) {
		t.Errorf("%+v", self)
	}
	fork := must[Project](t)(b.f.Fork(ctx))
	if fork.Owner != b.ward.Login || fork.Name != "box" || !fork.Write {
		t.Errorf("%+v", fork)
	}
	if again := must[Project](t)(b.f.Fork(ctx)); again != fork {
		t.Errorf("another fork: %+v", again)
	}
	b.ward.Do("PATCH", "/repos/"+fork.Owner+"/box", map[string]string{"name": "casket"}, nil)
	if fork = must[Project](t)(b.f.Fork(ctx)); fork.Owner != b.ward.Login || fork.Name != "casket" {
		t.Errorf("renamed: %+v", fork)
	}
	b.ward.Do("PATCH", "/repos/"+fork.Owner+"/casket", map[string]string{"name": "box"}, nil)
	fork = must[Project](t)(b.f.Fork(ctx))
	b.branch(fork, "agent/D-1")
	b.branch(fork, "agent/D-2")
	if none := must[[]Request](t)(b.f.Requests(ctx, fork.Owner, "agent/D-1")); len(none) != 0 {
		t.Errorf("%+v", none)
	}
	head := Head{Owner: fork.Owner, Name: fork.Name, Branch: "agent/D-1"}
	made := must[Request](t)(b.f.Open(ctx, NewRequest{head, "main", "One thing", "words", true}))
	if !made.Draft || made.Title != "One thing" || made.Body != "words" || made.State != Open || made.Base != "main" || made.Author.Login != b.ward.Login ||
		made.Head.Owner != fork.Owner || made.Head.Name != "box" || made.Head.Branch != "agent/D-1" || !isCommit(made.Head.Commit) {
		t.Errorf("%+v", made)
	}
	if _, err := b.f.Open(ctx, NewRequest{head, "main", "Again", "", true}); kindOf(err) != "conflict: 409" {
		t.Errorf("a second one: %v", err)
	}
	if _, err := b.f.Open(ctx, NewRequest{Head{Owner: fork.Owner, Branch: "agent/D-9"}, "main", "None", "", true}); !errors.Is(err, ErrNotFound) {
		t.Errorf("of no branch: %v", err)
	}
	other := must[Request](t)(b.f.Open(ctx, NewRequest{Head{Owner: fork.Owner, Branch: "agent/D-2"}, "main", "Two", "", false}))
	if other.Draft {
		t.Error("what is ready is a draft")
	}
	found := must[[]Request](t)(b.f.Requests(ctx, fork.Owner, "agent/D-1"))
	if len(found) != 1 || found[0] != made {
		t.Errorf("%+v, made %+v", found, made)
	}
	if theirs := must[[]Request](t)(b.as(b.ann).Requests(ctx, fork.Owner, "agent/D-1")); len(theirs) != 0 {
		t.Errorf("another's requests are found: %+v", theirs)
	}

	title, body, yes, no := "Another", "new words", true, false
	steps := []struct {
		e           Edit
		title, body string
		draft       bool
	}{
		{Edit{Title: &title}, "Another", "words", true},
		{Edit{Body: &body}, "Another", "new words", true},
		{Edit{Draft: &no}, "Another", "new words", false},
		{Edit{Draft: &yes}, "Another", "new words", true},
		{Edit{Title: &body, Draft: &no}, "new words", "new words", false},
		{Edit{Title: &title, Body: &title}, "Another", "Another", false},
	}
	for i, s := range steps {
		edited := must[Request](t)(b.f.Edit(ctx, made.Number, s.e))
		read := must[Request](t)(b.f.Request(ctx, made.Number))
		if edited.Draft != s.draft || edited.Title.String() != s.title || edited.Body.String() != s.body || edited != read {
			t.Errorf("%d: %+v, read %+v", i, edited, read)
		}
	}

	for _, s := range []Status{{Context: "ward/verdict", State: "pending", Description: "claimed"}, {Context: "ci", State: "failure"},
		{Context: "ward/verdict", State: "success", Description: "EXACT", URL: b.lab.URL + "/x"}, {Context: "ward/verdict", State: "error"}} {
		if err := b.f.SetStatus(ctx, made.Head.Commit, s); err != nil {
			t.Fatal(err)
		}
	}
	var states []string
	for _, s := range must[[]Status](t)(b.f.Statuses(ctx, made.Head.Commit)) {
		states = append(states, s.Context+" "+s.State+" "+s.Description.String())
		if s.By.Login != b.ward.Login {
			t.Errorf("by %+v", s.By)
		}
	}
	if got, want := strings.Join(states, ", "), "ward/verdict error , ward/verdict success EXACT, ci failure , ward/verdict pending claimed"; got != want {
		t.Errorf("%s, want %s", got, want)
	}

	review := func(by giteatest.User, event string) {
		by.Do("POST", fmt.Sprintf("%s/pulls/%d/reviews", b.at, made.Number), map[string]string{"event": event, "body": event + "!", "commit_id": made.Head.Commit}, nil)
	}
	review(b.stranger, "COMMENT")
	review(b.ann, "REQUEST_CHANGES")
	if all := must[[]Review](t)(b.f.Reviews(ctx, made.Number)); len(all) != 2 || all[1].State != Changes {
		t.Errorf("%+v", all)
	}
	review(b.ann, "APPROVED") // which takes her earlier one back
	var reviews []string
	for _, r := range must[[]Review](t)(b.f.Reviews(ctx, made.Number)) {
		reviews = append(reviews, r.Author.Login+" "+r.State+" "+r.Body.String())
	}
	if got, want := strings.Join(reviews, ", "), b.stranger.Login+" commented COMMENT!, "+b.ann.Login+" dismissed REQUEST_CHANGES!, "+b.ann.Login+" approved APPROVED!"; got != want {
		t.Errorf("%s, want %s", got, want)
	}

	if err := b.f.Merge(ctx, made.Number, strings.Repeat("b", 40), "Merge D-1: x"); !strings.HasPrefix(kindOf(err), "conflict: ") && !strings.HasSuffix(kindOf(err), ", of this one") {
		t.Errorf("with another head: %v", err)
	}
	if r := must[Request](t)(b.f.Request(ctx, made.Number)); r.State != Open {
		t.Fatalf("%+v", r)
	}
	if all := must[[]Request](t)(b.f.Onto(ctx, "main")); len(all) != 2 || all[1].Number != made.Number || all[1].Ref != fmt.Sprintf("refs/pull/%d/head", made.Number) {
		t.Errorf("%+v", all)
	}
	wants := func(want bool) {
		t.Helper()
		if rule, err := b.f.Required(ctx, "main", "ward/verdict"); err != nil || rule.Required != want {
			t.Errorf("rule.Required: %v %v", rule, err)
		}
	}
	wants(false)
	b.ann.Do("POST", b.at+"/branch_protections", map[string]any{"rule_name": "main", "enable_status_check": true, "status_check_contexts": []string{"ci", "ward/verdict"}}, nil)
	wants(true)
	b.ann.Do("DELETE", b.at+"/branch_protections/main", nil, nil)
	b.merge(made)
	if err := b.f.Merge(ctx, made.Number, made.Head.Commit, "again"); !strings.HasPrefix(kindOf(err), "conflict: ") && !errors.Is(err, ErrNotFound) {
		t.Errorf("again: %v", err)
	}
	merged := must[Request](t)(b.f.Request(ctx, made.Number))
	if merged.State != Merged || merged.MergedBy.Login != b.ward.Login || merged.MergeCommit == made.Head.Commit || merged.Head != made.Head {
		t.Errorf("%+v", merged)
	}
	b.merge(other)
	b.ends(fork, made, other)
}

// merge merges once Gitea has looked whether it can, which it does in the background.
func (b *box) merge(r Request) {
	b.t.Helper()
	await.True(b.t, "the request is merged", func() bool {
		err := b.f.Merge(b.t.Context(), r.Number, r.Head.Commit, "Merge D-1: words\n\nmore\n\nAssisted-by: codex:gpt-5")
		if later, ok := errors.AsType[*ErrLater](err); err != nil && (!ok || !later.One) {
			b.t.Fatal(err)
		}
		return err == nil
	})
	var of struct {
		Commit struct{ Message string } `json:"commit"`
	}
	b.ann.Do("GET", fmt.Sprintf("%s/git/commits/%s", b.at, must[Request](b.t)(b.f.Request(b.t.Context(), r.Number)).MergeCommit), nil, &of)
	if !strings.HasPrefix(of.Commit.Message, "Merge D-1: words\n\nmore\n\nAssisted-by: codex:gpt-5") {
		b.t.Errorf("%q", of.Commit.Message)
	}
}

// ends is what is left of a request whose branch and whose fork are gone.
func (b *box) ends(fork Project, made, other Request) {
	t, ctx := b.t, b.t.Context()
	t.Helper()
	b.branch(fork, "agent/D-3")
	third := must[Request](t)(b.f.Open(ctx, NewRequest{Head{Owner: fork.Owner, Branch: "agent/D-3"}, "main", "Three", "", true}))
	b.ann.Do("PATCH", fmt.Sprintf("%s/pulls/%d", b.at, third.Number), map[string]string{"state": "closed"}, nil)
	if r := must[Request](t)(b.f.Request(ctx, third.Number)); r.State != Closed || !r.Draft {
		t.Errorf("%+v", r)
	}
	b.ward.Do("DELETE", "/repos/"+fork.Owner+"/box/branches/agent/D-2", nil, nil)
	if r := must[Request](t)(b.f.Request(ctx, other.Number)); r.State != Merged || r.Head.Branch != "agent/D-2" || r.Head.Commit != other.Head.Commit || r.Head.Owner != fork.Owner {
		t.Errorf("its branch is gone: %+v", r)
	}
	b.ward.Do("DELETE", "/repos/"+fork.Owner+"/box", nil, nil)
	for _, n := range []Request{made, other, third} {
		r := must[Request](t)(b.f.Request(ctx, n.Number))
		if r.Head.Owner != "" || r.Head.Branch != n.Head.Branch || r.Head.Commit != n.Head.Commit {
			t.Errorf("its fork is gone: %+v", r)
		}
	}
}
