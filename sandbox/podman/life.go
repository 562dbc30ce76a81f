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

// insideLife is the path of the life socket in a container.
const insideLife = "/ward/life"

// life is the launcher's end of a connection that a container's first process holds
// (Spec.First). The kernel closes it with the launcher, however that ends; then the first
// process exits, and with it the whole container. No other process is needed for that.
type life struct {
	listener net.Listener
	dir      string

	mu   sync.Mutex
	conn net.Conn
	over bool

	proof chan error // with Spec.Proof: its result, once

	heard chan struct{} // closed when the first process sends nothing more
	code  int           // the command's exit code, valid if ended says so
	ended bool
}

// giveLife opens a container's socket and mounts its directory, which no other container has.
func (e *Engine) giveLife(r *request) (*life, error) {
	if len(r.First) == 0 {
		return nil, nil
	}
	// Short, as a socket's path must be: the number at the end of the name.
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
	if err := os.Chmod(path, 0o666); err != nil { // whatever user the first process is on the host
		l.end()
		return nil, err
	}
	r.Mounts = append(r.Mounts[:len(r.Mounts):len(r.Mounts)], Mount{Kind: Bind, Source: dir, Target: insideLife, ReadOnly: true})
	go l.accept()
	return l, nil
}

// accept accepts a single connection, the first process's, which it makes before anything else
// runs. Then the listener closes: a second start of the container fails, and processes inside
// have no queue to fill. After that the connection only carries the command's end.
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

// told is the command's exit code, after the first process has ended, if it reported one.
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

// take keeps the connection, and confirms it to the waiting first process.
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

// met reports whether the first process has connected.
func (l *life) met() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.conn != nil
}

// end closes the connection, which ends the first process. It may be called again.
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

// commandLine is the container's first process followed by the command.
func (r *request) commandLine() []string {
	if len(r.First) == 0 {
		return r.Command
	}
	line := append(r.First[:len(r.First):len(r.First)], "--life", insideLife+"/sock", "--")
	return append(line, r.Command...)
}
