package gateway

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"git-ward/internal/await"
)

// An upstream that echoes all it got, in every way that it can answer.
func TestKeyIsNeverSeen(t *testing.T) {
	echo := func(w http.ResponseWriter, r *http.Request, status int, kind string, step int) {
		var head bytes.Buffer
		r.Header.Write(&head)
		h := w.Header()
		h.Set("Content-Type", kind)
		h.Set("X-Request-Id", "req "+r.Header.Get("Authorization")+r.Header.Get("X-Api-Key"))
		h.Set("X-Key", secret)
		h.Set("Set-Cookie", "k="+secret)
		h.Set("Openai-Organization", "org-of-the-host")
		w.WriteHeader(status)
		text := []byte("data: {\"echo\":\"" + head.String() + secret + secret + "\"}\n\n")
		for len(text) > 0 {
			n := min(step, len(text))
			w.Write(text[:n])
			w.(http.Flusher).Flush()
			text = text[n:]
		}
	}
	var status, step int
	var kind string
	up := newStandIn(t, func(w http.ResponseWriter, r *http.Request) { echo(w, r, status, kind, step) })
	f := newFence(t, up.URL)
	for _, status = range []int{200, 400, 401, 403, 429, 500, 529} {
		for _, kind = range []string{"text/event-stream", "application/json"} {
			for _, step = range []int{1, 7, len(secret), 1 << 20} {
				for path, body := range map[string]string{
					"/anthropic/v1/messages": `{"model":"m","messages":[],"max_tokens":1}`, "/openai/v1/responses": `{"model":"m","input":"x"}`,
				} {
					got, answer, err := f.post(path, body) // post looks for the key itself
					if err != nil || got != status || strings.Contains(answer, "org-of-the-host") {
						t.Fatalf("%d %s %v", got, answer, err)
					}
					if status != 401 && strings.Count(answer, redacted) != 3 {
						t.Errorf("step %d: the echo is gone: %s", step, answer)
					}
				}
			}
		}
	}
	f.stop()
	if strings.Contains(f.log.String(), secret) {
		t.Error("the key is in the log")
	}
}

// A provider that quotes parts of the key on 401, one that redirects with it,
// one that is cut in the middle of it, and one that is not there.
func TestKeyIsNotInErrors(t *testing.T) {
	for name, answer := range map[string]http.HandlerFunc{
		"part": func(w http.ResponseWriter, _ *http.Request) {
			answerJSON(w, 401, `{"error":"bad key `+secret[:20]+`***"}`)
		},
		"redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.1:1/"+secret, http.StatusTemporaryRedirect)
		},
		"cut": func(w http.ResponseWriter, _ *http.Request) {
			stream(w, "data: "+secret[:20])
			io.WriteString(w, secret[:25])
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		},
		"gone": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"gzip": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			io.WriteString(w, secret)
		},
	} {
		up := newStandIn(t, answer)
		f := newFence(t, up.URL)
		status, text, _ := f.post("/openai/v1/responses", `{"model":"m","input":"x"}`)
		if name != "cut" && strings.Contains(text, secret[:13]) || strings.Contains(text, secret[:21]) {
			t.Errorf("%s: %d %s", name, status, text)
		}
		f.stop()
		if strings.Contains(f.log.String(), secret[:13]) {
			t.Errorf("%s: in the log: %s", name, f.log)
		}
	}
}

func TestClientsHeadersAreStripped(t *testing.T) {
	up := newStandIn(t, okAnswer)
	f := newFence(t, up.URL)
	own := []string{"Authorization", "Bearer mine", "X-Api-Key", "mine", "Cookie", "a=mine", "Proxy-Authorization", "mine", "OpenAI-Organization", "mine",
		"OpenAI-Project", "mine", "Anthropic-Workspace", "mine", "X-Forwarded-For", "mine", "X-Goog-Api-Key", "mine", "Api-Key", "mine", "Idempotency-Key", "mine",
		"User-Agent", "sdk/1", "Anthropic-Version", "2023-06-01", "Connection", "X-Api-Key", "Transfer-Encoding", "identity",
		"Anthropic-Beta", "interleaved-thinking-2025-05-14, mcp-client-2025-04-04,context-1m-2025-08-07", "Anthropic-Beta", "files-api-2025-04-14,effort-2025-11-24"}
	for path, auth := range map[string][2]string{"/anthropic/v1/messages": {"X-Api-Key", secret}, "/openai/v1/chat/completions": {"Authorization", "Bearer " + secret}} {
		if status, answer, err := f.post(path, `{"model":"m","messages":[],"max_tokens":1}`, own...); status != 200 || err != nil {
			t.Fatalf("%d %s %v", status, answer, err)
		}
		_, header, _, _ := up.seen()
		if header.Get(auth[0]) != auth[1] || header.Get("User-Agent") != "sdk/1" || header.Get("Anthropic-Version") != "2023-06-01" ||
			header.Get("Anthropic-Beta") != "interleaved-thinking-2025-05-14,effort-2025-11-24" {
			t.Errorf("%v", header)
		}
		if strings.Contains(fmt.Sprint(header), "mine") {
			t.Errorf("%s: the client's own went out: %v", path, header)
		}
	}
}

