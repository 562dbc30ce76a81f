package relay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"git-ward/internal/diag"
)

const (
	dialTime = 15 * time.Second
	// A connection that does not answer aliveAsk within aliveTime is closed, without waiting
	// for TCP's timeout.
	aliveAsk  = 10 * time.Second
	aliveTime = 20 * time.Second
	// perLine is how many sessions share a connection; sshd's MaxSessions is 10.
	perLine = 8
	// maxRefused is how many refusals of the key in a row are needed to believe them, because
	// an account or directory at the gate may be unavailable for a moment.
	maxRefused = 3
	maxKey     = 64 << 10 // bytes of a key file
)

// Refused is a gate's final refusal: trying again would not change it.
type Refused struct{ Err error }

func (r *Refused) Error() string { return r.Err.Error() }
func (r *Refused) Unwrap() error { return r.Err }

// gate is the repository's host, reached by ssh.
type gate struct {
	address string // host:port
	config  ssh.ClientConfig
	log     zerolog.Logger

	mu      sync.Mutex
	lines   []*line
	refused int // in a row
	closed  bool
}

// line is one ssh connection with its sessions.
type line struct {
	client   *ssh.Client
	gone     chan struct{} // closed: the connection has ended
	sessions int
}

// gateURL parses the gate's address.
func (c Config) gateURL() (*url.URL, error) {
	address, err := url.Parse(c.Gate)
	if err != nil || address.Scheme != "ssh" || address.Hostname() == "" || address.RawQuery != "" || address.Fragment != "" {
		return nil, diag.Hint(fmt.Errorf("%q is no address of a gate", diag.Clean(diag.Cut(c.Gate, 200))), "it is written ssh://USER@HOST:PORT/PATH")
	}
	return address, nil
}

// Addresses are those of the gate's host, which no agent reaches (MANY-4).
func (c Config) Addresses(ctx context.Context) (all []netip.Prefix, err error) {
	address, err := c.gateURL()
	if err != nil {
		return nil, err
	}
	list, err := net.DefaultResolver.LookupNetIP(ctx, "ip", address.Hostname())
	for _, addr := range list {
		addr = addr.Unmap().WithZone("")
		all = append(all, netip.PrefixFrom(addr, addr.BitLen()))
	}
	return all, err
}

// newGate reads the files; it does not connect.
func newGate(c Config) (*gate, error) {
	address, err := c.gateURL()
	if err != nil {
		return nil, err
	}
	port := cmp.Or(address.Port(), "22")
	g := &gate{address: net.JoinHostPort(address.Hostname(), port), log: c.Log}
	signer, err := readKey(c.Key)
	if err != nil {
		return nil, err
	}
	known, algorithms, err := g.readHost(c.KnownHosts)
	if err != nil {
		return nil, err
	}
	g.config = ssh.ClientConfig{
		User: address.User.Username(), Auth: []ssh.AuthMethod{ssh.PublicKeys(signer)},
		HostKeyCallback: known, HostKeyAlgorithms: algorithms, Timeout: dialTime,
		AuthCallback: func(c *ssh.ClientAuthContext) (ssh.AuthMethod, error) {
			if slices.Contains(c.TriedMethods, "publickey") {
				return nil, errKey
			}
			return nil, nil
		},
	}
	return g, nil
}

// errKey means that the gate refuses the key.
var errKey = errors.New("the gate refuses the key")

// readKey reads a private key that not everybody can read. Group-readable is allowed, because
// kubelet makes Secrets so for an ordinary user.
func readKey(path string) (ssh.Signer, error) {
	data, err := readBounded(path)
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(path); err == nil && info.Mode().Perm()&0o007 != 0 {
		return nil, diag.Hint(fmt.Errorf("everybody can read the key %s: mode %04o", path, info.Mode().Perm()), "chmod 0400 it")
	}
	signer, err := ssh.ParsePrivateKey(data)
	if err != nil {
		return nil, diag.Hint(fmt.Errorf("%s is no private key that can be used: %w", path, err), "make one without a passphrase: ssh-keygen -t ed25519 -N '' -f FILE")
	}
	return signer, nil
}

func readBounded(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxKey))
}

