package gateway

import (
	"context"
	"errors"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"git-ward/internal/await"
	"git-ward/protocols/lease"
)

// desk grants every directive but those that it refuses.
type desk struct {
	mu      sync.Mutex
	holds   lease.Lease
	asked   int
	refuses map[string]error
}

func (d *desk) Current(context.Context) (lease.Lease, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asked++
	return d.holds, d.holds.ID != ""
}

func (d *desk) Take(_ context.Context, directives []string) (lease.Lease, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	i := slices.IndexFunc(directives, func(name string) bool { return d.refuses[name] == nil })
	if i < 0 {
		return lease.Lease{}, d.refuses[directives[0]]
	}
	d.holds = lease.New(directives[i], [lease.IDBytes]byte{1}, "alpha.1", "process", time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC), time.Minute)
	return d.holds, nil
}

func (d *desk) Release(_ context.Context, directive string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.holds.Directive == directive {
		d.holds = lease.Lease{}
	}
	return nil
}

// TestLeaseEndpoint: what a worker asks, and what it is answered.
func TestLeaseEndpoint(t *testing.T) {
	d := &desk{refuses: map[string]error{
		"D-2": &lease.Refused{Why: lease.Held, Text: "beta.1 works on it", Holder: "beta.1"},
		"D-4": errors.New("/srv/secret/place cannot be read"),
	}}
	f := newFence(t, "", func(c *Config) { c.Lease, c.Directive = d, nil })
	const held = `{"version":1,"directive":"D-3","id":"0100000000000000","holder":"alpha.1","where":"process","since":"2026-11-21T12:00:00Z","until":"2026-11-21T12:01:00Z"}`
	for _, c := range []struct {
		method, path string
		status       int
		want         string
	}{
		{"GET", "/ward/lease", 200, `{"lease":null}`},
		{"PUT", "/ward/lease/D-2", 409, `{"why":"held","text":"beta.1 works on it","holder":"beta.1"}`},
		{"PUT", "/ward/lease/D-3", 200, held},
		{"GET", "/ward/lease", 200, `{"lease":` + held + `}`},
		{"DELETE", "/ward/lease/D-9", 200, `{}`},
		{"DELETE", "/ward/lease/D-3", 200, `{}`},
		{"GET", "/ward/lease", 200, `{"lease":null}`},
		{"PUT", "/ward/lease/D-4", 503, "ward: the host cannot tell who may work on it now"},
		{"PUT", "/ward/lease/D-03", 400, "ward: GET /ward/lease, or PUT or DELETE /ward/lease/D-n"},
		{"PUT", "/ward/lease/..%2fmain", 400, "ward: GET /ward/lease, or PUT or DELETE /ward/lease/D-n"},
		{"DELETE", "/ward/lease", 400, "ward: GET /ward/lease, or PUT or DELETE /ward/lease/D-n"},
		{"PUT", `/ward/lease ["D-2","D-3"]`, 200, held},
		{"PUT", `/ward/lease ["D-2"]`, 409, `{"why":"held","text":"beta.1 works on it","holder":"beta.1"}`},
		{"PUT", `/ward/lease []`, 400, `ward: PUT /ward/lease takes a JSON array of directives, such as ["D-3","D-7"]`},
		{"PUT", `/ward/lease ["D-2","main"]`, 400, `ward: PUT /ward/lease takes a JSON array of directives, such as ["D-3","D-7"]`},
		{"PUT", `/ward/lease`, 400, `ward: PUT /ward/lease takes a JSON array of directives, such as ["D-3","D-7"]`},
		{"POST", "/ward/lease/D-3", 405, "ward: /ward/lease/D-n takes PUT and DELETE"},
	} {
		path, body, _ := strings.Cut(c.path, " ")
		status, answer, err := f.do(c.method, path, body)
		if status != c.status || strings.TrimSpace(answer) != c.want || err != nil {
			t.Errorf("%s %s: %d %s %v, want %d %s", c.method, c.path, status, answer, err, c.status, c.want)
		}
	}
	if !strings.Contains(f.log.String(), "/srv/secret/place") {
		t.Errorf("the host's own trouble is not in its log: %s", f.log)
	}
	if status, _, _ := newFence(t, "").do("PUT", "/ward/lease/D-3", ""); status != http.StatusNotFound {
		t.Errorf("where nobody has to ask: %d", status)
	}
}

// TestLeasePays: without a lease no call goes out, and what two workers use is booked on the
// directive that each of them holds, in one meter (MANY-1).
func TestLeasePays(t *testing.T) {
	up := newStandIn(t, okAnswer)
	meter := openMeter(t, filepath.Join(t.TempDir(), "meter.json"))
	desks := []*desk{{}, {}}
	var fences []*fence
	for _, d := range desks {
		f := newFence(t, up.URL, func(c *Config) { c.Lease, c.Directive, c.Meter = d, nil, meter })
		fences = append(fences, f)
		status, answer, _ := f.post("/anthropic/v1/messages", messageBody)
		if status != 403 || !strings.Contains(answer, "no lease") {
			t.Errorf("without a lease: %d %s", status, answer)
		}
	}
	if hits, _, _, _ := up.seen(); hits != 0 {
		t.Fatalf("%d calls went out without a lease", hits)
	}
	for i, calls := range []int{2, 3} {
		desks[i].Take(t.Context(), [][]string{{"D-7"}, {"D-8"}}[i])
		for range calls {
			if status, answer, _ := fences[i].post("/anthropic/v1/messages", messageBody); status != 200 {
				t.Errorf("worker %d: %d %s", i, status, answer)
			}
		}
	}
	desks[0].Release(t.Context(), "D-7") // revoked, say
	if status, _, _ := fences[0].post("/anthropic/v1/messages", messageBody); status != 403 {
		t.Errorf("after its lease is gone: %d", status)
	}
	for _, f := range fences {
		f.stop()
	}
	for directive, calls := range map[string]int64{"D-7": 2, "D-8": 3, "D-1": 0, "": 0} {
		if a := accountOf(meter, directive); a.Used.Calls != calls || a.Held.Calls != 0 {
			t.Errorf("%q: %+v, want %d calls", directive, a, calls)
		}
	}
}

// TestLeaseLostWhileWaiting: a call that waited for others, or for its own body, does not go
// out when the lease that it began with is gone.
func TestLeaseLostWhileWaiting(t *testing.T) {
	up := newStandIn(t, okAnswer)
	d := &desk{}
	d.Take(t.Context(), []string{"D-7"})
	f := newFence(t, up.URL, func(c *Config) { c.Lease, c.Directive, c.Limits.Wait = d, nil, 1 })
	body, client := io.Pipe()
	answered := make(chan int, 1)
	go func() {
		req, _ := http.NewRequest("POST", "http://gateway/anthropic/v1/messages", body)
		if resp, err := f.client.Do(req); err == nil {
			resp.Body.Close()
			answered <- resp.StatusCode
		} else {
			answered <- 0
		}
	}()
	io.WriteString(client, messageBody[:10])
	await.True(t, "the call has its directive", func() bool {
		d.mu.Lock()
		defer d.mu.Unlock()
		return d.asked > 0
	})
	d.Take(t.Context(), []string{"D-8"})
	io.WriteString(client, messageBody[10:])
	client.Close()
	if status := <-answered; status != 403 {
		t.Errorf("%d", status)
	}
	if hits, _, _, _ := up.seen(); hits != 0 {
		t.Error("it went out")
	}
}
