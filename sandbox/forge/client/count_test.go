package client

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestCounter: each call counts, and those that the forge answers without an answer are told apart.
func TestCounter(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if w.Header().Set("Etag", `"x"`); r.Header.Get("If-None-Match") != "" {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, whole)
	}))
	defer s.Close()
	c := &Counter{}
	f := to(t, "gitea", s.URL, c)
	for range 3 {
		if _, err := f.Issue(t.Context(), 7); err != nil {
			t.Fatal(err)
		}
	}
	if calls, unchanged := c.Take(); calls != 3 || unchanged != 2 {
		t.Errorf("%d, %d unchanged", calls, unchanged)
	}
	if calls, unchanged := c.Take(); calls+unchanged != 0 {
		t.Errorf("%d, %d, of none", calls, unchanged)
	}
	if calls, _ := (*Counter)(nil).Take(); calls != 0 {
		t.Error(calls)
	}
}
