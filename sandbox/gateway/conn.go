package gateway

import (
	"io"
	"log"
	"net"
	"net/url"
	"strings"
	"sync"
	"time"

	"git-ward/internal/diag"
)

const (
	// headerTime and bodyTime limit a client that sends slowly, stallTime one that does not
	// read.
	headerTime = 10 * time.Second
	bodyTime   = time.Minute
	stallTime  = time.Minute
	// grace is how long cancelled calls may take to be settled when the gateway closes. Later
	// ones stay charged in full.
	grace = 2 * time.Second
	// maxHeader is the size in bytes of a request's or an answer's headers.
	maxHeader = 64 << 10
)

// limitListener accepts a number of connections at a time; further ones wait in the kernel's
// queue: delayed, not refused.
type limitListener struct {
	net.Listener
	open   chan struct{}
	closed chan struct{}
	once   sync.Once
}

func newLimitListener(l net.Listener, n int) net.Listener {
	return &limitListener{Listener: l, open: make(chan struct{}, n), closed: make(chan struct{})}
}

// Accept waits until there are fewer connections than the limit, and then accepts one.
func (b *limitListener) Accept() (net.Conn, error) {
	select {
	case b.open <- struct{}{}:
	case <-b.closed:
		return nil, net.ErrClosed
	}
	conn, err := b.Listener.Accept()
	if err != nil {
		<-b.open
		return nil, err
	}
	return &client{Conn: conn, done: sync.OnceFunc(func() { <-b.open })}, nil
}

// Close also wakes an Accept that waits because of the limit.
func (b *limitListener) Close() error {
	b.once.Do(func() { close(b.closed) })
	return b.Listener.Close()
}

// client is an accepted connection. Each write has its own deadline, so that a slow client may
// continue but one that stops reading holds nothing for ever.
type client struct {
	net.Conn
	done func()
}

func (c *client) Write(p []byte) (int, error) {
	if err := c.SetWriteDeadline(time.Now().Add(stallTime)); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}

func (c *client) Close() error {
	defer c.done()
	return c.Conn.Close()
}

func (c *client) CloseWrite() error { return closeWrite(c.Conn) }

func closeWrite(c net.Conn) error {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return c.Close()
}

// quietLog drops net/http's messages about clients: they quote the client, which could fill
// the log.
func quietLog() *log.Logger { return log.New(io.Discard, "", 0) }

// clip makes a client's text fit for one log line.
func clip(s string) string { return diag.Clean(diag.Cut(s, maxShown)) }

// maxShown bounds a client's text in a log line or an answer, in bytes.
const maxShown = 200

// shown is an address for logs and answers: scheme, host and path. User info and query may
// hold tokens. A requested path may contain user info as well: //TOKEN@HOST/.
func shown(u *url.URL) string {
	path, _, _ := strings.Cut(u.Path, "?")
	if at := strings.LastIndexByte(path, '@'); at >= 0 {
		path = "/..." + path[at:]
	}
	return diag.Clean(diag.CutWord((&url.URL{Scheme: u.Scheme, Host: u.Host, Path: path}).String(), maxShown))
}
