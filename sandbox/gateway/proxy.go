package gateway

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/time/rate"

	"git-ward/sandbox/firewall"
	"git-ward/sandbox/probe"
)

const (
	lookupTime = 5 * time.Second
	dialTime   = 5 * time.Second // for each address
	maxAddrs   = 4               // addresses tried per name
	uploadTime = 10 * time.Minute
)

// Resolver finds the addresses of a name; *net.Resolver is one.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// proxy is the forward proxy for allowed names.
type proxy struct {
	on       bool
	socket   string // the gateway's own
	names    names
	refuses  func(context.Context) (func(netip.Addr) bool, error)
	resolver Resolver
	asked    *rate.Limiter // of name servers, in questions of firewall.NameBytes
	dialer   dialer
	idle     time.Duration
	refused  func(*denial) // is told of each
	log      zerolog.Logger
	plain    http.Handler
	// serving is Serve's context. A tunnel cannot use its request's, which also ends when the
	// client half-closes.
	serving context.Context
}

func newProxy(c *Config, l Limits) (*proxy, error) {
	allowed, err := newNames(c.Allow)
	if err != nil {
		return nil, err
	}
	p := &proxy{
		on: c.Allowlist, names: allowed, refuses: c.Refuses, resolver: c.Resolver,
		asked:  rate.NewLimiter(firewall.NameRate, firewall.NameBurst),
		dialer: (&net.Dialer{Timeout: dialTime}).DialContext, idle: l.Idle, log: c.Log,
		refused: func(d *denial) { c.Meter.refused(c.Payer.Directive(), d) },
	}
	if p.resolver == nil {
		p.resolver = &net.Resolver{PreferGo: true, Dial: p.nameServer((&net.Dialer{}).DialContext)}
	}
	p.plain = p.newPlain()
	return p, nil
}

// newPlain forwards http:// requests. ReverseProxy drops hop-by-hop headers (RFC 9110, section
// 7.6.1) and streams. Connections are not reused, because each request is checked by its own
// dial.
func (p *proxy) newPlain() http.Handler {
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			// A protocol upgrade would be a tunnel, for which CONNECT exists.
			r.Out.Header.Del("Upgrade")
			r.Out.Header.Del("Connection")
		},
		Transport: &http.Transport{
			DialContext: func(ctx context.Context, _, addr string) (net.Conn, error) {
				conn, err := p.dial(ctx, addr)
				if err != nil {
					return nil, err
				}
				return &idler{conn, p.idle}, nil
			},
			MaxResponseHeaderBytes: maxHeader,
			DisableKeepAlives:      true,
			DisableCompression:     true,
		},
		FlushInterval: -1,
		ErrorLog:      quietLog(),
		ErrorHandler:  p.fail,
	}
}

// forward serves a request in absolute form.
func (p *proxy) forward(w http.ResponseWriter, r *http.Request) {
	if r.URL.Scheme != "http" || r.URL.User != nil {
		p.fail(w, r, &denial{what: shown(r.URL), why: "only http:// is forwarded; for https use CONNECT"})
		return
	}
	p.log.Info().Str("host", clip(r.URL.Host)).Str("method", clip(r.Method)).Msg("forward")
	if r.Body != http.NoBody {
		http.NewResponseController(w).SetReadDeadline(time.Now().Add(uploadTime))
	}
	p.plain.ServeHTTP(w, r)
}

// connect serves a CONNECT request: after 200 the connection is a tunnel.
func (p *proxy) connect(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	far, err := p.dial(r.Context(), r.Host)
	if err != nil {
		p.fail(w, r, err)
		return
	}
	defer far.Close()
	near, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer near.Close()
	if _, err := near.Write([]byte("HTTP/1.1 200 Connection established\r\n\r\n")); err != nil {
		return
	}
	t := newTunnel(near, buffered.Reader, far, p.idle)
	defer context.AfterFunc(p.serving, t.close)()
	t.run()
	p.log.Info().Str("host", clip(r.Host)).Int64("out", t.up.Load()).Int64("in", t.down.Load()).
		Dur("took_ms", time.Since(began)).Msg("tunnel")
}

// dial connects to an allowed name at a checked address. It dials that address itself, so that
// no second look-up can return another (DNS rebinding).
func (p *proxy) dial(ctx context.Context, hostport string) (net.Conn, error) {
	if !p.on {
		return nil, &denial{what: clip(hostport), why: "the proxy serves allow-list mode only; connect directly",
			setting: `[egress] mode = "allowlist"`}
	}
	// Early releases of Claude Code ask the proxy even for the gateway, because they know no
	// NO_PROXY. They reach only what they would reach without the proxy.
	if host, _, err := net.SplitHostPort(hostport); err == nil && slices.Contains(strings.Split(probe.Loopback, ","), host) {
		return new(net.Dialer).DialContext(ctx, "unix", p.socket)
	}
	host, port, err := target(hostport)
	if err != nil {
		return nil, err
	}
	if why := p.names.refuse(host); why != "" {
		return nil, &denial{what: host, why: why,
			setting: fmt.Sprintf("add %q to %s in <bare>/ward/config.toml and launch again", host, allowSetting)}
	}
	addrs, err := p.public(ctx, host)
	if err != nil {
		return nil, err
	}
	for _, ip := range addrs[:min(len(addrs), maxAddrs)] {
		var conn net.Conn
		if conn, err = p.dialer(ctx, "tcp", net.JoinHostPort(ip.String(), port)); err == nil {
			return conn, nil
		}
	}
	return nil, fmt.Errorf("%s does not answer: %w", host, err)
}

// public are a name's addresses that may be dialled. A name with only forbidden ones is
// denied.
func (p *proxy) public(ctx context.Context, host string) ([]netip.Addr, error) {
	if p.asked.Tokens() < 1 {
		return nil, errTooOften
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTime)
	defer cancel()
	// The dot makes the name absolute, so that the host's search list does not apply.
	all, err := p.resolver.LookupNetIP(ctx, "ip", host+".")
	if err != nil {
		return nil, fmt.Errorf("%s cannot be resolved: %w", host, err)
	}
	own, err := hostNetworks()
	refuses := firewall.Policy{}.Refuses()
	if err == nil && p.refuses != nil {
		refuses, err = p.refuses(ctx)
	}
	if err != nil {
		return nil, err
	}
	var fit []netip.Addr
	for _, ip := range all {
		ip = ip.Unmap().WithZone("")
		if !refuses(ip) && !inAny(ip, own) {
			fit = append(fit, ip)
		}
	}
	if len(fit) == 0 {
		return nil, &denial{what: host, why: "the name leads to a private or special address, or to the host's own network"}
	}
	return fit, nil
}

// fail answers and logs. The log names the setting that would allow the connection.
func (p *proxy) fail(w http.ResponseWriter, r *http.Request, err error) {
	status, event := http.StatusBadGateway, p.log.Warn()
	var d *denial
	if errors.As(err, &d) {
		status = http.StatusForbidden
		event = event.Str("setting", d.setting)
		if p.on {
			p.refused(d)
		}
	}
	event.Str("host", clip(r.Host)).Str("error", clip(err.Error())).Msg("egress refused")
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if r.Method == http.MethodConnect {
		w.Header().Set("Connection", "close")
	}
	w.WriteHeader(status)
	if d == nil {
		fmt.Fprintln(w, "ward:", clip(err.Error()))
		return
	}
	fmt.Fprintln(w, d.Error())
}
