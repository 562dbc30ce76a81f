package door

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"git-ward/internal/diag"
)

// stalled is how long a client may leave pending output unread.
const stalled = time.Minute

// gateway is the socket of the lease holder's gateway to the models.
func (s *Session) gateway() (path string, err error) {
	if s.Gateway != nil {
		path = s.Gateway(s.Lease)
	}
	if path == "" {
		err = diag.Hint(fmt.Errorf("no launcher here gives %s a model at the moment", s.Lease), "is the launcher at the gate up? `git ward status` there")
	}
	return path, err
}

// joinSocket is joinConn for a unix socket.
func joinSocket(ctx context.Context, path string) error {
	far, err := new(net.Dialer).DialContext(ctx, "unix", path)
	if err != nil {
		return diag.Hint(fmt.Errorf("the launcher's service does not answer: %w", plainly(err)), "is the launcher at the gate up? `git ward status` there")
	}
	return joinConn(ctx, far.(*net.UnixConn))
}

// Conn is a connection whose two directions can be closed separately.
type Conn interface {
	io.ReadWriteCloser
	CloseWrite() error
}

// joinConn joins a connection with this process's standard input and output until both
// directions have ended, the client is gone, or ctx ends.
func joinConn(ctx context.Context, conn Conn) error {
	defer conn.Close()
	ends := newEnds()
	defer ends.restore()
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE, syscall.SIGHUP)
	ctx, done := whileThere(ctx, ends.gone, leaseLook)
	defer done()
	defer context.AfterFunc(ctx, func() {
		conn.Close()
		ends.in.Close()
	})()
	var up sync.WaitGroup
	up.Go(func() {
		io.Copy(conn, ends.in)
		conn.CloseWrite()
	})
	_, err := io.Copy(unhurried{ends}, conn)
	ends.out.Close()
	conn.Close()
	ends.in.Close()
	up.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// plainly returns a dial error without the host's directories.
func plainly(err error) error {
	if op, ok := err.(*net.OpError); ok {
		return op.Err
	}
	return err
}

// unhurried gives each write to the client a deadline of its own, so that a client that reads
// nothing does not block for ever.
type unhurried struct{ *ends }

func (u unhurried) Write(p []byte) (int, error) {
	u.SetWriteDeadline(time.Now().Add(stalled)) // honoured where the kernel supports it
	return u.out.Write(p)
}
