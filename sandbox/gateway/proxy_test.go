package gateway

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"git-ward/internal/await"
	"git-ward/internal/diag"
	"git-ward/internal/tier"
	"git-ward/sandbox/firewall"
	"git-ward/sandbox/lab"
)

// zone is a DNS for tests: the answers of a name in turn, the last one for ever.
type zone struct {
	mu    sync.Mutex
	names map[string][]string // name. -> space-separated addresses
	asked int
}

func (z *zone) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.asked++
	turns := z.names[host]
	if len(turns) == 0 {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	if len(turns) > 1 {
		z.names[host] = turns[1:]
	}
	var addrs []netip.Addr
	for _, text := range strings.Fields(turns[0]) {
		addrs = append(addrs, netip.MustParseAddr(text))
	}
	return addrs, nil
}

func (z *zone) count() int {
	z.mu.Lock()
	defer z.mu.Unlock()
	return z.asked
}

// walled is a fence in allow-list mode whose dials all end at one server, and
// the list of what they were for.
func walled(t testing.TB, resolver Resolver, server string, change ...func(*Config)) (*fence, func() []string) {
	f := newFence(t, "", append([]func(*Config){func(c *Config) {
		c.Allowlist, c.Resolver = true, resolver
		c.Allow = []string{"pkg.example.com", "*.cdn.example.com", "inside.example.com", "both.example.com", "turns.example.com", "own.example.com", "silent.example.com"}
	}}, change...)...)
	var mu sync.Mutex
	var dialled []string
	f.proxy.dialer = func(ctx context.Context, network, address string) (net.Conn, error) {
		mu.Lock()
		dialled = append(dialled, address)
		mu.Unlock()
		return new(net.Dialer).DialContext(ctx, network, server)
	}
	f.client.Transport = &http.Transport{
		Proxy:             http.ProxyURL(&url.URL{Scheme: "http", Host: "gateway"}),
		DialContext:       f.dial,
		DisableKeepAlives: true,
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true}, // the stand-in's certificate is for example.com alone
	}
	return f, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return append([]string(nil), dialled...)
	}
}

var testZone = map[string][]string{
	"pkg.example.com.":    {"203.0.113.7"},
	"a.cdn.example.com.":  {"2001:db8::7"},
	"inside.example.com.": {"10.1.2.3 127.0.0.1 169.254.169.254 ::1 fd00::1 ::ffff:10.0.0.1 64:ff9b::a00:1 2002:a00:1::1 100.64.0.1 0.0.0.0"},
	"both.example.com.":   {"192.168.1.1 203.0.113.8"},
	"turns.example.com.":  {"10.0.0.1", "203.0.113.9", "127.0.0.1"},
	"silent.example.com.": {"203.0.113.10"},
}

func TestAllowedNames(t *testing.T) {
	hello := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "hello "+r.Host+r.URL.String()+r.Header.Get("Proxy-Authorization")+r.Header.Get("X-Forwarded-For"))
	})
	plain, secure := httptest.NewServer(hello), httptest.NewTLSServer(hello)
	defer plain.Close()
	defer secure.Close()
	for scheme, server := range map[string]*httptest.Server{"http": plain, "https": secure} {
		f, dialled := walled(t, &zone{names: testZone}, server.Listener.Addr().String())
		for name, want := range map[string]string{"pkg.example.com": "203.0.113.7", "a.cdn.example.com": "[2001:db8::7]", "both.example.com": "203.0.113.8", "PKG.Example.COM": "203.0.113.7"} {
			resp, err := f.client.Get(scheme + "://" + name + "/x?y")
			if err != nil {
				t.Fatal(err)
			}
			text, _ := io.ReadAll(resp.Body)
			resp.Body.Close()
			port := map[string]string{"http": ":80", "https": ":443"}[scheme]
			if got := dialled(); !strings.EqualFold(string(text), "hello "+name+"/x?y") || got[len(got)-1] != want+port {
				t.Errorf("%s://%s: %q by %v", scheme, name, text, got)
			}
		}
	}
}

