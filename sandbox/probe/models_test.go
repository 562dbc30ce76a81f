package probe

import (
	"net"
	"net/http"
	"testing"
)

// TestModelsAreTried: a gateway that refuses holds what is promised, and one that answers
// each call does not.
func TestModelsAreTried(t *testing.T) {
	for _, c := range []struct {
		name   string
		status func(r *http.Request) int
		held   int
	}{
		{"refuses", func(r *http.Request) int {
			if r.ContentLength > 1<<30 {
				return http.StatusRequestEntityTooLarge
			}
			return http.StatusBadRequest
		}, 4},
		{"has no key", func(*http.Request) int { return http.StatusForbidden }, 3},
		{"answers all", func(*http.Request) int { return http.StatusOK }, 0},
	} {
		s := &Surroundings{Gateway: listen(t, func(l net.Listener) {
			http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(c.status(r)) }))
		})}
		n := 0
		for _, a := range models(s) {
			if held(t, a.try, s) {
				n++
			}
		}
		if n != c.held {
			t.Errorf("a gateway that %s: %d promises are held, want %d", c.name, n, c.held)
		}
	}
	if len(models(&Surroundings{})) != 0 {
		t.Error("without a gateway there is nothing to try")
	}
}