func TestScrubber(t *testing.T) {
	for range 3000 {
		key := []byte(strings.Repeat("ab", 1+rand.IntN(8)) + "abc")
		var text []byte
		for range rand.IntN(12) {
			text = append(text, [][]byte{key, key[:rand.IntN(len(key))], []byte("x"), []byte("ab")}[rand.IntN(4)]...)
		}
		s := scrubber{key: key}
		var got []byte
		for rest := text; len(rest) > 0; {
			n := 1 + rand.IntN(len(rest))
			got = append(got, s.next(bytes.Clone(rest[:n]))...)
			rest = rest[n:]
		}
		end := s.rest()
		got = append(got, end...)
		want := bytes.ReplaceAll(text, key, []byte(redacted))
		if !bytes.Equal(got, want) && string(end) != redacted || bytes.Contains(got, key) {
			t.Fatalf("key %s\ntext %s\n got %s\nwant %s", key, text, got, want)
		}
	}
}

func TestKeyFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	write := func(text string, mode os.FileMode) {
		os.Remove(path)
		if err := errors.Join(os.WriteFile(path, []byte(text), mode), os.Chmod(path, mode)); err != nil { // whatever the umask
			t.Fatal(err)
		}
	}
	write(secret+"\n", 0o600)
	key, err := ReadKey(path)
	if err != nil || key.value != secret {
		t.Fatal(err)
	}
	if text := fmt.Sprintf("%v %+v %#v %s", key, []any{&key, Provider{Key: key}}, key, struct{ K Key }{key}); strings.Contains(text, secret) {
		t.Error(text)
	}
	for text, mode := range map[string]os.FileMode{secret: 0o644, "": 0o600, "two words here": 0o600, "short": 0o600, strings.Repeat("x", 5000): 0o600} {
		write(text, mode)
		if _, err := ReadKey(path); err == nil || text != "" && strings.Contains(err.Error(), text) {
			t.Errorf("%q: %v", text, err)
		}
	}
	link := path + ".link"
	os.Symlink(path, link)
	if _, err := ReadKey(link); err == nil {
		t.Error("a symbolic link is read")
	}
}

// An event is not held back: each is read before the next one is sent.
func TestStreamIsNotBuffered(t *testing.T) {
	next := make(chan bool)
	up := newStandIn(t, func(w http.ResponseWriter, _ *http.Request) {
		for range 5 {
			stream(w, `data: {"type":"ping","s":"sk"}`)
			<-next
		}
	})
	f := newFence(t, up.URL)
	resp, err := f.client.Post("http://g/openai/v1/responses", "application/json", strings.NewReader(`{"model":"m","input":"x","stream":true}`))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	for range 5 {
		buffer := make([]byte, 100)
		got := make(chan int, 1)
		go func() { n, _ := io.ReadAtLeast(resp.Body, buffer, 32); got <- n }()
		await.Value(t, "the event", got)
		next <- true
	}
}

// TestSubscription: a subscriber's token goes out in its own way, with the feature that it
// needs beside the client's, and never in the way of a key.
func TestSubscription(t *testing.T) {
	up := newStandIn(t, okAnswer)
	const token = subscription + "01-of-a-subscriber-0123456789"
	f := newFence(t, up.URL, func(c *Config) { c.Anthropic.Key = Key{token} })
	f.post("/anthropic/v1/messages", messageBody, "Anthropic-Beta", "interleaved-thinking-2025-05-14", "Authorization", "Bearer mine")
	_, header, _, _ := up.seen()
	if header.Get("Authorization") != "Bearer "+token || header.Get("X-Api-Key") != "" || header.Get("Anthropic-Beta") != "interleaved-thinking-2025-05-14,oauth-2025-04-20" {
		t.Errorf("%v", header)
	}
	if (Key{secret}).Subscription() || !(Key{token}).Subscription() {
		t.Error("a key is a token, or a token none")
	}
}
