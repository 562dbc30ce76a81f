package gateway

import (
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"git-ward/internal/await"
)

// desk is the host's word on who pays: the directive of a lease, "" for none.
type desk struct {
	payer
	mu    sync.Mutex
	holds string
	asked int
}

func (d *desk) Directive() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asked++
	return d.holds
}

func (d *desk) assign(directive string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.holds = directive
}

// TestNothingToAsk: nobody inside asks for a directive: there is no such way.
func TestNothingToAsk(t *testing.T) {
	d := &desk{holds: "D-3"}
	f := newFence(t, "", func(c *Config) { c.Leased, c.Payer = true, d })
	for _, method := range []string{"GET", "PUT", "DELETE"} {
		for _, path := range []string{"/ward/lease", "/ward/lease/D-3"} {
			if status, answer, err := f.do(method, path, `["D-3"]`); status != http.StatusForbidden || err != nil {
				t.Errorf("%s %s: %d %s %v", method, path, status, answer, err)
			}
		}
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
		f := newFence(t, up.URL, func(c *Config) { c.Leased, c.Payer, c.Meter = true, d, meter })
		fences = append(fences, f)
		status, answer, _ := f.post("/anthropic/v1/messages", messageBody)
		if status != 403 || !strings.Contains(answer, "lease of its directive is gone") {
			t.Errorf("without a lease: %d %s", status, answer)
		}
	}
	if hits, _, _, _ := up.seen(); hits != 0 {
		t.Fatalf("%d calls went out without a lease", hits)
	}
	for i, calls := range []int{2, 3} {
		desks[i].assign([]string{"D-7", "D-8"}[i])
		for range calls {
			if status, answer, _ := fences[i].post("/anthropic/v1/messages", messageBody); status != 200 {
				t.Errorf("worker %d: %d %s", i, status, answer)
			}
		}
	}
	desks[0].assign("") // revoked, say
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
	d.assign("D-7")
	f := newFence(t, up.URL, func(c *Config) { c.Leased, c.Payer, c.Limits.Wait = true, d, 1 })
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
	d.assign("D-8")
	io.WriteString(client, messageBody[10:])
	client.Close()
	if status := <-answered; status != 403 {
		t.Errorf("%d", status)
	}
	if hits, _, _, _ := up.seen(); hits != 0 {
		t.Error("it went out")
	}
}
