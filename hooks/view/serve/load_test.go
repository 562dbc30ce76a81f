package serve

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"git-ward/internal/await"
	"git-ward/internal/benchtest"
	"git-ward/internal/tier"
)

// dialled is a connection that has asked for something.
func (r *running) dialled(request string) (net.Conn, error) {
	c, err := r.dial()
	if err != nil {
		return nil, err
	}
	_, err = io.WriteString(c, request)
	return c, err
}

// asked is a request for a path by who has signed in.
func (r *running) asked(t testing.TB, c *http.Client, path string) string {
	t.Helper()
	at, err := url.Parse(r.URL())
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("GET %s HTTP/1.1\r\nHost: %s\r\nCookie: %s\r\n\r\n", path, at.Host, c.Jar.Cookies(at)[0])
}

// Of 10,000 clients who all hold a stream each is answered, by a stream or by a word that
// there is none; who has a stream hears what moves, pages are still made, and memory is
// bounded.
func TestTenThousandClients(t *testing.T) {
	tier.Full(t, "10,000 connections")
	r := start(t, nil)
	c := r.signedIn(t)
	request := r.asked(t, c, "/events")
	heard := make(chan string, 10000)
	var held sync.Map
	var all sync.WaitGroup
	turns := make(chan struct{}, 100)
	for range 10000 {
		turns <- struct{}{}
		all.Go(func() {
			defer func() { <-turns }()
			conn, err := r.dialled(request)
			if err != nil {
				heard <- "refused" // nothing more fits at the door
				return
			}
			conn.SetDeadline(await.Deadline(t))
			line, err := bufio.NewReader(conn).ReadString('\n')
			if err != nil {
				heard <- "cut"
				conn.Close()
				return
			}
			heard <- strings.TrimSpace(line)
			if strings.Contains(line, "200") {
				held.Store(conn, true)
				return
			}
			conn.Close()
		})
	}
	all.Wait()
	close(heard)
	count := map[string]int{}
	for h := range heard {
		count[h]++
	}
	t.Logf("%v", count)
	if n := count["HTTP/1.1 200 OK"]; n < 1000 || n > maxStreams {
		t.Errorf("%d streams", n)
	}
	if count["HTTP/1.1 503 Service Unavailable"] < 5000 {
		t.Errorf("not told: %v", count)
	}
	if status, _, _ := get(t, c, r.URL()); status != http.StatusOK {
		t.Errorf("a page meanwhile: %d", status)
	}
	r.site.set("moved", nil)
	held.Range(func(conn, _ any) bool {
		defer conn.(net.Conn).Close()
		conn.(net.Conn).SetDeadline(await.Deadline(t))
		for in := bufio.NewScanner(conn.(net.Conn)); in.Scan(); {
			if in.Text() == "data: moved" {
				return true
			}
		}
		t.Error("a stream did not hear what moved")
		return false
	})
	await.True(t, "no stream is held for who has gone", func() bool {
		r.feed.mu.Lock()
		defer r.feed.mu.Unlock()
		return r.feed.streams == 0
	})
}

// One user's connections that ask nothing leave room for another user, and are told to the
// owner.
func TestIdleConnections(t *testing.T) {
	tier.First(t, "2,000 connections")
	t.Parallel()
	// None is ended while they come, however long that takes.
	r := start(t, func(c *Config) { c.patience = patience{time.Hour, time.Hour, time.Hour, time.Hour} })
	var conns []net.Conn
	defer func() {
		for _, c := range conns {
			c.Close()
		}
	}()
	for range maxOfPeer + 100 {
		c, err := net.Dial("tcp", r.listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, c)
	}
	await.True(t, "the owner is told", func() bool { return strings.Contains(r.lines(), "connections are held") })
	if curl, err := exec.LookPath("curl"); err == nil && os.Getuid() == 0 {
		cmd := exec.Command(curl, "-s", "-o", "/dev/null", "-w", "%{http_code}", "--noproxy", "*", r.URL()+"login")
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		if out, err := cmd.Output(); err != nil || string(out) != "200" {
			t.Errorf("another user meanwhile: %v %s", err, out)
		}
	}
	for _, c := range conns {
		c.Close()
	}
	await.True(t, "their room is free again", func() bool {
		c, err := r.dialled("GET /login HTTP/1.1\r\nHost: " + strings.TrimSuffix(strings.TrimPrefix(r.URL(), "http://"), "/") + "\r\n\r\n")
		if err != nil {
			return false
		}
		defer c.Close()
		c.SetDeadline(await.Deadline(t))
		line, _ := bufio.NewReader(c).ReadString('\n')
		return strings.Contains(line, " 200 ")
	})
}