// TestItself: a client that knows no NO_PROXY asks the proxy for the gateway. It reaches the
// models, and nothing else of the host's loopback.
func TestItself(t *testing.T) {
	up := newStandIn(t, okAnswer)
	f, dialled := walled(t, &zone{names: testZone}, "127.0.0.1:1", func(c *Config) { c.Anthropic.BaseURL = up.URL })
	for _, head := range []string{
		"CONNECT 127.0.0.1:4321 HTTP/1.1\r\nHost: 127.0.0.1:4321\r\n\r\nPOST /anthropic/v1/messages HTTP/1.1\r\n",
		"POST http://127.0.0.1:4321/anthropic/v1/messages HTTP/1.1\r\n",
		"POST http://[::1]:4321/anthropic/v1/messages HTTP/1.1\r\n",
		"POST http://localhost:4321/anthropic/v1/messages HTTP/1.1\r\n",
	} {
		conn, err := f.dial(t.Context(), "", "")
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "%sHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s", head, len(messageBody), messageBody)
		answer, _ := io.ReadAll(conn)
		conn.Close()
		if !strings.Contains(string(answer), "\r\nContent-Type: application/json\r\n") || strings.Contains(string(answer), "ward:") {
			t.Errorf("%s\n%s", head, answer)
		}
	}
	if calls := f.account().Used.Calls; calls != 4 || len(dialled()) > 0 {
		t.Errorf("%d calls, %v", calls, dialled())
	}
}

func TestOtherTargetsAreDenied(t *testing.T) {
	tier.First(t, "it waits for clients to be given up, or sends much")
	z := &zone{names: testZone}
	f, dialled := walled(t, z, "127.0.0.1:1")
	for target, want := range map[string]string{
		"other.example.com:443":            `add "other.example.com" to [egress] allow`,
		"cdn.example.com:443":              "[egress] allow", // *. is below it only
		"xcdn.example.com:443":             "[egress] allow",
		"pkg.example.com.evil.org:443":     "[egress] allow",
		"evilpkg.example.com:443":          "[egress] allow",
		"pkg.example.com:22":               "ports 443 and 80",
		"pkg.example.com:0443":             "ports 443 and 80",
		"203.0.113.7:443":                  "not addresses",
		"[2001:db8::7]:443":                "not addresses",
		"[::ffff:127.0.0.1]:443":           "not addresses",
		"127.1:443":                        "not addresses",
		"2130706433:443":                   "not addresses",
		"0x7f000001:80":                    "not addresses",
		"inside.example.com:443":           "private or special",
		"pkg.example.com":                  "not host:port",
		"pkg.example.com..:443":            "not addresses",
		strings.Repeat("a.", 140) + ":443": "refused",
	} {
		for _, method := range []string{"CONNECT", "GET"} {
			conn, err := f.dial(context.Background(), "", "")
			if err != nil {
				t.Fatal(err)
			}
			line := "CONNECT " + target + " HTTP/1.1\r\nHost: " + target + "\r\n\r\n"
			if method == "GET" {
				if !strings.HasSuffix(target, "443") {
					continue
				}
				line = "GET http://" + target + "/ HTTP/1.1\r\nHost: x\r\n\r\n"
			}
			io.WriteString(conn, line)
			resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatalf("%s %s: %v", method, target, err)
			}
			text, _ := io.ReadAll(io.LimitReader(resp.Body, resp.ContentLength))
			if bad := resp.StatusCode == 400 && strings.Contains(target, ".."); resp.StatusCode != 403 && !bad || !strings.Contains(string(text), want) {
				t.Errorf("%s %s: %s %s", method, target, resp.Status, text)
			}
			conn.Close()
		}
	}
	if got := dialled(); len(got) > 0 {
		t.Errorf("dialled %v", got)
	}
	if z.count() != 2 {
		t.Errorf("%d look-ups: a denied name must not even reach the name server", z.count())
	}
	if text := f.log.String(); !strings.Contains(text, `add \"other.example.com\" to [egress] allow`) || strings.Count(text, "egress refused") < 17 {
		t.Errorf("log: %s", text)
	}
}

