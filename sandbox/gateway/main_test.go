package gateway

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"git-ward/internal/await"
	"git-ward/internal/runstate"
	"git-ward/sandbox/lab"
)

const secret = "sk-test-" + "0123456789abcdefghijklmnop"

// TestMain lets the test binary play a gateway of its own, or a launcher that holds a
// reservation, until it is killed.
func TestMain(m *testing.M) {
	if meter := os.Getenv("GATEWAY_TEST_SERVE"); meter != "" {
		serveForTest(meter)
		return
	}
	if path := os.Getenv("GATEWAY_TEST_HOLD"); path != "" {
		holdForEver(path)
		return
	}
	os.Exit(m.Run())
}

// standIn is both providers' API on loopback, played by answer, and a record of
// what reached it.
type standIn struct {
	*httptest.Server
	answer http.HandlerFunc

	mu     sync.Mutex
	hits   int
	header http.Header
	body   string
	path   string
}

func newStandIn(t testing.TB, answer http.HandlerFunc) *standIn {
	s := &standIn{answer: answer}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		s.hits, s.header, s.body, s.path = s.hits+1, r.Header.Clone(), string(body), r.URL.RequestURI()
		s.mu.Unlock()
		s.answer(w, r)
	}))
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

func (s *standIn) seen() (hits int, header http.Header, body, path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hits, s.header, s.body, s.path
}

// fence is a served gateway with a client on its socket.
type fence struct {
	*Gateway
	t      testing.TB
	log    *lab.Log
	client *http.Client
	stop   func()
}

var testPrices = []PriceSetting{
	{Model: "claude-test", Input: "3", Output: "15", CacheRead: "0.30", CacheWrite: "3.75", CacheWriteLong: "6"},
	{Model: "gpt-test", Input: "1.25", Output: "10", CacheRead: "0.125"},
}

// payer pays for all, as one directive whose text sets no limit. A test that says otherwise
// has another method in its place.
type payer struct{ directive string }

func (p payer) Directive() string                  { return p.directive }
func (payer) Own(string) (Budget, error)           { return Budget{Unlimited, Unlimited}, nil }
func (payer) Held(string) string                   { return "" }
func (payer) Troubles(map[string]runstate.Trouble) {}

func newFence(t testing.TB, upstream string, change ...func(*Config)) *fence {
	t.Helper()
	f := &fence{t: t, log: &lab.Log{}}
	prices, err := NewPrices(testPrices)
	if err != nil {
		t.Fatal(err)
	}
	key, err := NewKey(secret)
	if err != nil {
		t.Fatal(err)
	}
	c := Config{
		Payer:     payer{"D-1"},
		Budget:    Budget{Unlimited, Unlimited},
		Models:    []string{"claude-test", "gpt-test", "m"},
		Anthropic: Provider{upstream, key},
		OpenAI:    Provider{upstream, key},
		Prices:    prices,
		Shared:    NewShared(100_000, 100_000),
		Log:       zerolog.New(f.log),
	}
	for _, change := range change {
		change(&c)
	}
	if c.Meter == nil {
		c.Meter = openMeter(t, filepath.Join(t.TempDir(), "meter.json"))
	}
	if f.Gateway, err = Listen(c); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- f.Serve(ctx) }()
	f.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(f.stop)
	f.client = &http.Client{Timeout: time.Until(await.Deadline(t)), Transport: &http.Transport{DialContext: f.dial, DisableCompression: true}}
	return f
}

func openMeter(t testing.TB, path string) *Meter {
	t.Helper()
	m, err := OpenMeter(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // after the gateways that count in it
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

func (f *fence) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, "unix", f.Socket())
}

// post gives the status and body of an answer; the error is that of reading it.
func (f *fence) post(path, body string, headers ...string) (int, string, error) {
	f.t.Helper()
	return f.do("POST", path, body, headers...)
}

// stream is post of a body that does not say how long it is.
func (f *fence) stream(path, body string) (int, string, error) {
	f.t.Helper()
	return f.send("POST", path, struct{ io.Reader }{strings.NewReader(body)})
}

func (f *fence) do(method, path, body string, headers ...string) (int, string, error) {
	f.t.Helper()
	return f.send(method, path, strings.NewReader(body), headers...)
}

func (f *fence) send(method, path string, body io.Reader, headers ...string) (int, string, error) {
	f.t.Helper()
	req, err := http.NewRequest(method, "http://gateway"+path, body)
	if err != nil {
		f.t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Add(headers[i], headers[i+1])
	}
	resp, err := f.client.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	var head bytes.Buffer
	resp.Header.Write(&head)
	if strings.Contains(head.String()+string(data), secret) {
		f.t.Errorf("%s %s: the key came back:\n%s\n%s", method, path, &head, data)
	}
	return resp.StatusCode, string(data), err
}

// accountOf is a copy of a directive's account.
func accountOf(m *Meter, directive string) Account {
	m.mu.Lock()
	defer m.mu.Unlock()
	if a := m.state.Directives[directive]; a != nil {
		return *a
	}
	return Account{}
}

// account waits for a directive's account to have nothing held.
func (f *fence) account() Account {
	f.t.Helper()
	var a Account
	await.True(f.t, "a call is settled", func() bool { // after its answer has gone out
		a = accountOf(f.config.Meter, "D-1")
		return a.Held.Calls == 0
	})
	return a
}

func stream(w http.ResponseWriter, events ...string) {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	for _, e := range events {
		io.WriteString(w, e+"\n\n")
		w.(http.Flusher).Flush()
	}
}

func answerJSON(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	io.WriteString(w, body)
}