// A client that asks nothing, or gives a request byte by byte, costs its connection and is
// dropped.
func TestSlowClients(t *testing.T) { synctest.Test(t, slowClients) }

func slowClients(t *testing.T) {
	r := piped(t)
	for what, begins := range map[string]string{"nothing": "", "a request byte by byte": "GET / HTTP/1.1\r\nHost:"} {
		slow, err := r.dialled(begins)
		if err != nil {
			t.Fatal(err)
		}
		var giving sync.WaitGroup
		giving.Go(func() {
			for begins != "" {
				if _, err := io.WriteString(slow, " "); err != nil {
					return
				}
				time.Sleep(100 * time.Millisecond) // of the test's own clock
			}
		})
		start := time.Now()
		slow.SetReadDeadline(start.Add(time.Hour))
		if _, err := io.ReadAll(slow); errors.Is(err, os.ErrDeadlineExceeded) || time.Since(start) != usual.header {
			t.Errorf("%s: heard for %v: %v", what, time.Since(start), err)
		}
		slow.Close()
		giving.Wait()
	}
}

// TestBenchServe: what 1,000 clients on a live page cost, against net/http's server of files.
func TestBenchServe(t *testing.T) {
	benchtest.Only(t)
	r := start(t, nil)
	c := r.signedIn(t)
	text := []byte(strings.Repeat("<p>a line of a page</p>\n", 2000)) // as large as a page of 200 directives
	r.site.page = func(string, url.Values) ([]byte, error) { return text, nil }
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "page.html"), text, 0o644); err != nil {
		t.Fatal(err)
	}
	files, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	go http.Serve(files, http.FileServer(http.Dir(dir)))

	before := memory()
	const clients = 1000
	var late []time.Duration
	var mu sync.Mutex
	var moved atomic.Int64
	var joined, all sync.WaitGroup
	joined.Add(clients)
	for range clients {
		all.Go(func() {
			conn, err := r.dialled(r.asked(t, c, "/events"))
			if err != nil {
				t.Error(err)
				joined.Done()
				return
			}
			defer conn.Close()
			first := true
			for in := bufio.NewScanner(conn); in.Scan(); {
				switch in.Text() {
				case "data: v1":
					if first {
						joined.Done()
					}
					first = false
				case "data: v2":
					mu.Lock()
					late = append(late, time.Duration(time.Now().UnixNano()-moved.Load()))
					mu.Unlock()
					return
				}
			}
		})
	}
	joined.Wait()
	benchtest.Row("serve: memory of 1,000 streams", fmt.Sprintf("%d KiB a stream", (memory()-before)/clients/1024), "", "")
	// While they listen, 50 read pages.
	ours := times(t, c, r.URL())
	theirs := times(t, browser(), "http://"+files.Addr().String()+"/page.html")
	benchtest.Against("serve: a page of 48 KB, 50 readers beside 1,000 streams, p50", at(ours, 50), "http.FileServer", at(theirs, 50))
	benchtest.Against("serve: the same, p95", at(ours, 95), "http.FileServer", at(theirs, 95))
	moved.Store(time.Now().UnixNano())
	r.site.set("v2", nil)
	all.Wait()
	slices.Sort(late)
	benchtest.Row("serve: 1,000 streams hear what moved, p50 and p95", benchtest.MS(at(late, 50))+", "+benchtest.MS(at(late, 95)),
		"the repository is looked at each "+benchtest.MS(look), benchtest.Ratio(at(late, 95), look))
}

func memory() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse + m.StackInuse
}

// times are those of 2,000 readings of a page by 50 readers.
func times(t *testing.T, c *http.Client, page string) (list []time.Duration) {
	var mu sync.Mutex
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			for range 40 {
				begun := time.Now()
				status, _, _ := get(t, c, page)
				took := time.Since(begun)
				mu.Lock()
				list = append(list, took)
				mu.Unlock()
				if status != http.StatusOK {
					t.Errorf("%s: %d", page, status)
				}
			}
		})
	}
	all.Wait()
	slices.Sort(list)
	return list
}

func at(sorted []time.Duration, percent int) time.Duration {
	return sorted[len(sorted)*percent/100]
}
