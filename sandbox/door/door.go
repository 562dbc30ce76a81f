// Package door is the agent's one way to push: a unix socket on which every
// connection is one `git receive-pack` on one repository, run on the host as
// the repository's owner, with principal agent (SBX-4, ID-1).
//
// There is no handshake, no verb and no path, so an agent has nothing to choose: bytes go to
// git and back. Git and the repository's hooks decide about them, under the limits of GIT-6.
// The door reads only the head of the client's command list, to refuse a push certificate,
// which git would store before any hook runs (commandList).
//
// The same service is available as a forced command of ssh; there the key identifies the client (Session,
// ID-4).
package door

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"git-ward/internal/config"
	"git-ward/internal/diag"
	"git-ward/internal/process"
	"git-ward/internal/scratch"
)

const (
	// atOnce is how many pushes run at the same time. Refs move one push after another anyway;
	// more would only multiply the memory limit.
	atOnce = 4
	// maxOpen bounds the accepted connections, running and waiting. Further ones wait in the
	// kernel's queue: they are delayed, not refused.
	maxOpen = 64
	// grace is how long running pushes may continue when the door closes.
	grace = 5 * time.Second
	// maxPath is the longest path that fits in sun_path with its final NUL (unix(7)).
	maxPath = 107
)

// Config is the complete configuration of a door.
type Config struct {
	Bare     string         // the repository, absolute
	Dir      string         // short directory for the socket; empty: os.TempDir
	Settings *config.Config // the door uses [limits] and [door]
	Log      zerolog.Logger // one line per push
	// Principal is the principal of the pushes: "" or Agent for the agent's plain token, Watcher for a
	// bound token of that name. Each door has its own bucket.
	Principal string
	// Name, if set, is called for each push. It returns the name of the worker's lease (MANY-2), for a
	// bound token, or "" for the agent's plain token.
	Name func() string
	// Peer, if set, returns the only user id, as this host sees it, that may connect now. The
	// kernel says who connects (SO_PEERCRED, unix(7)).
	Peer func() int
	// Ended, if set, records a push that was ended at a limit (GATE-6).
	Ended func(context.Context, Ended) error
}

// The principals that may use a door in the fence; push.Principal has the same words.
const (
	Agent   = "agent"
	Watcher = "watcher"
)

// Door is an open door, ready for Serve.
type Door struct {
	config    Config
	principal string // "" is the agent
	outer     *scratch.Dir
	listener  *net.UnixListener
	line      chan struct{} // the clients' queue; a channel serves in order
	slots     chan struct{}
	// The shared limits of all pushes: connections, and seconds of processor time, which a
	// push owes as it runs. A client with a debt waits.
	pushes, cpu *bucket
}

// Listen opens a door on a repository that has passed Check. Clients wait until Serve is
// called.
//
// The socket is `<outer>/door/sock`. The outer directory has mode 0700, so that
// no other user of the host gets in; the inner one 0755 and the socket 0666, so
// that a container with the inner one mounted can connect, whatever user its id
// map maps the agent to.
func Listen(c Config) (*Door, error) {
	outer, err := scratch.Make(c.Dir, "")
	if err != nil {
		return nil, err
	}
	listener, err := listen(filepath.Join(outer.Path, "door"))
	if err != nil {
		return nil, errors.Join(err, outer.Remove())
	}
	principal := c.Principal
	if principal == Agent {
		principal = ""
	}
	return &Door{
		config:    c,
		principal: principal,
		outer:     outer,
		listener:  listener,
		line:      make(chan struct{}, 1),
		slots:     make(chan struct{}, atOnce),
		pushes:    newBucket(float64(c.Settings.Door.Burst), float64(c.Settings.Door.PerMinute)),
		cpu:       newBucket(c.Settings.Door.CPU.Seconds(), c.Settings.Door.CPUPerMinute.Seconds()),
	}, nil
}

