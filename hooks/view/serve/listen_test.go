package serve

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"git-ward/internal/diag"
)

// certified are the files of a certificate for names, which signs itself.
func certified(t *testing.T, hosts ...string) (cert, key string) {
	t.Helper()
	return certifiedFor(t, time.Now(), hosts...)
}

// certifiedFor is certified for the hour around a time.
func certifiedFor(t *testing.T, around time.Time, hosts ...string) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: around.Add(-time.Hour), NotAfter: around.Add(time.Hour)}
	for _, h := range hosts {
		if ip := net.ParseIP(h); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, h)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	bits, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name, kind string, data []byte) string {
		at := filepath.Join(dir, name)
		if err := os.WriteFile(at, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: data}), 0o600); err != nil {
			t.Fatal(err)
		}
		return at
	}
	return write("cert.pem", "CERTIFICATE", der), write("key.pem", "PRIVATE KEY", bits)
}

// Where it may not listen it says why, and what to do, before anything is open.
func TestAddressesRefused(t *testing.T) {
	cert, key := certified(t, "ward.example")
	unnamed, unnamedKey := certified(t)
	open, openKey := certified(t, "ward.example")
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := errors.Join(os.Chmod(openKey, 0o604), syscall.Mkfifo(pipe, 0o600)); err != nil {
		t.Fatal(err)
	}
	old, oldKey := certifiedFor(t, time.Now().Add(-2*time.Hour), "ward.example")
	early, earlyKey := certifiedFor(t, time.Now().Add(2*time.Hour), "ward.example")
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for _, c := range []struct{ listen, cert, key, want, hint string }{
		{"0.0.0.0:0", "", "", "other machines reach", "--tls-cert"},
		{"[::]:0", "", "", "other machines reach", "ssh -L"},
		{":0", "", "", "other machines reach", "--tls-cert"},
		{"192.0.2.1:0", "", "", "other machines reach", "--tls-cert"},
		{"ward.example:0", "", "", "other machines reach", "--tls-cert"},
		{"0:0", "", "", "other machines reach", "--tls-cert"},
		{"127.1:0", "", "", "other machines reach", "--tls-cert"},
		{"localhost.evil.example:0", "", "", "other machines reach", "--tls-cert"},
		{"[fe80::1%lo]:0", "", "", "other machines reach", "--tls-cert"},
		{"0.0.0.0:0", cert, "", "needs its key", "--tls-key"},
		{"0.0.0.0:0", "", key, "a key its certificate", "--tls-cert"},
		{"0.0.0.0:0", key, cert, "PEM", "one pair"},
		{"0.0.0.0:0", cert, unnamedKey, "private key does not match", "one pair"},
		{"0.0.0.0:0", unnamed, unnamedKey, "names no host", "the name that people type"},
		{"0.0.0.0:0", cert, "/dev/zero", "is no file of at most", "PEM"},
		{"0.0.0.0:0", pipe, key, "is no file of at most", "PEM"},
		{"0.0.0.0:0", open, openKey, "every user of this machine may read", "chmod o="},
		{"0.0.0.0:0", old, oldKey, "has expired", "renewed"},
		{"0.0.0.0:0", early, earlyKey, "is not good before", "clock"},
		{"0.0.0.0:0", "/nowhere", key, "no such file", "PEM"},
		{"8417", "", "", "is no address", "127.0.0.1:8417"},
		{"", "", "", "is no address", "127.0.0.1:8417"},
		{"127.0.0.1", "", "", "is no address", "127.0.0.1:8417"},
		{"127.0.0.1:99999", "", "", "invalid port", "address of this machine"},
		{taken.Addr().String(), "", "", "another program listens", "--listen 127.0.0.1:0"},
	} {
		s, err := Listen(t.Context(), Config{Listen: c.listen, Cert: c.cert, Key: c.key, Open: func(context.Context) (Site, error) {
			return &fake{}, nil
		}})
		if err == nil {
			s.listener.Close()
			t.Errorf("%s: it listens", c.listen)
			continue
		}
		var hinted *diag.Hinted
		if !errors.As(err, &hinted) || !strings.Contains(err.Error(), c.want) || !strings.Contains(hinted.Hint, c.hint) {
			t.Errorf("%s: %v; %v", c.listen, err, hinted)
		}
	}
}

func TestLoopbackInAllSpellings(t *testing.T) {
	for _, listen := range []string{"localhost:0", "LocalHost:0", "[::1]:0", "127.0.0.2:0", "[::ffff:127.0.0.1]:0"} {
		r := start(t, func(c *Config) { c.Listen = listen })
		if status, _, _ := get(t, r.signedIn(t), r.URL()); status != http.StatusOK {
			t.Errorf("%s, as %s: %d", listen, r.URL(), status)
		}
	}
}

// A repository that cannot be opened at the start leaves nothing listening.
func TestSiteThatDoesNotOpen(t *testing.T) {
	broken := errors.New("no repository")
	_, err := Listen(t.Context(), Config{Listen: "127.0.0.1:0", Open: func(context.Context) (Site, error) { return nil, broken }})
	if !errors.Is(err, broken) {
		t.Error(err)
	}
}

// With a certificate it may be reached from outside, by the certificate's names only, with a
// code as ever, and by HTTP/1.1 alone.
func TestCertificate(t *testing.T) {
	cert, key := certified(t, "ward.example", "127.0.0.1")
	r := start(t, func(c *Config) { c.Listen, c.Cert, c.Key = "0.0.0.0:0", cert, key })
	_, port, _ := net.SplitHostPort(r.listener.Addr().String())
	pool := x509.NewCertPool()
	pem, _ := os.ReadFile(cert)
	pool.AppendCertsFromPEM(pem)
	c := browser()
	c.Transport = &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: pool},
		DialContext: (&redirected{to: "127.0.0.1:" + port}).dial}
	if want := "https://ward.example:" + port + "/"; r.URL() != want {
		t.Errorf("%s, want %s", r.URL(), want)
	}
	res, err := c.PostForm(r.URL()+"login", url.Values{"code": {r.code(t)}})
	if err != nil {
		t.Fatal(err)
	}
	cookie := res.Header.Get("Set-Cookie")
	if res.StatusCode != http.StatusSeeOther || !strings.HasPrefix(cookie, "__Host-") || !strings.Contains(cookie, "Secure") || res.ProtoMajor != 1 {
		t.Errorf("%s %s %q", res.Proto, res.Status, cookie)
	}
	if status, body, _ := get(t, c, r.URL()); status != http.StatusOK || !strings.Contains(body, "the page /") {
		t.Errorf("%d %s", status, body)
	}
	for host, want := range map[string]int{"127.0.0.1:" + port: 303, "ward.example:" + port: 303, "evil.example:" + port: 421, "localhost:" + port: 421, "ward.example": 421} {
		req, _ := http.NewRequest("GET", r.URL(), nil)
		req.Host = host
		fresh := *c
		fresh.Jar = nil
		if res, err := fresh.Do(req); err != nil || res.StatusCode != want {
			t.Errorf("%s: %v %v, want %d", host, res, err, want)
		}
	}
	plain, err := net.Dial("tcp", "127.0.0.1:"+port)
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	io.WriteString(plain, "GET / HTTP/1.1\r\nHost: ward.example\r\n\r\n")
	if answer, _ := io.ReadAll(plain); bytes.Contains(answer, []byte("the page")) {
		t.Errorf("without TLS: %s", answer)
	}
}

// redirected dials one address, whatever the name.
type redirected struct{ to string }

func (d *redirected) dial(ctx context.Context, network, _ string) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, network, d.to)
}
