package serve

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"syscall"
	"time"

	"git-ward/internal/diag"
)

// names are the host names that requests may use. Any other name could be an attacker's that points here (DNS
// rebinding), to let another site read pages.
type names struct {
	url   string
	exact map[string]bool   // host:port in lower case
	leaf  *x509.Certificate // its names, too, with port
	port  string            // of the listener
	bare  bool              // the port is the scheme's own, which browsers leave out
}

// listen opens the address. Beyond loopback it requires a certificate, because otherwise anybody on the
// network path could steal a session.
func listen(cfg Config) (net.Listener, bool, names, error) {
	host, port, err := net.SplitHostPort(cfg.Listen)
	if err != nil {
		return nil, false, names{}, diag.Hint(fmt.Errorf("--listen %q is no address: %w", cfg.Listen, err), "write it as 127.0.0.1:8417 or [::1]:8417")
	}
	if strings.EqualFold(host, "localhost") {
		host = "127.0.0.1" // whatever a hosts file makes of the name
	}
	leaf, err := certificate(cfg)
	if err != nil {
		return nil, false, names{}, err
	}
	ip, err := netip.ParseAddr(host)
	if err == nil {
		ip = ip.Unmap()
		host = ip.String()
	}
	if local := err == nil && ip.IsLoopback(); !local && leaf == nil {
		return nil, false, names{}, diag.Hint(fmt.Errorf("other machines reach --listen %s, and there is no certificate", cfg.Listen),
			"give --tls-cert FILE and --tls-key FILE; or listen on 127.0.0.1:8417 and reach it by ssh -L 8417:127.0.0.1:8417 HOST")
	}
	l, err := net.Listen("tcp", net.JoinHostPort(host, port))
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, false, names{}, diag.Hint(fmt.Errorf("another program listens on %s", cfg.Listen), "end it, or give another port: --listen %s takes a free one", net.JoinHostPort(host, "0"))
	case errors.Is(err, syscall.EACCES):
		return nil, false, names{}, diag.Hint(fmt.Errorf("this user may not listen on %s", cfg.Listen), "ports from 1024 on are everybody's: --listen %s", net.JoinHostPort(host, "8417"))
	case err != nil:
		return nil, false, names{}, diag.Hint(err, "--listen takes an address of this machine")
	}
	return l, leaf != nil, callers(host, l.Addr(), leaf), nil
}

// certificate is the leaf of the pair of files, nil where none is given.
func certificate(cfg Config) (*x509.Certificate, error) {
	if cfg.Cert == "" && cfg.Key == "" {
		return nil, nil
	}
	if cfg.Cert == "" || cfg.Key == "" {
		return nil, diag.Hint(errors.New("a certificate needs its key, and a key its certificate"), "give --tls-cert FILE and --tls-key FILE")
	}
	if err := cmp.Or(pemFile(cfg.Cert), pemFile(cfg.Key), private(cfg.Key)); err != nil {
		return nil, err
	}
	pair, err := tls.LoadX509KeyPair(cfg.Cert, cfg.Key)
	if err != nil {
		return nil, diag.Hint(err, "--tls-cert and --tls-key are PEM files of one pair")
	}
	if now := time.Now(); now.After(pair.Leaf.NotAfter) {
		return nil, diag.Hint(fmt.Errorf("%s has expired on %s, so no browser takes it", cfg.Cert, pair.Leaf.NotAfter.Format(time.DateOnly)), "have it renewed")
	} else if now.Before(pair.Leaf.NotBefore) {
		return nil, diag.Hint(fmt.Errorf("%s is not good before %s", cfg.Cert, pair.Leaf.NotBefore.Format(time.RFC3339)), "look at this machine's clock")
	}
	if len(pair.Leaf.DNSNames)+len(pair.Leaf.IPAddresses) == 0 {
		return nil, diag.Hint(fmt.Errorf("%s names no host: it has no subjectAltName", cfg.Cert), "have it made for the name that people type")
	}
	return pair.Leaf, nil
}

// maxPEM bounds a certificate's or a key's file, in bytes.
const maxPEM = 1 << 20

// pemFile refuses a path whose content cannot be read completely: a device, a pipe, an
// oversized file.
func pemFile(path string) error {
	info, err := os.Stat(path)
	if err == nil && (!info.Mode().IsRegular() || info.Size() > maxPEM) {
		err = fmt.Errorf("%s is no file of at most %d bytes", path, maxPEM)
	}
	return hinted(err, "--tls-cert and --tls-key are PEM files of one pair")
}

// private refuses a key that every user of this machine can read, because a browser could not
// tell its holder from this server.
func private(key string) error {
	if info, err := os.Stat(key); err != nil || info.Mode().Perm()&0o007 == 0 {
		return nil // a missing file has been reported
	}
	return diag.Hint(fmt.Errorf("every user of this machine may read or write the key %s", key), "chmod o= %s", diag.Word(key))
}

func hinted(err error, remedy string) error {
	if err == nil {
		return nil
	}
	return diag.Hint(err, "%s", remedy)
}

// callers are the listener's names: its address, localhost where that is its address, and
// those of the certificate.
func callers(host string, at net.Addr, leaf *x509.Certificate) names {
	_, port, _ := net.SplitHostPort(at.String())
	n := names{exact: map[string]bool{}, leaf: leaf, port: port, bare: port == "80"}
	scheme := "http://"
	if leaf != nil {
		scheme, n.bare = "https://", port == "443"
	}
	ip, err := netip.ParseAddr(host)
	if err == nil && !ip.IsUnspecified() {
		n.add(ip.String())
	}
	if err == nil && (ip == netip.MustParseAddr("127.0.0.1") || ip == netip.IPv6Loopback()) {
		n.add("localhost")
	}
	shown := host
	if leaf != nil && len(leaf.DNSNames) > 0 {
		shown = strings.Replace(leaf.DNSNames[0], "*", "any", 1)
	} else if leaf != nil {
		shown = leaf.IPAddresses[0].String()
	}
	n.url = scheme + net.JoinHostPort(shown, port) + "/"
	return n
}

func (n names) add(host string) {
	n.exact[net.JoinHostPort(host, n.port)] = true
	if n.bare && strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if n.bare {
		n.exact[host] = true
	}
}

// ours reports whether a request calls this server by one of its names. An absolute form in
// the request line, which names a second host, is only for proxies.
func (n names) ours(r *http.Request) bool {
	if !strings.HasPrefix(r.RequestURI, "/") || r.URL.Host != "" {
		return false
	}
	called := strings.ToLower(r.Host)
	if n.exact[called] {
		return true
	}
	if n.leaf == nil {
		return false
	}
	host, port, err := net.SplitHostPort(called)
	if err != nil && n.bare {
		host, port = called, n.port
	}
	return host != "" && port == n.port && n.leaf.VerifyHostname(host) == nil
}