// TestShown: of an address that a client asks for neither a log nor an answer has a user's name or
// a query.
func TestShown(t *testing.T) {
	for asked, want := range map[string]string{
		"ftp://t0ken:x@files.example/a/b?key=t0ken":    `ftp://files.example/a/b`,
		"https://t0ken@files.example/a":                `https://files.example/a`,
		"http://t0ken@files.example/a%3Fkey=t0ken":     `http://files.example/a`,
		"/no/such?key=t0ken":                           `/no/such`,
		"/no/such%3Fkey=t0ken":                         `/no/such`,
		"//t0ken@files.example/a":                      `/...@files.example/a`,
		"mailto:t0ken":                                 "refused",
		"http:t0ken@files.example/a":                   "refused",
		"/no,such/" + strings.Repeat("b", 190) + "t0k": "/no,...",
	} {
		f, _ := walled(t, &zone{names: testZone}, "127.0.0.1:1")
		conn, err := f.dial(t.Context(), "", "")
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(conn, "GET "+asked+" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
		answer, _ := io.ReadAll(conn)
		conn.Close()
		if text := f.log.String(); strings.Contains(text, "t0k") || strings.Contains(string(answer), "t0k") || !strings.Contains(text, want) {
			t.Errorf("%s is logged as %s, and answered with %s", asked, text, answer)
		}
	}
}

// The address that was looked at is the one that is dialled: a name that turns
// private between two look-ups has no second look-up to turn in.
func TestRebinding(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(okAnswer))
	defer server.Close()
	z := &zone{names: map[string][]string{"turns.example.com.": {"10.0.0.1", "203.0.113.9", "127.0.0.1"}}}
	f, dialled := walled(t, z, server.Listener.Addr().String())
	for _, ok := range []bool{false, true, false, false} {
		asked := z.count()
		resp, err := f.client.Get("https://turns.example.com/")
		if (err == nil) != ok {
			t.Errorf("want %v: %v", ok, err)
		}
		if err == nil {
			resp.Body.Close()
		}
		if z.count() != asked+1 {
			t.Errorf("%d look-ups for one connection", z.count()-asked)
		}
	}
	if got := dialled(); len(got) != 1 || got[0] != "203.0.113.9:443" {
		t.Errorf("dialled %v", got)
	}
}

