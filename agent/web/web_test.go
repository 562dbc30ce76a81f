package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestWeb(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/search":
			fmt.Fprintf(w, "results for %s", r.URL.Query().Get("q"))
		case "/page":
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, `<html><style>x</style><script>y</script><h1>A  page</h1><p>with <b>a</b> <a href="https://example.org/">link</a></p>`)
		default:
			http.NotFound(w, r)
		}
	}))
	defer server.Close()
	for want, got := range map[string]func() (string, error){
		"results for two words":                        func() (string, error) { return Search(t.Context(), server.URL+"/search", "two words") },
		"results for a&b":                              func() (string, error) { return Search(t.Context(), server.URL+"/search?q={query}", "a&b") },
		"A page\nwith a <https://example.org/> link\n": func() (string, error) { return View(t.Context(), server.URL, server.URL+"/page") },
	} {
		if text, err := got(); text != want || err != nil {
			t.Errorf("%q, %v", text, err)
		}
	}
	if _, err := View(t.Context(), server.URL, server.URL+"/no"); err == nil || !strings.Contains(err.Error(), "404") {
		t.Error(err)
	}
	for _, page := range []string{"file:///etc/passwd", "x", "http://"} {
		if _, err := View(t.Context(), server.URL, page); err == nil {
			t.Error(page)
		}
	}
}

// TestBounds: a page is text, of a bounded size, behind few redirects.
func TestBounds(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/once":
			http.Redirect(w, r, "/text", http.StatusFound)
		case "/loop":
			http.Redirect(w, r, "/loop", http.StatusFound)
		case "/file":
			http.Redirect(w, r, "file:///etc/passwd", http.StatusFound)
		case "/binary":
			w.Header().Set("Content-Type", "application/octet-stream")
			w.Write([]byte{0, 1, 2, 0xff})
		case "/endless":
			for range webSize/1024 + 100 {
				if _, err := w.Write([]byte(strings.Repeat("x", 1024))); err != nil {
					return
				}
			}
		case "/html":
			w.Header().Set("Content-Type", "text/html")
			w.Write([]byte("<p>a\xffb</p><script>no"))
		default:
			fmt.Fprint(w, "text")
		}
	}))
	defer server.Close()
	for path, want := range map[string]string{
		"/once": "text", "/html": "a\ufffdb\n", "/loop": "error: more than 5 redirects", "/file": "error: ", "/binary": `error: answered with no text, but "application/octet-stream"`,
	} {
		got, err := View(t.Context(), server.URL, server.URL+path)
		if err != nil {
			got = "error: " + err.Error()
		}
		if word, isError := strings.CutPrefix(want, "error: "); got != want && (!isError || err == nil || !strings.Contains(got, word)) {
			t.Errorf("%s: %q", path, got)
		}
	}
	if got, err := View(t.Context(), server.URL, server.URL+"/endless"); err != nil || len(got) != webSize {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if Asker("") != nil {
		t.Error("there is a search without an engine")
	}
}

// TestHang: an engine that takes the question and does not answer is waited for no longer than
// the bound.
func TestHang(t *testing.T) {
	over := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-over:
		case <-r.Context().Done():
		}
	}))
	defer server.Close()
	defer close(over)
	defer func(was time.Duration) { webTimeout = was }(webTimeout)
	webTimeout = 20 * time.Millisecond
	if _, err := Search(t.Context(), server.URL, "x"); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}

// TestPublic: no page of this machine or of a private network is read, by whatever name or
// redirect; the engine's own server is.
func TestPublic(t *testing.T) {
	inside := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "a secret") }))
	defer inside.Close()
	engine := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, inside.URL, http.StatusFound) }))
	defer engine.Close()
	_, port, _ := strings.Cut(strings.TrimPrefix(inside.URL, "http://"), ":")
	for _, page := range []string{inside.URL, "http://localhost:" + port, "http://[::ffff:127.0.0.1]:" + port, "http://0.0.0.0:" + port, "http://2130706433:" + port, engine.URL + "/found"} {
		if text, err := View(t.Context(), engine.URL, page); err == nil || strings.Contains(text, "secret") {
			t.Errorf("%s: %q, %v", page, text, err)
		}
	}
	for _, address := range []string{"10.1.2.3:80", "172.16.0.1:80", "192.168.1.1:443", "169.254.169.254:80", "[::1]:80", "[fe80::1%eth0]:80", "[fd00::1]:80", "100.64.0.1:80", "[64:ff9b::7f00:1]:80", "[::]:80", "224.0.0.1:80", "[::ffff:10.0.0.1]:80"} {
		if publicOnly("tcp", address, nil) == nil {
			t.Errorf("%s is public", address)
		}
	}
	for _, address := range []string{"93.184.216.34:443", "[2606:2800:220:1::1]:443"} {
		if err := publicOnly("tcp", address, nil); err != nil {
			t.Errorf("%s: %v", address, err)
		}
	}
}
