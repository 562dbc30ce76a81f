package gateway

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/semaphore"

	"git-ward/internal/await"
)

// workers are so many gateways of one launch, each for a directive of its own.
func workers(t *testing.T, upstream string, shared *Shared, directives ...string) (list []*fence) {
	meter := openMeter(t, t.TempDir()+"/meter.json")
	for _, directive := range directives {
		list = append(list, newFence(t, upstream, func(c *Config) {
			c.Shared, c.Meter = shared, meter
			c.Payer = payer{directive}
			c.Limits.Own, c.Limits.Bodies, c.Limits.Queue = 1<<20, 2<<20, time.Second
		}))
	}
	return list
}

// TestMemoryOfAll: workers that flood hold no more of the launcher's memory than all may
// together, and another one's calls go on in its own part.
func TestMemoryOfAll(t *testing.T) {
	t.Parallel()
	const pool, large = 3 << 20, 3<<19 - 1<<10
	release := make(chan bool)
	var held, ended atomic.Int64 // bytes of large requests that came through, and how many came back
	up := newStandIn(t, func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength > 1<<20 {
			held.Add(r.ContentLength)
			<-release
		}
		answerJSON(w, 200, `{"type":"message","usage":{"input_tokens":1,"output_tokens":1}}`)
	})
	shared := NewShared(100_000, 1000)
	shared.pool = semaphore.NewWeighted(pool)
	all := workers(t, up.URL, shared, "D-1", "D-2", "D-3", "D-4", "D-5")
	var mu sync.Mutex
	refused := map[string]int{}
	var flood sync.WaitGroup
	for _, f := range all[:4] {
		for range 3 {
			flood.Go(func() {
				status, body, _ := f.post("/anthropic/v1/messages", shapes(large)["one long text"])
				mu.Lock()
				defer mu.Unlock()
				if status == http.StatusTooManyRequests {
					_, why, _ := strings.Cut(body, "ward: ")
					refused[why[:min(len(why), 32)]]++
					ended.Add(1)
				}
			})
		}
	}
	await.True(t, "each request is let in or refused", func() bool { return ended.Load()+held.Load()/(large-64) == 12 })
	if held.Load() > pool {
		t.Errorf("%d bytes of requests are in memory, more than all may hold together", held.Load())
	}
	mu.Lock()
	if refused["the requests of this worker hold"] == 0 || refused["the requests of all workers hold"] == 0 {
		t.Errorf("the refusals do not say whose bound it was: %v", refused)
	}
	mu.Unlock()
	for range 3 {
		if status, body, err := all[4].post("/anthropic/v1/messages", shapes(900 << 10)["one long text"]); status != 200 || err != nil {
			t.Errorf("who floods nothing: %d %s %v", status, body, err)
		}
		if status, body, err := all[4].stream("/anthropic/v1/messages", shapes(400 << 10)["one long text"]); status != 200 || err != nil {
			t.Errorf("who floods nothing, and does not say how long it is: %d %s %v", status, body, err)
		}
	}
	close(release)
	flood.Wait()
	if !shared.pool.TryAcquire(pool) {
		t.Error("not all of the memory was given back")
	}
}

// TestMemoryOfLargeEvents: an answer that is read takes its place in memory, and where none
// is left it passes all the same, and is charged as one that tells nothing.
func TestMemoryOfLargeEvents(t *testing.T) {
	t.Parallel()
	up := newStandIn(t, func(w http.ResponseWriter, r *http.Request) {
		answerJSON(w, 200, `{"type":"message","content":[{"type":"text","text":"`+strings.Repeat(" ", smallEvent)+`"}],"usage":{"input_tokens":1,"output_tokens":1}}`)
	})
	for _, c := range []struct {
		own       int64
		estimated int64
	}{{maxEvent, 0}, {maxEvent - 1, 1}} {
		f := newFence(t, up.URL, func(config *Config) { config.Limits.Own, config.Limits.Bodies = c.own, c.own })
		status, body, err := f.post("/anthropic/v1/messages", messageBody)
		if status != 200 || len(body) < smallEvent || err != nil {
			t.Errorf("%d, %d bytes, %v", status, len(body), err)
		}
		if a := f.account(); a.Estimated != c.estimated {
			t.Errorf("with %d bytes: %+v", c.own, a)
		}
		if !f.own.TryAcquire(c.own) {
			t.Error("not all of the memory was given back")
		}
	}
}

