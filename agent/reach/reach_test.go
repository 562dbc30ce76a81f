package reach

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"golang.org/x/net/http/httpproxy"
)

// TestCheck: an address is asked for where its way out leads, and why it does not
// answer is in words. sandbox's TestFence has the gateway's own proxy.
func TestCheck(t *testing.T) {
	asked := make(chan string, 10)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.Method + " " + r.RequestURI
		switch host, _, _ := net.SplitHostPort(r.Host); host {
		case "denied.example.com":
			http.Error(w, "ward: denied.example.com is refused: the name is not on the list of allowed ones\nward: to allow it: add it", http.StatusForbidden)
		case "down.example.com":
			http.Error(w, "ward: down.example.com does not answer", http.StatusBadGateway)
		case "silent.example.com":
			panic(http.ErrAbortHandler)
		}
	}))
	defer proxy.Close()
	open, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	fenced := &httpproxy.Config{HTTPSProxy: proxy.URL, NoProxy: "127.0.0.1,::1,localhost"}
	for _, c := range []struct {
		address string
		proxies *httpproxy.Config
		want    string // of the error; "" is none
		through bool
	}{
		{"up.example.com:443", fenced, "", true},
		{"denied.example.com:443", fenced, "the allow list does not let it pass: ward: denied.example.com is refused: the name is not on the list of allowed ones; ward: to allow it: add it", true},
		{"down.example.com:80", fenced, "the proxy says 502: ward: down.example.com does not answer", true},
		{"silent.example.com:443", fenced, "EOF", true},
		{open.Addr().String(), fenced, "", false},
		{closed.Addr().String(), fenced, "connect: connection refused", false},
		{open.Addr().String(), &httpproxy.Config{}, "", false},
		{"up.example.com:443", &httpproxy.Config{HTTPSProxy: "socks5://127.0.0.1:1"}, "names no http:// proxy", false},
	} {
		err := Check(t.Context(), c.address, c.proxies)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.address, err, c.want)
		}
		select {
		case got := <-asked:
			if !c.through || got != "CONNECT "+c.address {
				t.Errorf("%s: the proxy was asked %q", c.address, got)
			}
		default:
			if c.through {
				t.Errorf("%s: the proxy was not asked", c.address)
			}
		}
	}
}

// TestCheckEnds: a proxy that says nothing is not waited for beyond the context.
func TestCheckEnds(t *testing.T) {
	deaf, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer deaf.Close()
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		if conn, err := deaf.Accept(); err == nil {
			defer conn.Close()
			conn.Read(make([]byte, 1)) // it is asked
			cancel()
			<-t.Context().Done()
		}
	}()
	if err := Check(ctx, "up.example.com:443", &httpproxy.Config{HTTPSProxy: "http://" + deaf.Addr().String()}); err == nil {
		t.Error("it answers")
	}
}
