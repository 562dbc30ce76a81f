package modeltest

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// post sends a request as a client would and returns status and body.
func post(t *testing.T, s *Server, path, body string) (int, string) {
	t.Helper()
	resp, err := http.Post(s.URL+path, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return resp.StatusCode, string(text) + "[" + err.Error() + "]"
	}
	return resp.StatusCode, string(text)
}

// A first request in each protocol; STREAM stands for a member that asks for one.
var asks = map[string]string{
	"/v1/messages":         `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"hello"}]STREAM}`,
	"/v1/chat/completions": `{"model":"m","messages":[{"role":"user","content":"hello"}]STREAM}`,
	"/v1/responses":        `{"model":"m","input":[{"role":"user","content":[{"type":"input_text","text":"hello"}]}]STREAM}`,
}

// In every protocol a script's turns come in order, whole and as streams, and then it
// is over.
func TestScript(t *testing.T) {
	for path, ask := range asks {
		s := New(t, Script(Turn{Text: "first words", Calls: []Call{{Name: "bash", Args: `{"a":1}`}}}, Turn{Text: "then these"}))
		if status, body := post(t, s, path, strings.Replace(ask, "STREAM", "", 1)); status != 200 || !json.Valid([]byte(body)) ||
			!strings.Contains(body, "first words") || !strings.Contains(body, "bash") {
			t.Errorf("%s: %d %s", path, status, body)
		}
		status, body := post(t, s, path, strings.Replace(ask, "STREAM", `,"stream":true`, 1))
		if status != 200 || !strings.Contains(body, "data: {") {
			t.Errorf("%s: %d %s", path, status, body)
		}
		if status, body := post(t, s, path, strings.Replace(ask, "STREAM", "", 1)); status != http.StatusTeapot || !strings.Contains(body, "script_is_over") {
			t.Errorf("%s: %d %s", path, status, body)
		}
		requests := s.Requests()
		if len(requests) != 3 || requests[1].N != 2 || !requests[1].Stream || requests[0].Stream || strings.TrimSpace(requests[0].User) != "hello" || requests[0].Model != "m" {
			t.Errorf("%s: %+v", path, requests)
		}
	}
}

// What is not well formed is refused, as the real ones do, and the script stays where
// it was.
func TestRefusals(t *testing.T) {
	for _, test := range []struct{ path, body string }{
		{"/v1/messages", `{`},
		{"/v1/messages", `{"model":"m","messages":[]}`},
		{"/v1/chat/completions", `{"messages":[{"role":"user","content":"x"}]}`},
		{"/v1/chat/completions", `{"model":"m","messages":[{"role":"assistant","tool_calls":[{"id":"a"}]},{"role":"user","content":"x"}]}`},
		{"/v1/responses", `{"model":"m"}`},
	} {
		s := New(t, func(*Request) Turn { t.Errorf("%s: %s was played", test.path, test.body); return Turn{} })
		if status, body := post(t, s, test.path, test.body); status != http.StatusBadRequest || !strings.Contains(body, "stand-in: ") {
			t.Errorf("%s %s: %d %s", test.path, test.body, status, body)
		}
	}
	s := New(t, Script())
	if status, _ := post(t, s, "/v1/nothing", "{}"); status != http.StatusNotFound {
		t.Error(status)
	}
	s.Window(3)
	if status, body := post(t, s, "/v1/messages", strings.Replace(asks["/v1/messages"], "STREAM", "", 1)); status != http.StatusBadRequest || !strings.Contains(body, "too long") {
		t.Error(status, body)
	}
}

// Faults: a status with its wait, a stream that is cut off, and one that falls silent.
func TestFaults(t *testing.T) {
	ask := strings.Replace(asks["/v1/chat/completions"], "STREAM", `,"stream":true`, 1)
	s := New(t, Script(append([]Turn{
		{Fault: Fault{Status: 429, Type: "rate_limit_error", Message: "busy", RetryAfter: "7"}},
		{Text: "some words that are cut off", Fault: Fault{Cut: 1}},
	}, slices.Repeat([]Turn{{Text: "words", Fault: Fault{Silent: 1}}}, 10)...)...))
	resp, err := http.Post(s.URL+"/v1/chat/completions", "application/json", strings.NewReader(ask))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != 429 || resp.Header.Get("Retry-After") != "7" {
		t.Error(resp.Status, resp.Header)
	}
	if _, body := post(t, s, "/v1/chat/completions", ask); strings.Contains(body, "[DONE]") {
		t.Error("a stream that was cut off has an end:", body)
	}
	client := http.Client{Timeout: 200 * time.Millisecond} // how long silence is listened to
	for range 10 {                                         // longer, where it was over before the silence began
		if resp, err = client.Post(s.URL+"/v1/chat/completions", "application/json", strings.NewReader(ask)); err == nil {
			break
		}
		client.Timeout *= 2
	}
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, err := io.ReadAll(resp.Body); err == nil {
		t.Errorf("a silent stream ended: %s", body)
	}
}