// readHost reads the gate's known host keys and their types, so that the gate is asked for one
// of these.
func (g *gate) readHost(path string) (checked ssh.HostKeyCallback, algorithms []string, err error) {
	known, err := knownhosts.New(path)
	if err != nil {
		return nil, nil, fmt.Errorf("the gate's host key: %w", err)
	}
	var mismatch *knownhosts.KeyError
	if errors.As(known(g.address, &net.TCPAddr{}, noKey{}), &mismatch) {
		for _, k := range mismatch.Want {
			kinds := []string{k.Key.Type()}
			if k.Key.Type() == ssh.KeyAlgoRSA {
				kinds = []string{ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256}
			}
			algorithms = append(algorithms, kinds...)
		}
	}
	if len(algorithms) == 0 {
		return nil, nil, diag.Hint(fmt.Errorf("%s has no key of %s", path, knownhosts.Normalize(g.address)), "the gate's admin reads it in /etc/ssh/ssh_host_ed25519_key.pub there; `ssh-keyscan` proves nothing")
	}
	checked = func(name string, at net.Addr, key ssh.PublicKey) error {
		if err := known(name, at, key); err != nil {
			return &Refused{diag.Hint(fmt.Errorf("%s answers with another host key (%s) than %s has: %w", g.address, ssh.FingerprintSHA256(key), filepath.Base(path), err),
				"if the gate's host key was changed, write the new one there; if not, somebody else answers")}
		}
		return nil
	}
	return checked, algorithms, nil
}

// noKey is a host key that matches nothing; it makes the callback list the known ones.
type noKey struct{}

func (noKey) Type() string                        { return "none" }
func (noKey) Marshal() []byte                     { return []byte("none") }
func (noKey) Verify([]byte, *ssh.Signature) error { return errors.ErrUnsupported }

// connect opens a connection and keeps checking that it is alive.
func (g *gate) connect(ctx context.Context) (*line, error) {
	conn, err := (&net.Dialer{Timeout: dialTime}).DialContext(ctx, "tcp", g.address)
	if err != nil {
		return nil, diag.Hint(fmt.Errorf("the gate does not answer: %w", err), "is its sshd up, and does every firewall on the way allow %s?", g.address)
	}
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	conn.SetDeadline(time.Now().Add(dialTime))
	ours, channels, requests, err := ssh.NewClientConn(conn, g.address, &g.config)
	if err != nil {
		conn.Close()
		return nil, g.handshakeError(err)
	}
	conn.SetDeadline(time.Time{})
	l := &line{client: ssh.NewClient(ours, channels, requests), gone: make(chan struct{})}
	go func() {
		l.client.Wait()
		close(l.gone)
	}()
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.refused = 0; g.closed {
		l.client.Close()
		return nil, net.ErrClosed
	}
	g.lines = append(g.lines, l)
	go g.watchOver(l)
	return l, nil
}

// handshakeError tells a refusal by the gate from a broken connection.
func (g *gate) handshakeError(err error) error {
	if refused, ok := errors.AsType[*Refused](err); ok {
		return refused
	}
	if !errors.Is(err, errKey) {
		return fmt.Errorf("the gate %s: %w", g.address, err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	err = diag.Hint(fmt.Errorf("%s refuses the key: it has expired, was revoked, or never existed", g.address), "a launch makes a new one; `git ward lease` at the gate says who holds what")
	if g.refused++; g.refused >= maxRefused {
		return &Refused{err}
	}
	return err
}

// watchOver checks a connection until it is dead, and then drops it.
func (g *gate) watchOver(l *line) {
	for alive := true; alive; {
		select {
		case <-l.gone:
			alive = false
		case <-time.After(aliveAsk):
			late := time.AfterFunc(aliveTime, func() { l.client.Close() })
			_, _, err := l.client.SendRequest("keepalive@openssh.com", true, nil)
			alive = late.Stop() && err == nil
		}
	}
	l.client.Close()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.lines = slices.DeleteFunc(g.lines, func(other *line) bool { return other == l })
}

// take is a connection with a free session, opened if necessary.
func (g *gate) take(ctx context.Context) (l *line, release func(), err error) {
	g.mu.Lock()
	for _, l = range g.lines {
		if l.sessions < perLine {
			break
		}
		l = nil
	}
	if l != nil {
		l.sessions++
	}
	g.mu.Unlock()
	if l == nil {
		if l, err = g.connect(ctx); err != nil {
			return nil, nil, err
		}
		g.mu.Lock()
		l.sessions++
		g.mu.Unlock()
	}
	return l, sync.OnceFunc(func() { g.release(l) }), nil
}

// release frees a session; it closes an unused connection, except for the first.
func (g *gate) release(l *line) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if l.sessions--; l.sessions == 0 && len(g.lines) > 1 {
		l.client.Close()
	}
}

// close closes every connection.
func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	for _, l := range g.lines {
		l.client.Close()
	}
}

// pause waits before try number n: longer each time, up to ten seconds, with jitter, because
// many clients lose a gate at the same time.
func pause(ctx context.Context, n int) error {
	limit := min(10*time.Second, 250*time.Millisecond<<min(n, 10))
	timer := time.NewTimer(limit/2 + rand.N(limit/2))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// oneLine is a gate program's stderr as one line.
func oneLine(words string) string {
	return diag.Clean(strings.ReplaceAll(strings.TrimSpace(words), "\n", "; "))
}
