package relay

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"

	"github.com/rs/zerolog"

	"git-ward/internal/process"
	"git-ward/sandbox/probe"
)

// Life is a socket to which the first process of an agent's container stays connected (package inside). When
// the connection ends, so does the container, because an agent without near cannot communicate. That the
// socket accepts connections shows others that near is ready.
type Life struct {
	Dir   string // directory of the socket Dir/life/sock; absolute
	Agent int    // a user id other than the first process's
	Log   zerolog.Logger

	mu   sync.Mutex
	held bool
}

// lifeSocket is where Life listens.
func lifeSocket(dir string) string { return filepath.Join(dir, "life", "sock") }

// IsReady reports whether a near serves below a directory.
func IsReady(ctx context.Context, dir string) error {
	conn, err := new(net.Dialer).DialContext(ctx, "unix", lifeSocket(dir))
	if err != nil {
		return err
	}
	return conn.Close()
}

// Serve serves one container at a time until ctx ends. A restarted container counts as a new one, and its
// fence is probed again.
func (l *Life) Serve(ctx context.Context) error {
	listener, err := listen(filepath.Dir(lifeSocket(l.Dir)))
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { listener.Close() })()
	for {
		conn, err := listener.AcceptUnix()
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && pause(ctx, 0) != nil:
			return nil
		case err != nil:
			l.Log.Warn().Err(err).Msg("cannot accept")
		default:
			go l.take(ctx, conn)
		}
	}
}

// take holds the connection of a container's first process until that process ends.
func (l *Life) take(ctx context.Context, conn *net.UnixConn) {
	defer conn.Close()
	// Near's own user checks readiness here; the agent must not.
	if uid, err := process.PeerID(conn); err != nil || uid == l.Agent || uid == os.Geteuid() && uid != 0 || !l.begin() {
		return
	}
	defer l.end()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	if _, err := conn.Write([]byte{1}); err != nil {
		return
	}
	switch err := probe.Heed(conn); {
	case errors.Is(err, probe.ErrSilent): // the process ended without a result
	case err != nil:
		l.Log.Error().Err(err).Msg("the fence does not hold: nothing starts")
		return
	default:
		l.Log.Info().Msg("the fence holds")
		io.Copy(io.Discard, conn)
	}
	l.Log.Info().Msg("the container has ended")
}

func (l *Life) begin() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	first := !l.held
	l.held = true
	return first
}

func (l *Life) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held = false
}
