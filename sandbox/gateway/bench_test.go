package gateway

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestBenchTurn is a model turn direct and through the gateway, in turn, and what
// the latter adds; most of it is the two fsyncs of the reservation. It asserts
// nothing about time.
func TestBenchTurn(t *testing.T) {
	if os.Getenv("WARD_BENCH") == "" {
		t.Skip("a measurement: scripts/bench runs it")
	}
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
	slices.Sort(direct)
	slices.Sort(through)
	d, g := direct[50], through[50]
	fmt.Printf("BENCH\ta model turn of 50 kB through the gateway\t%.1f ms, %.1f ms added\tdirect to the stand-in %.1f ms\t%.2f\n", ms(g), ms(g-d), ms(d), float64(g)/float64(d))
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
