package serve

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"git-ward/internal/await"
)

// fake is a Site in memory.
type fake struct {
	mu      sync.Mutex
	version string
	err     error
	drawn   atomic.Int64
	page    func(path string, query url.Values) ([]byte, error)
}

func (f *fake) Version(context.Context) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.version, f.err
}

func (f *fake) Page(_ context.Context, path string, query url.Values) ([]byte, error) {
	f.drawn.Add(1)
	if f.page != nil {
		return f.page(path, query)
	}
	version, err := f.Version(context.Background())
	if path == "/nothing" {
		err = fs.ErrNotExist
	}
	return fmt.Appendf(nil, "the page %s of %s", path, version), err
}

func (f *fake) Name() string { return "<b>project" }

func (f *fake) set(version string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.version, f.err = version, err
}

// running is a server of a test, and what it said.
type running struct {
	*Server
	site *fake
	dial func() (net.Conn, error)
	stop context.CancelFunc
	done chan error

	mu   sync.Mutex
	said []string
}

func start(t testing.TB, change func(*Config)) *running {
	t.Helper()
	r := prepare(t, change)
	r.dial = func() (net.Conn, error) { return net.Dial("tcp", r.listener.Addr().String()) }
	r.serve(t)
	return r
}

// piped is a server that is reached by pipes within this process, so that the clock of
// testing/synctest is that of both sides.
func piped(t testing.TB) *running {
	t.Helper()
	r := prepare(t, nil)
	r.listener.Close()
	p := &pipes{Listener: r.listener, next: make(chan net.Conn), shut: make(chan struct{})}
	r.listener = limit(p, maxConnections, maxOfPeer, false, r.say)
	r.dial = p.dial
	r.serve(t)
	return r
}

// pipes is a listener whose connections are pipes.
type pipes struct {
	net.Listener // whose address it has
	next         chan net.Conn
	shut         chan struct{}
	once         sync.Once
}

func (p *pipes) dial() (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case p.next <- far:
		return near, nil
	case <-p.shut:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.next:
		return c, nil
	case <-p.shut:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.shut) })
	return nil
}

// prepare makes a server that does not serve yet.
func prepare(t testing.TB, change func(*Config)) *running {
	t.Helper()
	r := &running{site: &fake{version: "v1"}, done: make(chan error, 1)}
	cfg := Config{Listen: "127.0.0.1:0", Style: []byte("body {}"),
		Open: func(context.Context) (Site, error) {
			_, err := r.site.Version(t.Context())
			return r.site, err
		},
		Say: func(line string) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.said = append(r.said, line)
		}}
	if change != nil {
		change(&cfg)
	}
	s, err := Listen(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	r.Server = s
	return r
}

// serve serves until the test ends.
func (r *running) serve(t testing.TB) {
	ctx, cancel := context.WithCancel(context.Background())
	r.stop = cancel
	go func() { r.done <- r.Serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err, ok := <-r.done; ok && err != nil {
			t.Error(err)
		}
	})
}

func (r *running) lines() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.said, "\n")
}

var codes = regexp.MustCompile(`code ([0-9A-Z]{4}(?:-[0-9A-Z]{4}){3}) `)

// code is the last that the terminal showed.
func (r *running) code(t testing.TB) string {
	t.Helper()
	var all [][]string
	shown := func() bool { all = codes.FindAllStringSubmatch(r.lines(), -1); return all != nil }
	if !shown() {
		await.True(t, "the server shows a code", shown)
	}
	return all[len(all)-1][1]
}

// browser follows no redirection, so that tests see them.
func browser() *http.Client {
	jar, _ := cookiejar.New(nil) // without a list of suffixes it cannot fail
	return &http.Client{Jar: jar, Transport: &http.Transport{},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// signedIn is a browser with a session.
func (r *running) signedIn(t testing.TB) *http.Client {
	t.Helper()
	c := browser()
	c.Transport.(*http.Transport).DialContext = func(context.Context, string, string) (net.Conn, error) { return r.dial() }
	t.Cleanup(c.CloseIdleConnections)
	get(t, c, r.URL()+"login")
	res, err := c.PostForm(r.URL()+"login", url.Values{"code": {r.code(t)}})
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusSeeOther {
		t.Fatalf("signing in: %s", res.Status)
	}
	return c
}

func get(t testing.TB, c *http.Client, at string) (int, string, http.Header) {
	t.Helper()
	res, err := c.Get(at)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(body), res.Header
}

func TestPages(t *testing.T) {
	r := start(t, nil)
	for _, at := range []string{"", "d/D-1", "audit?who=agent"} {
		status, body, header := get(t, browser(), r.URL()+at)
		if status != http.StatusSeeOther || strings.Contains(body, "the page") || !strings.HasPrefix(header.Get("Location"), "/login?next=%2F") {
			t.Errorf("%q without a session: %d %v", at, status, header)
		}
	}
	if status, _, _ := get(t, browser(), r.URL()+"events"); status != http.StatusUnauthorized {
		t.Errorf("events without a session: %d", status)
	}
	c := r.signedIn(t)
	status, body, header := get(t, c, r.URL()+"d/D-1?q=x")
	if status != http.StatusOK || body != "the page /d/D-1 of v1" {
		t.Errorf("%d %q", status, body)
	}
	for name, want := range map[string]string{"Content-Security-Policy": policy, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
		"Cache-Control": "no-store", "Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin"} {
		if header.Get(name) != want {
			t.Errorf("%s: %q", name, header.Get(name))
		}
	}
	if status, _, _ := get(t, c, r.URL()+"nothing"); status != http.StatusNotFound {
		t.Errorf("no such page: %d", status)
	}
	for _, at := range []string{"style.css", "live.js", "login"} {
		if status, body, _ := get(t, browser(), r.URL()+at); status != http.StatusOK || body == "" || strings.Contains(body, "<b>") {
			t.Errorf("%s: %d", at, status)
		}
	}
}

// A page is drawn once for all who ask, and again when something moved.
func TestDrawnOnce(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	c := r.signedIn(t)
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() { get(t, c, r.URL()+"d/D-1") })
	}
	all.Wait()
	if n := r.site.drawn.Load(); n != 1 {
		t.Errorf("drawn %d times", n)
	}
	r.site.set("v2", nil)
	await.True(t, "the page of v2", func() bool {
		_, body, _ := get(t, c, r.URL()+"d/D-1")
		return strings.HasSuffix(body, "v2")
	})
}

