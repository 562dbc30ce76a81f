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
