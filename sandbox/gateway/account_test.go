package gateway

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// TestAccount: who calls through another's program learns from the gateway itself
// whether a call was paid for, and why not.
func TestAccount(t *testing.T) {
	upstream := newStandIn(t, func(w http.ResponseWriter, _ *http.Request) {
		answerJSON(w, 200, `{"id":"1","type":"message","usage":{"input_tokens":1,"output_tokens":1}}`)
	})
	var tokens atomic.Int64 // of the budget
	f := newFence(t, upstream.URL, func(c *Config) {
		c.Budget = func(string) Budget { return Budget{Tokens: tokens.Load(), Cost: Unlimited} }
	})
	ask := func(want string) {
		t.Helper()
		status, body, err := f.do("GET", accountPath, "")
		if status != 200 || strings.TrimSpace(body) != want || err != nil {
			t.Errorf("%d %s %v, want %s", status, body, err, want)
		}
	}
	call := func(want int) {
		t.Helper()
		status, body, err := f.post("/anthropic/v1/messages", `{"model":"claude-test","max_tokens":10,"messages":[{"role":"user","content":"hi"}]}`)
		if status != want || err != nil {
			t.Fatalf("%d %s %v", status, body, err)
		}
	}
	ask(`{"directive":"D-1","unpaid":0,"why":"","held":0,"answered":0,"failed":0,"trouble":""}`)
	call(402)
	ask(`{"directive":"D-1","unpaid":1,"why":"the budget of D-1 is spent; only the PM can raise it","held":0,"answered":0,"failed":0,"trouble":""}`)
	f.account()
	tokens.Store(Unlimited)
	call(200)
	ask(`{"directive":"D-1","unpaid":1,"why":"","held":0,"answered":1,"failed":0,"trouble":""}`)
	if status, _, _ := f.post(accountPath, "{}"); status != 405 {
		t.Errorf("a POST is answered %d", status)
	}
	if hits, _, _, _ := upstream.seen(); hits != 1 {
		t.Errorf("%d calls went out", hits)
	}
}

// TestAccountLate: a launch whose time is over pays for nobody.
func TestAccountLate(t *testing.T) {
	f := newFence(t, newStandIn(t, nil).URL, func(c *Config) { c.Until = time.Now().Add(-time.Second) })
	f.post("/openai/v1/chat/completions", `{"model":"gpt-test","messages":[{"role":"user","content":"hi"}]}`)
	if _, body, err := f.do("GET", accountPath, ""); !strings.Contains(body, `"unpaid":1,"why":"the time of this launch`) || err != nil {
		t.Error(body, err)
	}
}
