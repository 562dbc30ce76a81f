package gateway

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"git-ward/internal/benchtest"
)

// TestBenchTurn is a model turn direct and through the gateway, in turn, and what
// the latter adds; most of it is the two fsyncs of the reservation. It asserts
// nothing about time.
func TestBenchTurn(t *testing.T) {
	benchtest.Only(t)
	up := newStandIn(t, func(w http.ResponseWriter, _ *http.Request) {
		stream(w, messageStart, messageText, messageDelta, messageStop)
	})
	f := newFence(t, up.URL)
	body := `{"model":"claude-test","max_tokens":1000,"stream":true,"messages":[{"role":"user","content":"` + strings.Repeat("x", 50_000) + `"}]}`
	turn := func(client *http.Client, url string) time.Duration {
		began := time.Now()
		resp, err := client.Post(url, "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != http.StatusOK {
			t.Fatal(resp.Status, err)
		}
		return time.Since(began)
	}
	var direct, through []time.Duration
	for range 100 {
		direct = append(direct, turn(http.DefaultClient, up.URL+"/v1/messages"))
		through = append(through, turn(f.client, "http://g/anthropic/v1/messages"))
	}
	d, g := benchtest.Median(direct), benchtest.Median(through)
	benchtest.Row("a model turn of 50 kB through the gateway", benchtest.MS(g)+", "+benchtest.MS(g-d)+" added", "direct to the stand-in "+benchtest.MS(d), benchtest.Ratio(g, d))
}