// listenTo is a stream's events, a line each.
func listenTo(t testing.TB, c *http.Client, at string) (<-chan string, func()) {
	t.Helper()
	ctx, end := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if res.StatusCode != http.StatusOK {
		t.Fatalf("a stream: %s", res.Status)
	}
	lines := make(chan string, 100)
	go func() {
		defer close(lines)
		defer res.Body.Close()
		for in := bufio.NewScanner(res.Body); in.Scan(); {
			lines <- in.Text()
		}
	}()
	t.Cleanup(end)
	return lines, end
}

func hear(t testing.TB, lines <-chan string, want string) {
	t.Helper()
	for {
		select {
		case line, ok := <-lines:
			if !ok {
				t.Fatalf("the stream ended before %q", want)
			}
			if line == want {
				return
			}
		case <-t.Context().Done():
			t.Fatalf("never: a stream says %q", want)
		}
	}
}

// A stream tells each version, that the repository is gone, and that it is back; a page of one
// that is gone says so and asks again.
func TestLive(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	c := r.signedIn(t)
	lines, _ := listenTo(t, c, r.URL()+"events")
	hear(t, lines, "data: v1")
	r.site.set("v2", nil)
	hear(t, lines, "data: v2")
	r.site.set("", errors.New("no such directory"))
	hear(t, lines, "event: gone")
	status, body, header := get(t, c, r.URL())
	if status != http.StatusServiceUnavailable || !strings.Contains(body, "not there") || !strings.Contains(body, `http-equiv="refresh"`) || header.Get("Retry-After") == "" {
		t.Errorf("gone: %d %s", status, body)
	}
	if strings.Contains(body, "no such directory") || !strings.Contains(r.lines(), "no such directory") {
		t.Error("why it is gone is the owner's to know, not the page's")
	}
	r.site.set("v2", nil)
	hear(t, lines, "data: v2")
	await.True(t, "the page is back", func() bool { status, _, _ := get(t, c, r.URL()); return status == http.StatusOK })
}

// What a version holds does not become an event of its own.
func TestVersionsAreWords(t *testing.T) {
	r := start(t, nil)
	r.site.set("v\n\nevent: evil\ndata: x", nil)
	c := r.signedIn(t)
	lines, end := listenTo(t, c, r.URL()+"events")
	hear(t, lines, "event: version")
	end()
	for line := range lines {
		if strings.Contains(line, "evil") {
			t.Error(line)
		}
	}
}

// A stream outlives the time that a request may take, ends with the session, and ends when the
// server does.
func TestStreamsEnd(t *testing.T) { synctest.Test(t, streamsEnd) }

func streamsEnd(t *testing.T) {
	r := piped(t)
	synctest.Wait() // for the code
	c := r.signedIn(t)
	lines, _ := listenTo(t, c, r.URL()+"events")
	hear(t, lines, "data: v1")
	later, err := r.dialled("GET / HTTP/1.1\r\nHost:")
	if err != nil {
		t.Fatal(err)
	}
	io.ReadAll(later)                                                          // a request that came after it has met its end
	time.Sleep(2 * (usual.header + usual.request + usual.answer + usual.idle)) // of the test's own clock
	r.site.set("v2", nil)
	hear(t, lines, "data: v2")
	r.stop()
	for range lines {
	}
	if err := <-r.done; err != nil {
		t.Error(err)
	}
	close(r.done)
	if _, err := r.dial(); err == nil {
		t.Error("it still listens")
	}
}

// A Site that panics costs its page, not the server.
func TestSiteThatPanics(t *testing.T) {
	r := start(t, nil)
	c := r.signedIn(t)
	r.site.page = func(path string, _ url.Values) ([]byte, error) {
		if path == "/d/D-1" {
			panic("\x1b[31mhostile")
		}
		return []byte("fine"), nil
	}
	if status, body, _ := get(t, c, r.URL()+"d/D-1"); status != http.StatusInternalServerError || strings.Contains(body, "hostile") {
		t.Errorf("%d %s", status, body)
	}
	if said := r.lines(); !strings.Contains(said, "please report") || strings.Contains(said, "\x1b") {
		t.Errorf("said: %q", said)
	}
	if status, _, _ := get(t, c, r.URL()); status != http.StatusOK {
		t.Errorf("the next page: %d", status)
	}
}
