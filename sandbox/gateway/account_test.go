package gateway

import (
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"git-ward/internal/runstate"
)

// TestAccount: who calls through another's program learns from the gateway itself
// whether a call was paid for, and why not.
func TestAccount(t *testing.T) {
	upstream := newStandIn(t, func(w http.ResponseWriter, _ *http.Request) {
		answerJSON(w, 200, `{"id":"1","type":"message","usage":{"input_tokens":1,"output_tokens":1}}`)
	})
	f := newFence(t, upstream.URL, func(c *Config) { c.Budget.Tokens = 2000 })
	ask := func(want string) {
		t.Helper()
		status, body, err := f.do("GET", accountPath, "")
		if status != 200 || strings.TrimSpace(body) != want || err != nil {
			t.Errorf("%d %s %v, want %s", status, body, err, want)
		}
	}
	call := func(words, want int) {
		t.Helper()
		status, body, err := f.post("/anthropic/v1/messages", fmt.Sprintf(`{"model":"claude-test","max_tokens":%d,"messages":[{"role":"user","content":"hi"}]}`, words))
		if status != want || err != nil {
			t.Fatalf("%d %s %v", status, body, err)
		}
	}
	ask(`{"directive":"D-1","unpaid":0,"why":"","limit":"","held":0,"answered":0,"failed":0,"barred":0,"unlisted":"","trouble":""}`)
	call(2000, 402)
	ask(`{"directive":"D-1","unpaid":1,"why":"the budget of D-1 has 2000 tokens left and this call may take 3066: ask for fewer output tokens; the limit is [budget] tokens","limit":"[budget] tokens","held":0,"answered":0,"failed":0,"barred":0,"unlisted":"","trouble":""}`)
	f.account()
	call(10, 200)
	ask(`{"directive":"D-1","unpaid":1,"why":"","limit":"","held":0,"answered":1,"failed":0,"barred":0,"unlisted":"","trouble":""}`)
	if status, body, _ := f.post("/anthropic/v1/messages", `{"model":"claude-new","max_tokens":10,"messages":[]}`); status != 400 || !strings.Contains(body, "[model] also") {
		t.Errorf("a model that the settings do not name: %d %s", status, body)
	}
	ask(`{"directive":"D-1","unpaid":1,"why":"","limit":"","held":0,"answered":1,"failed":0,"barred":1,"unlisted":"claude-new","trouble":""}`)
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

// teller passes on what is told of a provider's failures.
type teller struct {
	payer
	told chan map[string]runstate.Trouble
}

func (t teller) Troubles(all map[string]runstate.Trouble) { t.told <- maps.Clone(all) }

// TestTroubles: what a provider fails is told by codes, with how long it lasts, until it
// answers again. A client's own mistakes are no trouble of the provider's.
func TestTroubles(t *testing.T) {
	var answer atomic.Pointer[http.HandlerFunc]
	upstream := newStandIn(t, func(w http.ResponseWriter, r *http.Request) { (*answer.Load())(w, r) })
	told := make(chan map[string]runstate.Trouble, 20)
	f := newFence(t, upstream.URL, func(c *Config) {
		c.Payer = teller{payer{"D-1"}, told}
	})
	const start = `event: message_start` + "\n" + `data: {"type":"message_start","message":{"usage":{"input_tokens":1,"output_tokens":1}}}`
	failed := 0
	for _, c := range []struct {
		name, code string
		answer     http.HandlerFunc
	}{
		{"unavailable", "503", func(w http.ResponseWriter, _ *http.Request) { answerJSON(w, 503, `{"error":{"type":"x"}}`) }},
		{"a rate limit", "429", func(w http.ResponseWriter, _ *http.Request) { answerJSON(w, 429, `{}`) }},
		{"an error in a stream", "error", func(w http.ResponseWriter, _ *http.Request) {
			stream(w, start, `data: {"type":"error","error":{"type":"overloaded_error","message":"no"}}`)
		}},
		{"an error in an answer", "error", func(w http.ResponseWriter, _ *http.Request) { answerJSON(w, 200, `{"error":{"message":"no"}}`) }},
		{"a cut", "cut", func(w http.ResponseWriter, _ *http.Request) {
			stream(w, start)
			panic(http.ErrAbortHandler)
		}},
		{"a wrong key", "401", func(w http.ResponseWriter, _ *http.Request) {
			answerJSON(w, 401, `{"type":"error","error":{"type":"authentication_error"}}`)
		}},
		{"no such model", "404", func(w http.ResponseWriter, _ *http.Request) {
			answerJSON(w, 404, `{"type":"error","error":{"type":"not_found_error"}}`)
		}},
		{"nobody there", "unreachable", func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := w.(http.Hijacker).Hijack()
			if err == nil {
				conn.Close()
			}
		}},
		{"the client's mistake", "", func(w http.ResponseWriter, _ *http.Request) {
			answerJSON(w, 400, `{"type":"error","error":{"type":"x"}}`)
		}},
		{"an answer", "", func(w http.ResponseWriter, _ *http.Request) {
			answerJSON(w, 200, `{"type":"message","error":null,"usage":{"input_tokens":1,"output_tokens":1}}`)
		}},
	} {
		answer.Store(&c.answer)
		f.post("/anthropic/v1/messages", `{"model":"claude-test","max_tokens":10,"messages":[{"role":"user","content":"hi"}]}`)
		if c.code != "" {
			failed++
			now := (<-told)["D-1"]
			if now.Code != c.code || now.Calls != failed || now.Since.IsZero() || now.Last.Before(now.Since) {
				t.Errorf("%s: %+v, want %s, %d calls", c.name, now, c.code, failed)
			}
		} else if failed > 0 {
			if now := <-told; len(now) != 0 {
				t.Errorf("%s: %v", c.name, now)
			}
			failed = 0
		}
	}
	f.account()
	if _, body, _ := f.do("GET", accountPath, ""); !strings.Contains(body, `"answered":2,"failed":8,"barred":0,"unlisted":"","trouble":""`) {
		t.Error(body)
	}
}

// pause is why a unit is held, as it is asked for.
type pause struct {
	payer
	atomic.Value // a string
	asked        atomic.Int32
}

func (p *pause) Held(string) string {
	p.asked.Add(1)
	return p.Load().(string)
}

// TestHeld: a unit that is not to be worked on pays for nothing, which a code says.
func TestHeld(t *testing.T) {
	why := &pause{payer: payer{"D-1"}}
	why.Store("paused")
	upstream := newStandIn(t, func(w http.ResponseWriter, _ *http.Request) {
		answerJSON(w, 200, `{"id":"1","type":"message","usage":{"input_tokens":1,"output_tokens":1}}`)
	})
	f := newFence(t, upstream.URL, func(c *Config) { c.Payer = why })
	call := func(status int, held string) {
		t.Helper()
		req, err := http.NewRequest("POST", "http://gateway/anthropic/v1/messages", strings.NewReader(`{"model":"claude-test","max_tokens":10,"messages":[]}`))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := f.client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != status || resp.Header.Get(HeldHeader) != held || held != "" && resp.Header.Get("X-Should-Retry") != "false" {
			t.Errorf("%d %v", resp.StatusCode, resp.Header)
		}
	}
	call(403, "1")
	why.Store("")
	call(200, "")
	if hits, _, _, _ := upstream.seen(); hits != 1 {
		t.Errorf("%d calls went out", hits)
	}
	if _, body, _ := f.do("GET", accountPath, ""); !strings.Contains(body, `"held":1`) {
		t.Error(body)
	}
}
