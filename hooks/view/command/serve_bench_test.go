package command

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"git-ward/internal/benchtest"
)

// TestBenchServeLive: 1,000 clients on the page of a directive that is really worked on, each
// of which reads the page again when it is told; against a server of files that gives the same
// bytes to as many.
func TestBenchServeLive(t *testing.T) {
	benchtest.Only(t)
	p := project(t)
	s := serveIn(t, p, p.Work, "--bare", p.Bare)
	jar, _ := cookiejar.New(nil) // without a list of suffixes it cannot fail
	c := &http.Client{Jar: jar, Transport: &http.Transport{MaxIdleConnsPerHost: 100}}
	code := codes.FindStringSubmatch(s.said())[1]
	if res, err := c.PostForm(s.url+"login", url.Values{"code": {code}}); err != nil || res.StatusCode != http.StatusOK {
		t.Fatal(err, res)
	}
	at, _ := url.Parse(s.url)
	before := resident(t, s)
	var mu sync.Mutex
	var took []time.Duration
	var told atomic.Int64
	page := func(address string) (size int64) {
		begun := time.Now()
		res, err := c.Get(address)
		if err != nil {
			t.Error(err)
			return 0
		}
		defer res.Body.Close()
		size, _ = io.Copy(io.Discard, res.Body)
		mu.Lock()
		defer mu.Unlock()
		took = append(took, time.Since(begun))
		return size
	}
	turns := make(chan struct{}, 50) // a browser does not ask all at one moment either
	var joined, all sync.WaitGroup
	conns := make(chan net.Conn, 1000)
	for range 1000 {
		joined.Add(1)
		all.Go(func() {
			conn, err := net.Dial("tcp", at.Host)
			if err != nil {
				t.Error(err)
				joined.Done()
				return
			}
			conns <- conn
			fmt.Fprintf(conn, "GET /events HTTP/1.1\r\nHost: %s\r\nCookie: %s\r\n\r\n", at.Host, jar.Cookies(at)[0])
			first := true
			for in := bufio.NewScanner(conn); in.Scan(); {
				if !strings.HasPrefix(in.Text(), "data: ") {
					continue
				}
				if first {
					joined.Done()
					first = false
					continue
				}
				told.Add(1)
				turns <- struct{}{}
				page(s.url + "d/D-1")
				<-turns
			}
		})
	}
	joined.Wait()
	with := resident(t, s)
	out, err := p.Try(p.Work, nil, "", "git-ward", "launch", "--unfenced", "--once", "--bare", p.Bare, "--state", filepath.Join(t.TempDir(), "state"), "--model", "script")
	if !strings.Contains(p.Run(p.Work, "git-ward", "uow", "show", "--all"), "D-1.1") {
		t.Fatalf("no unit ran: %v %s", err, out)
	}
	time.Sleep(3 * time.Second) // the last that moved is told within a second
	after := resident(t, s)
	s.cmd.Process.Signal(syscall.SIGINT)
	close(conns)
	all.Wait()
	ours := slices.Sorted(slices.Values(took))
	took = nil
	text := strings.Repeat("x", 20000)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "page.html"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	files, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	go http.Serve(files, http.FileServer(http.Dir(dir)))
	for range 1000 {
		all.Go(func() {
			turns <- struct{}{}
			page("http://" + files.Addr().String() + "/page.html")
			<-turns
		})
	}
	all.Wait()
	theirs := slices.Sorted(slices.Values(took))
	benchtest.Row("serve: resident before, with 1,000 streams, after a unit ran", fmt.Sprintf("%d, %d, %d MiB", before>>10, with>>10, after>>10), "", "")
	benchtest.Row("serve: events told to 1,000 clients, pages read", fmt.Sprintf("%d, %d", told.Load(), len(ours)), "", "")
	benchtest.Against("serve: a page of a unit at work, 1,000 clients, p50", ours[len(ours)/2], "http.FileServer", theirs[len(theirs)/2])
	benchtest.Against("serve: the same, p95", ours[len(ours)*95/100], "http.FileServer", theirs[len(theirs)*95/100])
}

// resident is the memory of the server's process, in KiB.
func resident(t *testing.T, s *served) int64 {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	var kib int64
	for line := range strings.Lines(string(data)) {
		fmt.Sscanf(line, "VmRSS: %d kB", &kib)
	}
	return kib
}
