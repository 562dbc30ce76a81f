package web

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
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
	var server *httptest.Server
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
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
