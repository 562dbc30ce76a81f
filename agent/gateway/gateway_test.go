package gateway_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"git-ward/agent/gateway"
)

func TestReadAccount(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.Method + " " + r.URL.String() {
		case "GET /ward/account":
			w.Write([]byte(`{"directive":"D-1","unpaid":2,"why":"the budget of D-1 is spent"}` + "\n"))
		default:
			http.Error(w, "ward: no", http.StatusForbidden)
		}
	}))
	defer server.Close()
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1") // the gateway is asked without it
	got, err := gateway.ReadAccount(t.Context(), server.URL+"/anthropic")
	if want := (gateway.Account{Unpaid: 2, Why: "the budget of D-1 is spent"}); got != want || err != nil {
		t.Errorf("%+v, %v", got, err)
	}
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	if _, err := gateway.ReadAccount(t.Context(), other.URL+"/anthropic"); err == nil || !strings.Contains(err.Error(), "404") {
		t.Errorf("a server without accounts: %v", err)
	}
	if _, err := gateway.ReadAccount(t.Context(), "http://127.0.0.1:1/anthropic"); err == nil {
		t.Error("nobody listens there")
	}
}

func TestSpentSince(t *testing.T) {
	for name, c := range map[string]struct {
		before, after gateway.Account
		want          string
	}{
		"nobody called":         {gateway.Account{}, gateway.Account{}, ""},
		"refused earlier":       {gateway.Account{Unpaid: 1, Why: "spent"}, gateway.Account{Unpaid: 1, Why: "spent"}, ""},
		"refused now":           {gateway.Account{Unpaid: 1, Why: "spent"}, gateway.Account{Unpaid: 2, Why: "spent"}, "spent"},
		"went on with less":     {gateway.Account{}, gateway.Account{Unpaid: 1, Why: ""}, ""},
		"asked for as an error": {gateway.Account{Unpaid: 3, Why: "old"}, gateway.Account{}, ""},
	} {
		if got := c.after.SpentSince(c.before); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestURL(t *testing.T) {
	getenv := func(name string) string {
		return map[string]string{gateway.OpenAI: "http://127.0.0.1:1/openai/v1"}[name]
	}
	if got, err := gateway.URL(getenv, gateway.OpenAI); got != "http://127.0.0.1:1/openai/v1" || err != nil {
		t.Error(got, err)
	}
	if got, err := gateway.URL(getenv, gateway.Anthropic); got != "" || err == nil {
		t.Error("there is no address, and no error")
	}
}

// TestOutageSince: a program whose last call failed has an outage; one that came to its
// end all the same has none, unless nobody answered it.
func TestOutageSince(t *testing.T) {
	was := gateway.Account{Answered: 5, Failed: 1, Trouble: "503"}
	for name, c := range map[string]struct {
		after gateway.Account
		ended bool
		want  string
	}{
		"failed before":        {gateway.Account{Answered: 5, Failed: 1, Trouble: "503"}, false, ""},
		"failed at the end":    {gateway.Account{Answered: 6, Failed: 3, Trouble: "cut"}, false, "cut"},
		"ended all the same":   {gateway.Account{Answered: 6, Failed: 3, Trouble: "cut"}, true, ""},
		"ended without answer": {gateway.Account{Answered: 5, Failed: 3, Trouble: "529"}, true, "529"},
		"answered at last":     {gateway.Account{Answered: 6, Failed: 3}, false, ""},
	} {
		if got := c.after.OutageSince(was, c.ended); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	barred := gateway.Account{Barred: 1, Unlisted: "m"}
	if barred.UnlistedSince(barred) != "" || barred.UnlistedSince(gateway.Account{}) != "m" {
		t.Error("the model that the settings do not name")
	}
	if (gateway.Account{Held: 1}).HeldSince(gateway.Account{Held: 1}) || !(gateway.Account{Held: 2}).HeldSince(gateway.Account{Held: 1}) {
		t.Error("held")
	}
}