func TestHostsOwnAndBlockedAddresses(t *testing.T) {
	own, err := hostNetworks()
	if err != nil {
		t.Fatal(err)
	}
	names := map[string][]string{"pkg.example.com.": {"203.0.113.7"}}
	for _, p := range own {
		if p.Addr().Zone() == "" {
			names["own.example.com."] = []string{p.Addr().String()}
		}
	}
	f, dialled := walled(t, &zone{names: names}, "127.0.0.1:1", func(c *Config) {
		c.Refuses = func(context.Context) (func(netip.Addr) bool, error) {
			return firewall.Policy{Refuse: []netip.Prefix{netip.MustParsePrefix("203.0.113.0/25")}}.Refuses(), nil
		}
	})
	for _, name := range []string{"own.example.com", "pkg.example.com"} {
		var d *denial
		if _, err := f.proxy.dial(context.Background(), name+":443"); !errors.As(err, &d) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := dialled(); len(got) > 0 {
		t.Errorf("dialled %v", got)
	}
}

func TestProxyInPublicMode(t *testing.T) {
	f, dialled := walled(t, &zone{names: testZone}, "127.0.0.1:1", func(c *Config) { c.Allowlist = false })
	resp, err := f.client.Get("http://pkg.example.com/")
	if err != nil {
		t.Fatal(err)
	}
	text, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	if resp.StatusCode != 403 || !strings.Contains(string(text), `[egress] mode = "allowlist"`) || len(dialled()) > 0 {
		t.Errorf("%s %s", resp.Status, text)
	}
}

func TestTunnel(t *testing.T) {
	echo, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer echo.Close()
	go func() {
		for {
			conn, err := echo.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				io.Copy(conn, conn) // until the client's side ends
				io.WriteString(conn, "bye")
			}()
		}
	}()
	f, _ := walled(t, &zone{names: testZone}, echo.Addr().String())
	conn, _ := f.dial(context.Background(), "", "")
	defer conn.Close()
	// The first bytes come with the request, before the answer.
	io.WriteString(conn, "CONNECT pkg.example.com:443 HTTP/1.1\r\nHost: pkg.example.com:443\r\n\r\nearly ")
	r := bufio.NewReader(conn)
	if line, err := r.ReadString('\n'); err != nil || !strings.Contains(line, " 200 ") {
		t.Fatal(line, err)
	}
	r.ReadString('\n')
	go func() {
		io.WriteString(conn, strings.Repeat("x", 1<<20))
		conn.(*net.UnixConn).CloseWrite()
	}()
	text, err := io.ReadAll(r)
	if err != nil || len(text) != 1<<20+9 || !strings.HasPrefix(string(text), "early x") || !strings.HasSuffix(string(text), "xbye") {
		t.Errorf("%d bytes, %v", len(text), err)
	}

	f, _ = walled(t, &zone{names: testZone}, echo.Addr().String(), func(c *Config) { c.Limits.Idle = 300 * time.Millisecond })
	idle, _ := f.dial(context.Background(), "", "")
	defer idle.Close()
	io.WriteString(idle, "CONNECT pkg.example.com:443 HTTP/1.1\r\nHost: pkg.example.com:443\r\n\r\n")
	idle.SetReadDeadline(await.Deadline(t))
	if text, err := io.ReadAll(idle); err != nil || !strings.Contains(string(text), " 200 ") {
		t.Errorf("an idle tunnel stays: %q %v", text, err)
	}
}

func TestAllowListSettings(t *testing.T) {
	for text, ok := range map[string]bool{
		"example.com": true, "*.example.com": true, "Example.COM": true, "localhost": true, "_x.example.com": true,
		"co.uk": true, "foo.github.io": true, "*.foo.github.io": true, "*.example.co.uk": true, "*.amazonaws.com": true, "*.build.corp": true, "*.www.ck": true,
		"*.com": false, "*.co.uk": false, "*.CO.UK": false, "*.github.io": false, "*.workers.dev": false, "*.s3.amazonaws.com": false, "*.pages.dev": false, "*.x.ck": false,
		"*.xn--p1ai": false, "*.xn--55qx5d.cn": false, "*.corp": false, "*.localhost": false, "*.appspot.com": false, "*.cloudfront.net": false, "*.eu-west-1.compute.amazonaws.com": false,
		"": false, "*": false, "*.": false, "*.com.": false, "*.co.uk.": false, "*..uk": false, "*.*.com": false, "a.*.com": false, "https://x.org": false, "x.org:443": false, "1.2.3.4": false, "::1": false, "x..org": false, "-x.org": false,
	} {
		if _, err := newNames([]string{text}); (err == nil) != ok {
			t.Errorf("%q: %v", text, err)
		}
	}
	_, err := newNames([]string{"pkg.example.com", "*.co.uk"})
	if hints := strings.Join(diag.Hints(err), ""); err == nil || !strings.Contains(err.Error(), `[egress] allow: "*.co.uk"`) || !strings.Contains(hints, `"NAME.co.uk"`) || !strings.Contains(hints, "ward/config.toml") {
		t.Errorf("%v, hint %q", err, hints)
	}
}

