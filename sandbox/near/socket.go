package near

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
	// Sessions at a time. The gate bounds a name's pushes by itself; what is over waits in the
	// kernel's queue: delayed, not refused. A gateway's connection may be kept open by who uses
	// it again, so there are more of them.
	pushesAtOnce = 4
	callsAtOnce  = 16
	// patience is how long a client waits for a gate that is away.
	patience = 2 * time.Minute
	// stall ends a client that does not read what it asked for.
	stall = time.Minute
	// maxPath is what fits in sun_path with its final zero (unix(7)).
	maxPath = 107
)

// socket is one of near's: each connection is one session of a command at the gate.
type socket struct {
	name     string
	command  string
	atOnce   int
	after    func(context.Context) error // what comes before the client hears the end; may be nil
	excuse   func(string) []byte         // what a client is told that the gate cannot be; may be nil
	gate     *gate
	log      zerolog.Logger
	listener *net.UnixListener
}

// listen makes a directory's socket anew: one that an earlier near left answers nobody. Who
// has the directory mounted read-only connects, and changes nothing. A directory that has
// anything else in it is a person's, and is refused as it is.
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
			return nil, diag.Hint(fmt.Errorf("%s is there, and no near made it", filepath.Join(dir, e.Name())), "name an empty directory, or one that is not there: git ward near --dir DIR")
		}
	}
	switch other, err := net.Dial("unix", path); {
	case err == nil:
		other.Close()
		return nil, diag.Hint(fmt.Errorf("somebody answers at %s already", path), "name another directory: git ward near --dir DIR; each near has its own")
	case !errors.Is(err, syscall.ECONNREFUSED) && !errors.Is(err, fs.ErrNotExist): // such as a queue that is full
		return nil, fmt.Errorf("it cannot be seen whether somebody answers at %s: %w", path, err)
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

// serve answers until ctx ends.
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
		s.log.Warn().Err(err).Msg("cannot accept") // out of descriptors, which come back
		if pause(ctx, 0) != nil {
			return
		}
	}
}

// join makes a client and a command at the gate one stream.
func (s *socket) join(ctx context.Context, conn *net.UnixConn) {
	began := time.Now()
	if gone(conn) { // while it waited in the kernel's queue; a session would cost the others one
		return
	}
	far, err := s.gate.reach(ctx, s.command, patience)
	if err != nil {
		s.log.Warn().Err(err).Msg("a client is sent away")
		s.excuseTo(conn, err)
		return
	}
	defer far.close()
	defer context.AfterFunc(ctx, func() { far.session.Close() })()
	go func() {
		io.Copy(far.in, conn)
		far.in.Close() // the client has said all; the answer may still come
	}()
	out, in := io.Copy(&patient{conn}, far.out)
	if in != nil { // the client takes no more
		io.Copy(io.Discard, far.out)
	}
	err = far.wait()
	if err != nil && out == 0 && in == nil {
		s.excuseTo(conn, err)
	}
	if s.after != nil {
		s.settle(ctx)
	}
	s.log.Info().Err(err).Int64("out", out).Dur("took_ms", time.Since(began)).Msg("session")
}

// settle has what the session did in the mirror before the client hears its end, whatever
// that was: a client that was cut off finds out there what came of it.
func (s *socket) settle(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for n := 0; ; n++ {
		err := s.after(ctx)
		var refused *Refused
		if err == nil || errors.As(err, &refused) || pause(ctx, n) != nil {
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

// gitExcuse is a line of git's that ends a push (gitprotocol-pack(5)), httpExcuse an answer.
func gitExcuse(why string) []byte {
	text := "ERR " + why + "\n"
	return fmt.Appendf(nil, "%04x%s", len(text)+4, text)
}

func httpExcuse(why string) []byte {
	return fmt.Appendf(nil, "HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\nContent-Length: %d\r\n\r\nward: %s", len(why)+len("ward: "), why)
}

// gone reports whether nobody has the other end any more. A client that has sent all and
// waits for the answer has closed one way.
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

// patient gives each write to a client its own time.
type patient struct{ *net.UnixConn }

func (p *patient) Write(data []byte) (int, error) {
	if err := p.SetWriteDeadline(time.Now().Add(stall)); err != nil {
		return 0, err
	}
	return p.UnixConn.Write(data)
}
