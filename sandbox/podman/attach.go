//go:build remote && containers_image_openpgp

package podman

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"

	"github.com/containers/podman/v5/pkg/bindings"
	"github.com/containers/podman/v5/pkg/bindings/containers"
)

// attach uses a connection of its own, because the bindings change its transport, and reads
// the socket below it, so that only closing the socket ends it.
func (c *client) attach(ctx context.Context, id string, s Streams, ready func()) error {
	bound, err := bindings.NewConnection(ctx, c.uri)
	if err != nil {
		return err
	}
	conn, err := bindings.GetClient(bound)
	if err != nil {
		return err
	}
	var open sockets
	conn.Client.Transport = &http.Transport{DialContext: open.dial(strings.TrimPrefix(c.uri, "unix://"))}
	defer context.AfterFunc(ctx, open.close)()
	defer open.close()
	attached, done := make(chan bool), make(chan struct{})
	defer close(done)
	go func() {
		select {
		case <-attached:
			ready()
		case <-done:
		}
	}()
	options := new(containers.AttachOptions).WithStream(true)
	err = containers.Attach(bound, id, reader(s.Stdin), writer(s.Stdout), writer(s.Stderr), attached, options)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// reader and writer hide a stream's type: the bindings panic on one that is not a pointer. A
// file stays a file, because with a TTY they set its mode.
func reader(r io.Reader) io.Reader {
	if _, ok := r.(*os.File); ok || r == nil {
		return r
	}
	return &struct{ io.Reader }{r}
}

func writer(w io.Writer) io.Writer {
	if _, ok := w.(*os.File); ok || w == nil {
		return w
	}
	return &struct{ io.Writer }{w}
}

// sockets are one attach's open connections.
type sockets struct {
	mu     sync.Mutex
	all    []net.Conn
	closed bool
}

func (s *sockets) dial(path string) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, _, _ string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, "unix", path)
		if err != nil {
			return nil, err
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.closed {
			conn.Close()
			return nil, net.ErrClosed
		}
		s.all = append(s.all, conn)
		return conn, nil
	}
}

func (s *sockets) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for _, conn := range s.all {
		conn.Close()
	}
}
