package forge_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// The faults of an answer.
const (
	isAway  = "away"  // the question does not come there
	isLate  = "late"  // it does, and nobody waits for the answer any more
	isHalf  = "half"  // the answer breaks off
	isTwice = "twice" // it comes two times over
	isPage  = "page"  // it is a page for a browser
)

// faults stands before a Gitea, and answers one call of the API in its place, or with less.
type faults struct {
	*httptest.Server
	to *url.URL

	mu    sync.Mutex
	fault string
	after int // so many calls
	met   map[string]int
}

func newFaults(t *testing.T, forge string) *faults {
	t.Helper()
	to, err := url.Parse(forge)
	if err != nil {
		t.Fatal(err)
	}
	f := &faults{to: to, met: map[string]int{}}
	proxy := &httputil.ReverseProxy{
		Rewrite:        func(r *httputil.ProxyRequest) { r.SetURL(to); r.Out.Header.Del("Accept-Encoding") },
		ModifyResponse: f.named,
		FlushInterval:  -1,
	}
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { f.serve(proxy, w, r) }))
	t.Cleanup(f.Server.Close)
	return f
}

// next is the fault of the call after so many.
func (f *faults) next(fault string, after int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fault, f.after = fault, after
}

func (f *faults) take(r *http.Request) (fault string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fault == "" || !strings.HasPrefix(r.URL.Path, "/api/") {
		return ""
	}
	if f.after > 0 {
		f.after--
		return ""
	}
	fault, f.fault = f.fault, ""
	f.met[fault]++
	return fault
}

// named has the proxy in the forge's place in an answer, whose URLs are the forge's own.
func (f *faults) named(answer *http.Response) error {
	if !strings.HasPrefix(answer.Header.Get("Content-Type"), "application/json") {
		return nil
	}
	data, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	data = bytes.ReplaceAll(data, []byte(f.to.String()), []byte(f.URL))
	answer.Body = io.NopCloser(bytes.NewReader(data))
	answer.ContentLength = int64(len(data))
	answer.Header.Set("Content-Length", strconv.Itoa(len(data)))
	return nil
}

func (f *faults) serve(proxy http.Handler, w http.ResponseWriter, r *http.Request) {
	fault := f.take(r)
	if fault == "" {
		proxy.ServeHTTP(w, r)
		return
	}
	answer := httptest.NewRecorder()
	if fault != isAway && fault != isPage {
		proxy.ServeHTTP(answer, r)
	}
	body := answer.Body.Bytes()
	switch fault {
	case isAway, isLate:
		panic(http.ErrAbortHandler)
	case isHalf:
		body = body[:len(body)/2]
	case isTwice:
		body = append(bytes.Clone(body), body...)
	case isPage:
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, "<html>come in</html>")
		return
	}
	for _, name := range []string{"Content-Type", "Link"} {
		w.Header()[name] = answer.Header()[name]
	}
	w.WriteHeader(answer.Code)
	w.Write(body)
}
