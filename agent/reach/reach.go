// Package reach checks whether an address answers by the same route that the work uses:
// directly, or through the gateway's proxy (LOOP-9).
package reach

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/net/http/httpproxy"

	"git-ward/internal/diag"
)

const (
	// dialTime bounds the try of one address; the gateway tries several of a name's, some
	// seconds each.
	dialTime = 30 * time.Second
	// denialSize bounds the quoted part of a proxy's answer, in bytes.
	denialSize = 500
)

// Check dials an address, "host:port", and returns an error if it does not answer. If proxies
// has a proxy for it, Check asks the proxy for a tunnel.
func Check(ctx context.Context, address string, proxies *httpproxy.Config) error {
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	to := address
	proxy, err := proxies.ProxyFunc()(&url.URL{Scheme: "https", Host: address}) // none for loopback
	switch {
	case err != nil:
		return err
	case proxy != nil && proxy.Scheme != "http":
		return fmt.Errorf("HTTPS_PROXY names no http:// proxy")
	case proxy != nil:
		to = proxy.Host
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", to)
	if err != nil {
		if op, ok := errors.AsType[*net.OpError](err); ok {
			err = op.Err // without the address, which the caller has
		}
		return err
	}
	defer conn.Close()
	if proxy == nil {
		return nil
	}
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	return tunnel(conn, address)
}

// tunnel asks a proxy for a tunnel to an address (CONNECT). Ward's proxy answers after the
// target has; for a denial it says why, and which setting would allow it.
func tunnel(conn net.Conn, address string) error {
	request := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: address}, Host: address, Header: http.Header{}}
	if err := request.Write(conn); err != nil {
		return err
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), request)
	if err != nil {
		return err
	}
	if response.StatusCode == http.StatusOK {
		return nil
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(response.Body, denialSize)) // what came of it is enough
	words := strings.Join(strings.FieldsFunc(diag.CleanLines(string(text)), func(r rune) bool { return r == '\n' }), "; ")
	if response.StatusCode == http.StatusForbidden {
		return fmt.Errorf("the allow list does not let it pass: %s", words)
	}
	return fmt.Errorf("the proxy says %d: %s", response.StatusCode, words)
}
