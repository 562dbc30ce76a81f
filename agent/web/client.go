package web

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"syscall"

	"git-ward/internal/diag"
)

// client asks through the proxy of the environment, where one is set: it says what may be
// reached. Without one, which is without a fence, the addresses of this machine and of
// private networks are not the web: the metadata of a cloud, a router, somebody's test
// server. The engine's own address may be there, for the admin has named it. Redirects are
// few, and to the web alone; each is looked at like the first address, by the number that its
// name stands for. A search is answered by the engine that was named, and by no other.
func client(engine string, search bool) *http.Client {
	own := hostPort(engine)
	transport := &http.Transport{
		Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, DisableKeepAlives: true,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			if address == own || isProxy(address) {
				return new(net.Dialer).DialContext(ctx, network, address)
			}
			return (&net.Dialer{Control: publicOnly}).DialContext(ctx, network, address)
		},
	}
	return &http.Client{Transport: transport, CheckRedirect: func(next *http.Request, before []*http.Request) error {
		if len(before) > redirects {
			return fmt.Errorf("more than %d redirects", redirects)
		}
		if next.URL.Scheme != "http" && next.URL.Scheme != "https" {
			return fmt.Errorf("a redirect to a URL of the scheme %q: only http and https are followed", next.URL.Scheme)
		}
		if search && next.URL.Hostname() != before[0].URL.Hostname() {
			return diag.Hint(fmt.Errorf("the search engine redirects to %s, which [search] url does not name", diag.Clean(next.URL.Hostname())), "the admin sets [search] url to where it redirects, if that is the engine")
		}
		return nil
	}}
}

// hostPort is where a URL's server listens, "" for no URL.
func hostPort(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return ""
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443", "socks5": "1080", "socks5h": "1080"}[u.Scheme]
	}
	return net.JoinHostPort(u.Hostname(), port)
}

// isProxy reports whether an address is that of the environment's proxy.
func isProxy(address string) bool {
	for _, scheme := range []string{"http", "https"} {
		proxy, err := http.ProxyFromEnvironment(&http.Request{URL: &url.URL{Scheme: scheme, Host: "example.org"}})
		if err == nil && proxy != nil && hostPort(proxy.String()) == address {
			return true
		}
	}
	return false
}

// shared are further networks that are not the public Internet: of carriers, of this host
// (0.0.0.0/8), of tests and protocols, and those that carry IPv4 in IPv6.
var shared = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("198.18.0.0/15"), netip.MustParsePrefix("240.0.0.0/4"),
	netip.MustParsePrefix("64:ff9b::/96"), netip.MustParsePrefix("64:ff9b:1::/48"), netip.MustParsePrefix("2002::/16"), netip.MustParsePrefix("2001::/32"),
}

// publicOnly refuses non-public addresses just before connecting.
func publicOnly(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	ip := at.Addr().Unmap().WithZone("")
	public := ip.IsGlobalUnicast() && !ip.IsPrivate()
	for _, p := range shared {
		public = public && !p.Contains(ip)
	}
	if !public {
		return diag.Hint(fmt.Errorf("%s is of this machine or of a private network, and not the web", ip),
			"pages of the web can be read, and those of the server of [search] url; others are reached inside the fence only, by [network] allow")
	}
	return nil
}
