package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"git-ward/internal/config"
	"git-ward/internal/diag"
	"git-ward/internal/pattern"
)

// provider is one protocol with the place where it is served.
type provider struct {
	name      config.Provider
	base      *url.URL
	official  bool // it is the provider's own server
	key       Key
	setting   string // sets the key on a request
	authorize func(http.Header, Key)
	endpoints map[string]*endpoint // POST, by path
	transport *http.Transport
}

// modelsPath is the list of models, or one model.
var modelsPath = pattern.New(`^/v1/models(/[A-Za-z0-9][A-Za-z0-9._:@-]{0,127})?$`)

// queries are the allowed query parameters of an inference path.
var queries = []string{"beta", "limit", "after_id", "before_id"}

func (g *Gateway) providers() (map[config.Provider]*provider, error) {
	all := map[config.Provider]*provider{
		config.Anthropic: {
			setting:   "[model] anthropic_key_file or ANTHROPIC_API_KEY",
			authorize: anthropicAuth,
			endpoints: map[string]*endpoint{
				"/v1/messages":              {fields: anthropicMessages(), part: byType("", anthropicBlocks), answer: anthropicAnswer, limits: []string{"max_tokens"}},
				"/v1/messages/count_tokens": {fields: anthropicCount(), part: byType("", anthropicBlocks), answer: anthropicAnswer, free: true},
			},
		},
		config.OpenAI: {
			setting:   "[model] openai_key_file or OPENAI_API_KEY",
			authorize: func(h http.Header, k Key) { h.Set("Authorization", "Bearer "+k.value) },
			endpoints: map[string]*endpoint{
				"/v1/chat/completions": {fields: chatFields(), part: byType("", chatParts), answer: chatAnswer, adjust: tellUsage,
					limits: []string{"max_tokens", "max_completion_tokens"}},
				"/v1/responses": {fields: responseFields(), part: byType("", responseParts), answer: responseAnswer, adjust: keepNothing,
					limits: []string{"max_output_tokens"}},
			},
		},
	}
	for name, c := range map[config.Provider]Provider{config.Anthropic: g.config.Anthropic, config.OpenAI: g.config.OpenAI} {
		p := all[name]
		p.name, p.key = name, c.Key
		var err error
		if p.base, err = baseURL(c.BaseURL, "https://api."+string(name)+".com"); err != nil {
			return nil, fmt.Errorf("the base URL of %s: %w", name, err)
		}
		home := string(name) + ".com"
		p.official = p.base.Scheme == "https" && (p.base.Hostname() == "api."+home || strings.HasSuffix(p.base.Hostname(), ".api."+home))
		p.transport = newTransport(g.limits)
	}
	return all, nil
}

// baseURL parses a provider's address. The key is sent there, so it must be TLS, except on
// loopback.
func baseURL(text, fallback string) (*url.URL, error) {
	u, err := url.Parse(cmp.Or(text, fallback))
	switch {
	case err != nil:
		return nil, errors.New("not a URL") // url's error would quote a password
	case u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("it needs a host, and has no place for a user, a query or a fragment")
	case u.Scheme == "https", u.Scheme == "http" && IsLoopback(u.Hostname()):
		u.Path = strings.TrimSuffix(u.Path, "/")
		return u, nil
	}
	return nil, diag.Hint(fmt.Errorf("%s is neither https nor on loopback", u.Redacted()), "the key would cross the network in the clear")
}

// IsLoopback reports whether a host is this machine by its very name.
func IsLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// usable reports whether calls can be sent. A server on loopback needs no key.
func (p *provider) usable() bool { return !p.key.IsZero() || IsLoopback(p.base.Hostname()) }

// newTransport uses no proxy from the environment, follows no redirects, and requests no
// compression, because a compressed answer could be neither metered nor searched for the key.
func newTransport(l Limits) *http.Transport {
	return &http.Transport{
		DialContext:            (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
		TLSHandshakeTimeout:    10 * time.Second,
		ResponseHeaderTimeout:  l.Silence,
		IdleConnTimeout:        90 * time.Second,
		MaxIdleConnsPerHost:    l.AtOnce,
		MaxResponseHeaderBytes: maxHeader,
		ForceAttemptHTTP2:      true,
		DisableCompression:     true,
	}
}

// request rebuilds the client's request with only the headers for the API's version and form.
// Credentials, cookies, organization and proxy headers are dropped.
func (p *provider) request(ctx context.Context, r *http.Request, path string, c *call) (*http.Request, error) {
	u := *p.base
	u.Path += path
	u.RawQuery = r.URL.RawQuery
	req, err := http.NewRequestWithContext(ctx, r.Method, u.String(), nil)
	if err != nil {
		return nil, err
	}
	if c != nil {
		req.Body, req.ContentLength = c.outgoing(), c.length()
		req.GetBody = func() (io.ReadCloser, error) { return c.outgoing(), nil }
		req.Header.Set("Content-Type", "application/json")
	}
	for _, name := range []string{"Accept", "Anthropic-Version", "User-Agent"} {
		if v := r.Header.Get(name); v != "" {
			req.Header.Set(name, v)
		}
	}
	if betas := admittedBetas(r.Header.Values("Anthropic-Beta")); betas != "" {
		req.Header.Set("Anthropic-Beta", betas)
	}
	if !p.key.IsZero() {
		p.authorize(req.Header, p.key)
	}
	return req, nil
}

var betaDate = pattern.New(`-\d{4}-?\d{2}-?\d{2}$`)

func admittedBetas(values []string) string {
	var admitted []string
	for _, beta := range strings.Split(strings.Join(values, ","), ",") {
		beta = strings.TrimSpace(beta)
		if slices.Contains(anthropicBetas, betaDate.ReplaceAllString(beta, "")) {
			admitted = append(admitted, beta)
		}
	}
	return strings.Join(admitted, ",")
}

// badQuery names a forbidden or empty query parameter.
func badQuery(u *url.URL) string {
	values, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return "?"
	}
	for name := range values {
		if !slices.Contains(queries, name) {
			return name
		}
	}
	return ""
}