func listen(dir string) (*net.UnixListener, error) {
	path := filepath.Join(dir, "sock")
	if len(path) > maxPath {
		return nil, diag.Hint(fmt.Errorf("%s is too long for a unix socket: %d bytes, at most %d", path, len(path), maxPath),
			"set XDG_RUNTIME_DIR or TMPDIR to a directory with a short name")
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, err
	}
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, err
	}
	// Chmod, because the umask may have removed permission bits.
	for name, mode := range map[string]os.FileMode{dir: 0o755, path: 0o666} {
		if err := os.Chmod(name, mode); err != nil {
			listener.Close()
			return nil, err
		}
	}
	return listener, nil
}

// Socket is the path of the socket; its directory is the one to mount.
func (d *Door) Socket() string { return d.listener.Addr().String() }

// Serve answers until ctx is cancelled, which is its normal end and no error. Then it accepts
// no more connections, refuses those still waiting, gives running pushes five seconds, ends
// the rest, and removes the socket.
func (d *Door) Serve(ctx context.Context) error {
	defer d.outer.Remove()
	running, kill := context.WithCancel(context.WithoutCancel(ctx))
	defer kill()
	defer context.AfterFunc(ctx, func() { d.listener.Close() })()

	var pushes sync.WaitGroup
	err := d.accept(ctx, func(conn *net.UnixConn, done func()) {
		pushes.Go(func() {
			defer done()
			defer conn.Close()
			d.queue(ctx, running, conn)
		})
	})
	timer := time.AfterFunc(grace, kill)
	defer timer.Stop()
	pushes.Wait()
	return err
}

// accept hands out connections, at most maxOpen at a time, until ctx ends or the listener
// fails. The receiver calls done when it has finished one.
func (d *Door) accept(ctx context.Context, handle func(conn *net.UnixConn, done func())) error {
	open := make(chan struct{}, maxOpen)
	for {
		select {
		case open <- struct{}{}:
		case <-ctx.Done():
			return nil
		}
		conn, err := d.listener.AcceptUnix()
		switch {
		case err == nil && !d.admits(conn):
			conn.Close()
			<-open
			continue
		case err == nil:
			handle(conn, func() { <-open })
			continue
		case ctx.Err() != nil:
			return nil
		case !isTemporary(err):
			d.listener.Close()
			return fmt.Errorf("the door does not open any more: %w", err)
		}
		// Out of descriptors or memory: they become free as pushes end.
		d.config.Log.Warn().Err(err).Msg("cannot accept")
		<-open
		if sleep(ctx, 100*time.Millisecond) != nil {
			return nil
		}
	}
}

// admits reports whether the connecting process runs as the door's user.
func (d *Door) admits(conn *net.UnixConn) bool {
	if d.config.Peer == nil {
		return true
	}
	uid, err := process.PeerID(conn)
	return err == nil && uid == d.config.Peer()
}

// queue makes a connection wait for its token, a slot, and the debt of earlier pushes; then it
// runs it. The wait ends with ctx or the client, the push itself only with running.
func (d *Door) queue(ctx, running context.Context, conn *net.UnixConn) {
	if gone(conn) {
		return
	}
	waiting, there := whileThere(ctx, func() bool { return gone(conn) }, askAgain)
	defer there()
	if !d.begins(waiting) {
		return
	}
	defer func() { <-d.slots }()
	there()
	d.receive(running, conn)
}

// begins waits in the clients' order for a slot, for earlier pushes' debt, and for a token. It
// returns true if it has taken slot and token.
func (d *Door) begins(ctx context.Context) bool {
	for _, lock := range []chan struct{}{d.line, d.slots} {
		select {
		case lock <- struct{}{}:
		case <-ctx.Done():
			if lock == d.slots {
				<-d.line
			}
			return false
		}
	}
	defer func() { <-d.line }()
	if d.cpu.await(ctx, 0) != nil || d.pushes.await(ctx, 1) != nil {
		<-d.slots
		return false
	}
	return true
}
