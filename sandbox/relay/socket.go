package relay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sys/unix"

	"git-ward/internal/diag"
)

const (
	// The concurrent sessions. The gate limits a name's pushes itself; more connections wait
	// in the kernel's queue: delayed, not refused. Gateway connections may be kept alive, so
	// there are more of them.
	pushesAtOnce = 4
	callsAtOnce  = 16
	// patience is how long a client waits for an unreachable gate.
	patience = 2 * time.Minute
	// stall ends a client that does not read.
	stall = time.Minute
	// maxPath is what fits in sun_path with its final zero (unix(7)).
	maxPath = 107
)

// socket is one of near's: each connection is one session of a command at the gate.
type socket struct {
	name     string
	command  string
	atOnce   int
	after    func(context.Context) error // runs before the client sees the end; may be nil
	excuse   func(string) []byte         // sent to the client if the gate is unreachable; may be nil
	gate     *gate
	log      zerolog.Logger
	listener *net.UnixListener
}

// listen makes a directory's socket again; an earlier near's is dead. A client that mounts the
// directory read-only can connect but change nothing. If the directory contains anything else,
// it is a person's and is refused unchanged.
func listen(dir string) (*net.UnixListener, error) {
	path := filepath.Join(dir, "sock")
	if len(path) > maxPath {
		return nil, diag.Hint(fmt.Errorf("%s is too long for a unix socket: %d bytes, at most %d", path, len(path), maxPath), "choose a directory with a short name")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if e.Name() != filepath.Base(path) || e.Type() != fs.ModeSocket {
			return nil, diag.Hint(fmt.Errorf("%s exists, and near did not make it", filepath.Join(dir, e.Name())), "name an empty directory, or one that is not there: git ward near --dir DIR")
		}
	}
	switch other, err := net.Dial("unix", path); {
	case err == nil:
		other.Close()
		return nil, diag.Hint(fmt.Errorf("another process serves %s already", path), "name another directory: git ward near --dir DIR; each near has its own")
	case !errors.Is(err, syscall.ECONNREFUSED) && !errors.Is(err, fs.ErrNotExist): // such as a full queue
		return nil, fmt.Errorf("it is unknown whether another process serves %s: %w", path, err)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, err
	}
	// The umask may have taken bits from both.
	if err := errors.Join(os.Chmod(dir, 0o755), os.Chmod(path, 0o666)); err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	return listener, nil
}

// serve serves until ctx ends.
func (s *socket) serve(ctx context.Context) {
	defer context.AfterFunc(ctx, func() { s.listener.Close() })()
	var running sync.WaitGroup
	defer running.Wait()
	slots := make(chan struct{}, s.atOnce)
	for {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return
		}
		conn, err := s.listener.AcceptUnix()
		if err == nil {
			running.Go(func() {
				defer func() { <-slots }()
				defer conn.Close()
				s.join(ctx, conn)
			})
			continue
		}
		<-slots
		if ctx.Err() != nil {
			return
		}
		s.log.Warn().Err(err).Msg("cannot accept") // out of descriptors, which will be freed
		if pause(ctx, 0) != nil {
			return
		}
	}
}

// join connects a client with a command at the gate.
func (s *socket) join(ctx context.Context, conn *net.UnixConn) {
	began := time.Now()
	if gone(conn) { // in the kernel's queue; a session for it would be wasted
		return
	}
	far, err := s.gate.reach(ctx, s.command, patience)
	if err != nil {
		s.log.Warn().Err(err).Msg("a client is refused")
		s.excuseTo(conn, err)
		return
	}
	defer far.close()
	defer context.AfterFunc(ctx, func() { far.session.Close() })()
	go func() {
		io.Copy(far.in, conn)
		far.in.Close() // the client has sent everything; the answer may still come
	}()
	out, in := io.Copy(&patient{conn}, far.out)
	if in != nil { // the client reads no more
		io.Copy(io.Discard, far.out)
	}
	err = far.wait()
	if err != nil && out == 0 && in == nil {
		s.excuseTo(conn, err)
	}
	if s.after != nil {
		s.updateMirror(ctx)
	}
	s.log.Info().Err(err).Int64("out", out).Dur("took_ms", time.Since(began)).Msg("session")
}

// updateMirror updates the mirror before the client sees the end of its session. It does so after failures,
// too, so that a client that was cut off can read in the mirror what its push did.
func (s *socket) updateMirror(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for n := 0; ; n++ {
		err := s.after(ctx)
		if _, ok := errors.AsType[*Refused](err); err == nil || ok || pause(ctx, n) != nil {
			return
		}
	}
}

func (s *socket) excuseTo(conn net.Conn, err error) {
	if s.excuse == nil {
		return
	}
	conn.SetWriteDeadline(time.Now().Add(stall))
	conn.Write(s.excuse(diag.Clean(err.Error())))
}

// gitExcuse is a git error line that ends a push (gitprotocol-pack(5)), httpExcuse an HTTP
// answer.
func gitExcuse(why string) []byte {
	text := "ERR " + why + "\n"
	return fmt.Appendf(nil, "%04x%s", len(text)+4, text)
}

func httpExcuse(why string) []byte {
	return fmt.Appendf(nil, "HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\nContent-Length: %d\r\n\r\nward: %s", len(why)+len("ward: "), why)
}

// gone reports whether the peer is closed in both directions. A client that waits for an
// answer has closed only one.
func gone(conn *net.UnixConn) (is bool) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return true
	}
	err = raw.Control(func(fd uintptr) {
		fds := []unix.PollFd{{Fd: int32(fd)}}
		n, err := unix.Poll(fds, 0)
		is = err == nil && n > 0 && fds[0].Revents&(unix.POLLERR|unix.POLLHUP|unix.POLLNVAL) != 0
	})
	return is || err != nil
}

// patient gives each write to a client its own deadline.
type patient struct{ *net.UnixConn }

func (p *patient) Write(data []byte) (int, error) {
	if err := p.SetWriteDeadline(time.Now().Add(stall)); err != nil {
		return 0, err
	}
	return p.UnixConn.Write(data)
}
