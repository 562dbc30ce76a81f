package gateway

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"git-ward/internal/await"
	"git-ward/internal/tier"
)

// raw writes a request as it is and gives all that comes back. A client that closes its side
// has hung up, so one whose request is whole does not.
func (f *fence) raw(text string, whole bool) string {
	f.t.Helper()
	conn, err := f.dial(context.Background(), "", "")
	if err != nil {
		f.t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(await.Deadline(f.t))
	io.WriteString(conn, text)
	if !whole {
		conn.(*net.UnixConn).CloseWrite()
	}
	answer, _ := io.ReadAll(conn)
	return string(answer)
}

// TestOneRequestIsOneCall: requests that two readers may take for different ones. What the
// provider gets is one request of the gateway's own making, with the body that was checked,
// or none.
func TestOneRequestIsOneCall(t *testing.T) {
	up := newStandIn(t, okAnswer)
	f := newFence(t, up.URL)
	good := messageBody
	evil := `{"model":"other","max_tokens":5,"messages":[]}`
	post := func(headers, body string) string {
		if !strings.HasPrefix(headers, "Connection:") {
			headers = "Connection: close\r\n" + headers
		}
		return "POST /anthropic/v1/messages HTTP/1.1\r\nHost: g\r\n" + headers + "\r\n" + body
	}
	length := func(s string) string { return fmt.Sprintf("Content-Length: %d\r\n", len(s)) }
	chunked := func(s, extension, trailer string) string {
		return fmt.Sprintf("%x%s\r\n%s\r\n0\r\n%s\r\n", len(s), extension, s, trailer)
	}
	for _, c := range []struct {
		name, request string
		calls         int
	}{
		{"plain", post(length(good), good), 1},
		{"chunks", post("Transfer-Encoding: chunked\r\n", chunked(good, "", "")), 1},
		{"a chunk's extension", post("Transfer-Encoding: chunked\r\n", chunked(good, ";x="+strings.Repeat("y", 300), "")), 1},
		{"a trailer", post("Transfer-Encoding: chunked\r\nTrailer: Authorization\r\n", chunked(good, "", "Authorization: Bearer x\r\nX-Api-Key: x\r\n")), 1},
		{"Expect", post("Expect: 100-continue\r\n"+length(good), good), 1},
		{"another Expect", post("Expect: 200-maybe\r\n"+length(good), good), 0},
		{"both lengths", post(length(good)+"Transfer-Encoding: chunked\r\n", chunked(evil, "", "")), 0},
		{"two lengths", post(length(good)+"Content-Length: 2\r\n", good), 0},
		{"chunked twice", post("Transfer-Encoding: chunked, chunked\r\n", chunked(good, "", "")), 0},
		{"chunked in disguise", post("Transfer-Encoding: \x0bchunked\r\n", chunked(good, "", "")), 0},
		{"gzip and chunked", post("Transfer-Encoding: gzip, chunked\r\n", chunked(good, "", "")), 0},
		{"a folded header", post("X-A: b\r\n Transfer-Encoding: chunked\r\n"+length(good), good), 1},
		{"a space before the colon", post("Content-Length : 5\r\n"+length(good), good), 0},
		{"a negative length", post("Content-Length: -1\r\n", good), 0},
		{"a length with a sign", post(fmt.Sprintf("Content-Length: +%d\r\n", len(good)), good), 0},
		{"a chunk beyond 64 bits", post("Transfer-Encoding: chunked\r\n", "fffffffffffffffff\r\n"+good), 0},
		{"an encoded body", post("Content-Encoding: deflate\r\n"+length(good), good), 0},
		{"two values in one", post(length(good+good), good+good), 0},
		{"a byte-order mark", post(length("\ufeff"+good), "\ufeff"+good), 0},
		{"another method by a header", post("X-HTTP-Method-Override: DELETE\r\n"+length(good), good), 1},
		{"two hosts", "POST /anthropic/v1/messages HTTP/1.1\r\nHost: g\r\nHost: h\r\n" + length(good) + "\r\n" + good, 0},
		{"a web socket", "GET /anthropic/v1/messages HTTP/1.1\r\nHost: g\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n", 0},
		{"an upgrade of a call", post("Connection: close, Upgrade\r\nUpgrade: websocket\r\n"+length(good), good), 1},
		{"an upgrade to HTTP/2", post("Connection: close, Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n"+length(good), good), 1},
		{"HTTP/2 at once", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00", 0},
		{"HTTP/1.0", "POST /anthropic/v1/messages HTTP/1.0\r\n" + length(good) + "\r\n" + good, 1},
		{"HTTP/0.9", "POST /anthropic/v1/messages\r\n\r\n" + good, 0},
		{"an absolute target", "POST http://gateway/anthropic/v1/messages HTTP/1.1\r\nHost: g\r\n" + length(good) + "\r\n" + good, 0},
		{"the provider as a target", "POST " + up.URL + "/v1/messages HTTP/1.1\r\nHost: g\r\n" + length(good) + "\r\n" + good, 0},
		{"dots", "POST /anthropic/v1/x/../messages HTTP/1.1\r\nHost: g\r\n" + length(good) + "\r\n" + good, 0},
		{"a path twice", "POST /anthropic/v1/messages/v1/messages HTTP/1.1\r\nHost: g\r\n" + length(good) + "\r\n" + good, 0},
		{"an escaped path", "POST /anthropic/v1/messages%3fx HTTP/1.1\r\nHost: g\r\n" + length(good) + "\r\n" + good, 0},
		{"a fragment", "POST /anthropic/v1/messages#/../files HTTP/1.1\r\nHost: g\r\n" + length(good) + "\r\n" + good, 0},
		{"a line feed in a path", "POST /anthropic/v1/messages%0d%0aX:y HTTP/1.1\r\nHost: g\r\n" + length(good) + "\r\n" + good, 0},
		{"one after the other", "POST /anthropic/v1/messages HTTP/1.1\r\nHost: g\r\n" + length(good) + "\r\n" + good + post(length(evil), evil), 1},
		{"one within the other", post("Content-Length: 0\r\n", post(length(good), good)), 0},
	} {
		before, _, _, _ := up.seen()
		answer := f.raw(c.request, c.calls > 0)
		after, header, body, path := up.seen()
		if after-before != c.calls {
			t.Errorf("%s: %d calls, want %d: %.200s", c.name, after-before, c.calls, answer)
		}
		if strings.Contains(answer, secret) || strings.Contains(answer, "101 Switching") {
			t.Errorf("%s: %s", c.name, answer)
		}
		if c.calls > 0 && (body != good || path != "/v1/messages" || header.Get("X-Api-Key") != secret || header.Get("Authorization")+header.Get("Upgrade")+header.Get("Trailer") != "") {
			t.Errorf("%s: the provider got %s %s %v", c.name, path, body, header)
		}
	}
}

// TestMemoryOfAnswers: answers without an end, of one line, of very many events, and of what
// costs a reader much, are passed on or cut in a memory that does not grow with them.
func TestMemoryOfAnswers(t *testing.T) {
	tier.Full(t, "sends some gigabytes")
	const chunk = 1 << 20
	kinds := map[string]func(http.ResponseWriter){
		"a line without an end": func(w http.ResponseWriter) {
			stream(w)
			for range 140 {
				if _, err := io.WriteString(w, strings.Repeat("y", chunk)); err != nil {
					return
				}
			}
		},
		"a million events": func(w http.ResponseWriter) {
			stream(w)
			for range 1000 {
				io.WriteString(w, strings.Repeat("data: {\"type\":\"ping\",\"usage\":{}}\n\n", 1000))
			}
		},
		"an event of empty objects": func(w http.ResponseWriter) {
			stream(w, `data: {"object":"chat.completion.chunk","choices":[`+strings.Repeat("{},", chunk)+`{}],"usage":null}`)
		},
		"an event of brackets": func(w http.ResponseWriter) {
			stream(w, `data: {"choices":`+strings.Repeat("[", 3*chunk))
		},
		"an event of members": func(w http.ResponseWriter) {
			stream(w, "data: {"+strings.Repeat(`"a":0,`, chunk/2)+`"usage":{}}`)
		},
		"one text": func(w http.ResponseWriter) {
			answerJSON(w, 200, `{"object":"chat.completion","choices":[{"message":{"content":"`+strings.Repeat("y", 3*chunk)+`"}}],"usage":{"prompt_tokens":5,"completion_tokens":700000}}`)
		},
	}
	var mu sync.Mutex
	answer := kinds["one text"]
	up := newStandIn(t, func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		now := answer
		mu.Unlock()
		now(w)
	})
	g := startForTest(t, up.URL, "")
	for name, kind := range kinds {
		mu.Lock()
		answer = kind
		mu.Unlock()
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() { sendTo(t, g.socket, "/openai/v1/chat/completions", chatBody) })
		}
		all.Wait()
		t.Logf("%s: now at most %d MiB", name, highWater(g.Process.Pid)>>20)
	}
	if peak := highWater(g.Process.Pid); peak > 192<<20 {
		t.Errorf("the gateway took %d MiB", peak>>20)
	}
}
