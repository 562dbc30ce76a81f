package gateway

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"git-ward/internal/await"
	"git-ward/internal/tier"
)

// works is a client that must go on being served, whatever others do.
func (f *fence) works() {
	f.t.Helper()
	if status, answer, err := f.post("/anthropic/v1/messages", messageBody); status != 200 || err != nil {
		f.t.Errorf("an honest call: %d %s %v", status, answer, err)
	}
}

func TestGarbageOnTheSocket(t *testing.T) {
	tier.First(t, "it waits for clients to be given up, or sends much")
	up := newStandIn(t, okAnswer)
	f := newFence(t, up.URL)
	noise := make([]byte, 100_000)
	rand.Read(noise)
	for _, text := range []string{
		string(noise), "", "\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "CONNECT \r\n\r\n", "GET http:// HTTP/1.1\r\nHost:\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
		"POST /anthropic/v1/messages HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"POST /anthropic/v1/messages HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n",
		"POST /anthropic/v1/messages HTTP/1.1\r\nHost: x\r\nContent-Length: 50\r\n\r\n{", // and hangs up
		"POST /anthropic/v1/messages HTTP/1.1\r\nHost: x\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}",
		"GET / HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("y", 1<<20) + "\r\n\r\n",
		"GET ftp://pkg.example.com/ HTTP/1.1\r\nHost: x\r\n\r\n", "GET http://u:p@pkg.example.com/ HTTP/1.1\r\nHost: x\r\n\r\n",
		"OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n",
	} {
		conn, err := f.dial(context.Background(), "", "")
		if err != nil {
			t.Fatal(err)
		}
		conn.SetDeadline(await.Deadline(t))
		io.WriteString(conn, text)
		conn.(*net.UnixConn).CloseWrite()
		answer, _ := io.ReadAll(conn)
		if strings.HasPrefix(string(answer), "HTTP/1.1 2") || strings.Contains(string(answer), secret) {
			t.Errorf("%.60q: %.100s", text, answer)
		}
		conn.Close()
	}
	if hits, _, _, _ := up.seen(); hits != 0 {
		t.Errorf("%d requests reached the provider", hits)
	}
	f.works()
}

func TestLargeAndDeepBodies(t *testing.T) {
	tier.First(t, "it waits for clients to be given up, or sends much")
	up := newStandIn(t, okAnswer)
	f := newFence(t, up.URL, func(c *Config) { c.Limits.Body = 1 << 20 })
	for _, body := range []string{strings.Repeat("[", 500_000), strings.Repeat(`{"a":`, 100_000), `{"model":"m","messages":` + strings.Repeat("[", 20_000)} {
		if status, _, err := f.post("/anthropic/v1/messages", body); status != 400 || err != nil {
			t.Errorf("%.20s: %d %v", body, status, err)
		}
	}
	large := `{"model":"m","max_tokens":1,"messages":[],"system":"` + strings.Repeat("x", 1<<20) + `"}`
	if status, answer, err := f.post("/anthropic/v1/messages", large); err == nil && (status != 413 || !strings.Contains(answer, "request_too_large")) {
		t.Errorf("%d %s", status, answer)
	}
	f.works()
}

// Clients that hang in every phase, as many as there are connections, and one
// honest one besides.
func TestHangingClients(t *testing.T) {
	tier.First(t, "it waits for clients to be given up, or sends much")
	up := newStandIn(t, okAnswer)
	f := newFence(t, up.URL)
	for i := range 200 {
		conn, err := f.dial(context.Background(), "", "")
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		io.WriteString(conn, []string{"", "POST /anthr", "GET / HTTP/1.1\r\nHost: x\r\n", "\r\n"}[i%4])
	}
	for range 5 { // in the middle of a body; each holds a slot of the eight
		conn, _ := f.dial(context.Background(), "", "")
		defer conn.Close()
		io.WriteString(conn, "POST /anthropic/v1/messages HTTP/1.1\r\nHost: x\r\nContent-Length: 50\r\n\r\n{")
	}
	f.works()
	f.stop() // it ends, whoever hangs
	if _, err := os.Stat(f.outer.Path); err == nil {
		t.Error("the socket's directory stays")
	}
}

func TestFlood(t *testing.T) {
	tier.Full(t, "a flood of clients")
	up := newStandIn(t, okAnswer)
	f := newFence(t, up.URL)
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			for range 30 {
				conn, err := f.dial(context.Background(), "", "")
				if err != nil {
					continue
				}
				io.WriteString(conn, "POST /anthropic/v1/messages HTTP/1.1\r\nHost: x\r\nContent-Length: "+fmt.Sprint(len(messageBody))+"\r\n\r\n"+messageBody)
				conn.Close()
			}
		})
	}
	f.works()
	all.Wait()
	f.account()
	f.works()
	f.stop()
	await.True(t, "the goroutines end", func() bool {
		up.CloseClientConnections()
		return runtime.NumGoroutine() < 60
	})
}

// A stream of 60 MB passes with a bounded memory, to a client that reads slowly
// at first.
func TestHugeStream(t *testing.T) {
	tier.Full(t, "sends 60 MB")
	chunk := "data: {\"type\":\"x\",\"text\":\"" + strings.Repeat("y", 32<<10) + "\"}"
	var sent atomic.Int32
	up := newStandIn(t, func(w http.ResponseWriter, _ *http.Request) {
		for range 2000 {
			stream(w, chunk)
			sent.Add(1)
		}
		stream(w, responseDone)
	})
	f := newFence(t, up.URL)
	resp, err := f.client.Post("http://g/openai/v1/responses", "application/json", strings.NewReader(responseBody))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	await.True(t, "the provider is far ahead", func() bool { return sent.Load() > 5 }) // of a client that reads nothing at first
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	n, err := io.Copy(io.Discard, resp.Body)
	runtime.GC()
	runtime.ReadMemStats(&after)
	if err != nil || n < 60<<20 {
		t.Errorf("%d bytes, %v", n, err)
	}
	if after.HeapAlloc > before.HeapAlloc+16<<20 {
		t.Errorf("%d bytes of heap stay", after.HeapAlloc-before.HeapAlloc)
	}
	if a := f.account(); a.Used.Usage.Output != 80 || a.Estimated != 0 {
		t.Errorf("%+v", a)
	}
}
