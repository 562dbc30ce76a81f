package client

import (
	"net/http"
	"strings"
	"testing"

	"git-ward/internal/tier"
	"git-ward/sandbox/gateway"
)

const hookSecret = "the-secret-of-hooks"

func hookKey(t *testing.T) gateway.Key {
	t.Helper()
	return must[gateway.Key](t)(gateway.NewKey(hookSecret))
}

// hooked makes a webhook and removes it; one that is gone is removed again without an error.
func hooked(t *testing.T, f Forge) {
	t.Helper()
	const at = "https://ward.example.org/?ward=mark"
	if err := f.AddHook(t.Context(), at, hookKey(t)); err != nil {
		t.Fatal(err)
	}
	all := must[[]Hook](t)(f.Hooks(t.Context()))
	if len(all) != 1 || all[0].URL != at || !all[0].Active {
		t.Fatalf("%+v", all)
	}
	for range 2 {
		if err := f.RemoveHook(t.Context(), all[0].ID); err != nil {
			t.Error(err)
		}
	}
	if all := must[[]Hook](t)(f.Hooks(t.Context())); len(all) != 0 {
		t.Errorf("%+v", all)
	}
}

// needsAdmin holds the calls that list and make to the right that they name. What GitHub says to a
// removal does not tell, so that the set-up lists again (setup.Hook.Agree).
func needsAdmin(t *testing.T, f Forge) {
	t.Helper()
	_, err := f.Hooks(t.Context())
	for _, err := range []error{err, f.AddHook(t.Context(), "https://ward.example.org/", hookKey(t))} {
		if !strings.HasPrefix(kindOf(err), "denied: to administer the project") {
			t.Errorf("of one who may only write: %v", err)
		}
	}
}

// TestGiteaHook: a real Gitea makes and removes webhooks for whoever administers the project.
func TestGiteaHook(t *testing.T) {
	tier.Full(t, "needs a Gitea")
	b := newBox(t)
	b.ann.Give("box", b.ward, "write")
	needsAdmin(t, b.f)
	b.ann.Give("box", b.ward, "admin")
	hooked(t, b.f)
}

// TestGitHubHook: the calls are as GitHub's description has them.
func TestGitHubHook(t *testing.T) {
	_, p, as := hubBox(t)
	p.Give("ward", "write")
	needsAdmin(t, as("ward"))
	p.Give("ward", "admin")
	hooked(t, as("ward"))
}

// TestGitLabHook: the calls are the ones that GitLab's manual has.
func TestGitLabHook(t *testing.T) {
	f, asked := lab(t, map[string]string{
		"GET /hooks?per_page=100": `[{"id":4,"url":"https://ward.example.org/?ward=mark"}]`,
		`POST /hooks {"issues_events":true,"merge_requests_events":true,"note_events":true,"push_events":true,"token":"` + hookSecret + `","url":"https://ward.example.org/"}`: `{"id":5,"url":"https://ward.example.org/"}`,
		"DELETE /hooks/4": "",
	})
	if err := f.AddHook(t.Context(), "https://ward.example.org/", hookKey(t)); err != nil {
		t.Errorf("%v\n%s", err, asked())
	}
	if all, err := f.Hooks(t.Context()); err != nil || len(all) != 1 || all[0] != (Hook{4, "https://ward.example.org/?ward=mark", true}) {
		t.Errorf("%+v %v\n%s", all, err, asked())
	}
	if err := f.RemoveHook(t.Context(), 4); err != nil {
		t.Errorf("%v\n%s", err, asked())
	}
}

// TestHookSecretStays: a forge that repeats the webhook's secret has it in no error.
func TestHookSecretStays(t *testing.T) {
	for _, kind := range Kinds {
		for _, code := range []int{http.StatusForbidden, http.StatusNotFound, http.StatusUnprocessableEntity, http.StatusInternalServerError} {
			f := asked(t, kind, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(code)
				w.Write([]byte(`{"message":"no ` + hookSecret + `"}`))
			})
			if err := f.AddHook(t.Context(), "https://ward.example.org/", hookKey(t)); err == nil || strings.Contains(err.Error(), hookSecret) {
				t.Errorf("%s %d: %v", kind, code, err)
			}
		}
	}
}
