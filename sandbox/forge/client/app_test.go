package client

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"git-ward/internal/diag"
	"git-ward/sandbox/forge/client/githubtest"
	"git-ward/sandbox/gateway"
)

// TestApp: where an app gives the verdict, it is a check run of the app's, on the commit, and no
// status; another app's run of that name is not taken for it. A token is made anew when it expires,
// and when the app was taken out of the project and put in again.
func TestApp(t *testing.T) {
	s, p, as := hubBox(t)
	id, pem := s.App()
	file := filepath.Join(t.TempDir(), "app.pem")
	if err := os.WriteFile(file, pem, 0o600); err != nil {
		t.Fatal(err)
	}
	p.Give("ward", "write")
	c := as("ward").(*github)
	app := must[*App](t)(ReadApp(id, file))
	config := Config{Kind: "github", URL: s.URL, Owner: "ann", Name: "box", App: app, Now: s.Now}
	config.Token = must[gateway.Key](t)(gateway.NewKey("token-of-ward"))
	f, ctx, commit := must[Forge](t)(New(config)), t.Context(), githubtest.Commit("main")

	want := Status{Context: "ward/verdict", State: "success", Description: "EXACT: all is met", URL: s.URL + "/ann/box/pull/1"}
	err := f.SetStatus(ctx, commit, want)
	if hints := diag.Hints(err); !errors.Is(err, ErrNotFound) || len(hints) != 1 || !strings.Contains(hints[0], "install it") {
		t.Fatalf("not installed: %v %q", err, hints)
	}
	p.Install(true)
	for _, state := range []string{"pending", "failure", "error", "success"} {
		want.State = state
		if err := f.SetStatus(ctx, commit, want); err != nil {
			t.Fatal(err)
		}
		p.Check(commit, "ward/verdict", "success")
		got := must[[]Status](t)(f.Statuses(ctx, commit))
		if len(got) != 1 || got[0].State != state || got[0].Context != want.Context || got[0].Description != want.Description || got[0].By.Login != "ward" {
			t.Errorf("%s: %+v", state, got)
		}
	}
	if got := must[[]Status](t)(c.Statuses(ctx, commit)); len(got) != 0 {
		t.Errorf("there is a status beside it: %+v", got)
	}
	s.Calls()
	s.Pass(59*time.Minute + 30*time.Second)
	if err := f.SetStatus(ctx, commit, want); err != nil {
		t.Error(err)
	}
	if calls := strings.Join(s.Calls(), "; "); strings.Count(calls, "access_tokens") != 1 || strings.Contains(calls, "/installation;") {
		t.Errorf("after an hour: %s", calls)
	}
	p.Install(false)
	if err := f.SetStatus(ctx, commit, want); err == nil {
		t.Error("set without the app")
	}
	p.Install(true)
	if err := f.SetStatus(ctx, commit, want); err != nil {
		t.Errorf("installed again: %v", err)
	}
	if err := f.SetStatus(ctx, strings.Repeat("0", 40), want); kindOf(err) != "conflict: 422" {
		t.Errorf("of no commit: %v", err)
	}
	if err := f.SetStatus(ctx, strings.Repeat("0", 40), want); strings.Contains(err.Error(), "ghs_") {
		t.Error("a token is in the error")
	}
	config.Kind = "gitea"
	if _, err := New(config); err == nil {
		t.Error("an app of Gitea's")
	}
	if err := os.WriteFile(file, []byte("no key\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadApp(id, file); err == nil || strings.Contains(err.Error(), "no key\n") {
		t.Errorf("no key: %v", err)
	}
}