// A suffix opens the names of who has it, and nobody else's below them.
func TestSuffixes(t *testing.T) {
	n, err := newNames([]string{"*.amazonaws.com", "bucket.s3.amazonaws.com", "*.example.co.uk", "foo.github.io", "*.bar.github.io"})
	if err != nil {
		t.Fatal(err)
	}
	for host, ok := range map[string]bool{
		"sts.amazonaws.com": true, "bucket.s3.amazonaws.com": true, "a.example.co.uk": true, "a.b.example.co.uk": true, "foo.github.io": true, "a.bar.github.io": true,
		"evil.s3.amazonaws.com": false, "s3.amazonaws.com": false, "sqs.us-east-1.amazonaws.com": false, "evil.ec2.eu-west-1.compute.amazonaws.com": false, "amazonaws.com": false,
		"example.co.uk": false, "evil.co.uk": false, "evilexample.co.uk": false, "evil.github.io": false, "x.foo.github.io": false, "bar.github.io": false, "evilbar.github.io": false,
	} {
		if why := n.refuse(host); (why == "") != ok {
			t.Errorf("%s: %q", host, why)
		}
	}
	if why := n.refuse("evil.s3.amazonaws.com"); !strings.Contains(why, `below s3.amazonaws.com, which "*.amazonaws.com" does not open`) {
		t.Error(why)
	}
}

// TestQuestionsAreCounted: the host's name servers get no more from the proxy than from a fence that
// asks itself, in bytes, however often the resolver asks for one name.
func TestQuestionsAreCounted(t *testing.T) {
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	var got atomic.Int64
	go func() {
		for buffer := make([]byte, 512); ; {
			n, from, err := conn.ReadFrom(buffer)
			if err != nil {
				return
			}
			got.Add(int64(n))
			buffer[2], buffer[3] = buffer[2]|0x80, buffer[3]&0xf0|2 // SERVFAIL: it asks again
			conn.WriteTo(buffer[:n], from)
		}
	}()
	p, err := newProxy(&Config{Allowlist: true, Allow: []string{"*.example.com"}}, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	p.resolver = &net.Resolver{PreferGo: true, Dial: p.nameServer(func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", conn.LocalAddr().String())
	})}
	secret := strings.Repeat(strings.Repeat("x", 60)+".", 3)
	began, last := time.Now(), error(nil)
	for i := 0; i < 1000 && !errors.Is(last, errTooOften); i++ {
		_, last = p.dial(t.Context(), fmt.Sprintf("%d.%sexample.com:443", i, secret))
	}
	most := firewall.NameBytes * (firewall.NameBurst + firewall.NameRate*int64(time.Since(began)/time.Second+1))
	if got := got.Load(); got > most || got < firewall.NameBytes*firewall.NameBurst/2 || !errors.Is(last, errTooOften) {
		t.Errorf("%d bytes of questions, want at most %d: %v", got, most, last)
	}
	near, far := net.Pipe()
	defer far.Close()
	p.asked.SetLimit(0)
	p.asked.AllowN(time.Now(), int(p.asked.Tokens()))
	stream, err := p.nameServer(func(context.Context, string, string) (net.Conn, error) { return near, nil })(t.Context(), "tcp", "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Write(make([]byte, 100)); !errors.Is(err, errTooOften) {
		t.Errorf("by TCP: %v", err)
	}
}

// The whole way with a name server on a real socket, which answers every
// question with a private address first and a public one after.
func TestRealNameServer(t *testing.T) {
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	go func() {
		names := lab.Names{Turns: map[string][]string{"pkg.example.com": {"10.0.0.5", "203.0.113.5"}}}
		for buffer := make([]byte, 512); ; {
			n, from, err := conn.ReadFrom(buffer)
			if err != nil {
				return
			}
			conn.WriteTo(names.Answer(buffer[:n]), from)
		}
	}()
	resolver := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
	server := httptest.NewServer(http.HandlerFunc(okAnswer))
	defer server.Close()
	f, dialled := walled(t, resolver, server.Listener.Addr().String())
	for _, want := range []int{403, 200} {
		resp, err := f.client.Get("http://pkg.example.com/")
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%s, want %d", resp.Status, want)
		}
	}
	if got := dialled(); len(got) != 1 || got[0] != "203.0.113.5:80" {
		t.Errorf("dialled %v", got)
	}
}