// TestCallsWithoutPrice: calls that cost nothing are bounded by the directive, whichever
// worker makes them and of whatever kind they are; another directive's go on.
func TestCallsWithoutPrice(t *testing.T) {
	t.Parallel()
	var fails atomic.Bool
	up := newStandIn(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == "GET":
			answerJSON(w, 200, `{"data":[]}`)
		case strings.HasSuffix(r.URL.Path, "count_tokens"):
			answerJSON(w, 200, `{"input_tokens":1}`)
		case fails.Load():
			answerJSON(w, 400, `{"type":"error","error":{"type":"invalid_request_error","message":"no"}}`)
		default:
			answerJSON(w, 200, `{"type":"message","usage":{"input_tokens":1,"output_tokens":1}}`)
		}
	})
	list := func(f *fence) (int, string, error) { return f.do("GET", "/anthropic/v1/models", "") }
	count := func(f *fence) (int, string, error) {
		return f.post("/anthropic/v1/messages/count_tokens", `{"model":"claude-test","messages":[{"role":"user","content":"hi"}]}`)
	}
	work := func(f *fence) (int, string, error) { return f.post("/anthropic/v1/messages", messageBody) }
	for _, c := range []struct {
		name  string
		call  func(*fence) (int, string, error)
		fails bool
	}{{"lists of models", list, false}, {"counts of tokens", count, false}, {"calls that fail", work, true}} {
		t.Run(c.name, func(t *testing.T) {
			all := workers(t, up.URL, NewShared(100_000, 1), "D-1", "D-1", "D-2")
			expect := func(f *fence, call func(*fence) (int, string, error), want int) string {
				t.Helper()
				status, body, err := call(f)
				if status != want || err != nil {
					t.Fatalf("%d %s %v", status, body, err)
				}
				return body
			}
			for range 20 { // what costs something is bounded by the budget
				expect(all[0], work, 200)
			}
			fails.Store(c.fails)
			defer fails.Store(false)
			passed := map[bool]int{false: 200, true: 400}[c.fails]
			for i := range 10 {
				expect(all[i%2], c.call, passed)
			}
			for _, f := range all[:2] {
				if body := expect(f, c.call, 429); !strings.Contains(body, "the calls of D-1 that cost nothing") || !strings.Contains(body, "[budget] free_calls: 1 a minute, and 10 at once") {
					t.Error(body)
				}
			}
			expect(all[2], c.call, passed)
		})
	}
}

// TestCheapCalls: calls that cost next to nothing are bounded by the directive, whichever worker
// makes them; the refusal says until when, and the log says it once. Another directive's go on.
func TestCheapCalls(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	up := newStandIn(t, func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		answerJSON(w, 200, `{"type":"message","usage":{"input_tokens":1,"output_tokens":1}}`)
	})
	all := workers(t, up.URL, NewShared(1, 100_000), "D-1", "D-1", "D-2")
	for i := range 20 {
		response, err := all[i%2].client.Post("http://gateway/anthropic/v1/messages", "application/json", strings.NewReader(messageBody))
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(response.Body)
		response.Body.Close()
		if i < 10 {
			if response.StatusCode != 200 {
				t.Fatalf("call %d: %s %s", i, response.Status, body)
			}
			continue
		}
		if response.StatusCode != 429 || response.Header.Get("Retry-After") != "60" || !strings.Contains(string(body), "[budget] calls: 1 a minute, and 10 at once") {
			t.Errorf("call %d: %s %v %s", i, response.Status, response.Header, body)
		}
	}
	if n := calls.Load(); n != 10 {
		t.Errorf("%d calls came to the provider", n)
	}
	if status, body, err := all[2].post("/anthropic/v1/messages", messageBody); status != 200 || err != nil {
		t.Errorf("another directive's: %d %s %v", status, body, err)
	}
	all[0].stop() // a call is logged after its answer
	all[1].stop()
	if text := all[0].log.String() + all[1].log.String(); strings.Count(text, "[budget] calls") != 1 || strings.Count(text, "model call") != 11 {
		t.Errorf("the log is\n%s", text)
	}
}
