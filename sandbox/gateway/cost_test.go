package gateway

import (
	"net/http"
	"strings"
	"testing"
)

// TestCost: a report learns what its directive cost, and of one that cost nothing yet,
// or that there is not, nothing is known.
func TestCost(t *testing.T) {
	upstream := newStandIn(t, func(w http.ResponseWriter, _ *http.Request) {
		answerJSON(w, 200, `{"id":"1","type":"message","usage":{"input_tokens":1000,"output_tokens":2}}`)
	})
	f := newFence(t, upstream.URL, func(c *Config) { c.PricesOf = "2026-11-01" })
	ask := func(directive, want string) {
		t.Helper()
		status, body, err := f.do("GET", costPath+"?directive="+directive, "")
		if status != 200 || !strings.HasPrefix(body, want) || err != nil {
			t.Errorf("%d %s %v, want %s", status, body, err, want)
		}
	}
	ask("D-1", "{}")
	if status, body, err := f.post("/anthropic/v1/messages", `{"model":"claude-test","max_tokens":10,"messages":[{"role":"user","content":"hi"}]}`); status != 200 {
		t.Fatalf("%d %s %v", status, body, err)
	}
	f.account()
	ask("D-1", `{"tokens":1002,"money":"`)
	ask("D-1%0a", "{}")
	ask("D-2", "{}")
	if status, _, _ := f.post(costPath, "{}"); status != 405 {
		t.Errorf("a POST is answered %d", status)
	}
}
