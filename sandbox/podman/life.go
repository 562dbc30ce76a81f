package podman

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"git-ward/sandbox/probe"
)

// insideLife is where a container finds the socket of its life.
const insideLife = "/ward/life"

// life is the launcher's end of a connection that a container's first process holds
// (Spec.First). The kernel closes it with the launcher, however that ends, and then the
// first process ends, and with it all of the container: nobody has to be there to do it.
type life struct {
	listener net.Listener
	dir      string

	mu   sync.Mutex
	conn net.Conn
	over bool

	proof chan error // with Spec.Proof: what came of it, once

	heard chan struct{} // closed when there is nothing more to hear of the first process
	code  int           // of the command's end, where ended says that it was told
	ended bool
}

// giveLife opens the socket for a container and mounts its directory, which is the
// container's alone.
func (e *Engine) giveLife(r *request) (*life, error) {
	if len(r.First) == 0 {
		return nil, nil
	}
	// Short, as a socket's path must be: the number that ends the name.
	dir := filepath.Join(e.service.dir.Path, r.name[strings.LastIndexByte(r.name, '-')+1:])
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, "sock")
	listener, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	l := &life{listener: listener, dir: dir, heard: make(chan struct{})}
	if r.Proof {
		l.proof = make(chan error, 1)
	}
	if err := os.Chmod(path, 0o666); err != nil { // whoever the first process is on the host
		l.end()
		return nil, err
	}
	r.Mounts = append(r.Mounts[:len(r.Mounts):len(r.Mounts)], Mount{Kind: Bind, Source: dir, Target: insideLife, ReadOnly: true})
	go l.accept()
	return l, nil
}

// accept takes the one connection that there may be, the first process's, which makes it
// before anything else runs. Then nobody listens: a second start of the container does not
// find it, and what runs inside has nothing to fill. The command's end is all that it says then.
func (l *life) accept() {
	defer close(l.heard)
	conn, err := l.listener.Accept()
	l.listener.Close()
	if err != nil || !l.take(conn) {
		return
	}
	if l.proof != nil {
		l.proof <- probe.Heed(conn)
	}
	code, err := probe.HearEnd(conn)
	l.code, l.ended = code, err == nil
}

// told is the code of the command's end, once the first process is gone, where it said so.
func (l *life) told(ctx context.Context) (code int, ok bool) {
	if l == nil || !l.met() {
		return 0, false
	}
	select {
	case <-l.heard: // the kernel closes the connection with the process
		return l.code, l.ended
	case <-ctx.Done():
		return 0, false
	}
}

// take keeps the connection, and says so to the first process, which waits for it.
func (l *life) take(conn net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		conn.Close()
		return false
	}
	l.conn = conn
	conn.Write([]byte{1})
	return true
}

// met reports whether the first process has had the connection.
func (l *life) met() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.conn != nil
}

// end lets go of the container, whose first process ends then. It may be called again.
func (l *life) end() {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over = true
	l.listener.Close()
	if l.conn != nil {
		l.conn.Close()
	}
	os.Remove(filepath.Join(l.dir, "sock"))
	os.Remove(l.dir)
}

// commandLine is what runs in the container: its first process, and by it the command.
func (r *request) commandLine() []string {
	if len(r.First) == 0 {
		return r.Command
	}
	line := append(r.First[:len(r.First):len(r.First)], "--life", insideLife+"/sock", "--")
	return append(line, r.Command...)
}
