package fence

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"
)

// Shared is podman for all users within a launch. Its processes run while somebody uses it,
// and for a while after; a later user starts them again.
type Shared struct {
	open   func(context.Context) (*Connection, error)
	ctx    context.Context
	cancel context.CancelFunc
	linger time.Duration
	log    zerolog.Logger

	mu  sync.Mutex // also held while a connection is opened or closed
	now *used      // the connection for new users; nil: open a new one
	old []*used    // connections whose service died, with users left
}

// used is a connection with its number of users.
type used struct {
	*Connection
	users  int
	idle   *time.Timer // nil before its first user has ended
	closed bool
}

// Share makes a Shared that opens nothing yet. What it opens later ends with ctx, or with
// Close.
func Share(ctx context.Context, linger time.Duration, log zerolog.Logger, open func(context.Context) (*Connection, error)) *Shared {
	s := &Shared{open: open, linger: linger, log: log}
	s.ctx, s.cancel = context.WithCancel(ctx)
	return s
}

// Use returns a connection, which stays open until release is called.
func (s *Shared) Use() (_ *Connection, release func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := context.Cause(s.ctx); err != nil {
		return nil, nil, err
	}
	if s.now != nil && s.now.dead() {
		s.old, s.now = append(s.old, s.now), nil
	}
	if s.now == nil {
		conn, err := s.open(s.ctx)
		if err != nil {
			return nil, nil, err
		}
		s.now = &used{Connection: conn}
	}
	u := s.now
	if u.users++; u.idle != nil {
		u.idle.Stop()
	}
	return u.Connection, sync.OnceFunc(func() { s.release(u) }), nil
}

// release counts one user less. The connection is closed some time after its last user's end,
// or at once if its service has died.
func (s *Shared) release(u *used) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u.users--
	if u.dead() {
		s.told(s.closeIdle(u))
		return
	}
	if u.users > 0 {
		return
	}
	u.idle = time.AfterFunc(s.linger, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.told(s.closeIdle(u))
	})
}

// closeIdle closes a connection without users. New users wait for a new one meanwhile.
func (s *Shared) closeIdle(u *used) error {
	if u.users > 0 || u.closed {
		return nil
	}
	if s.now == u {
		s.now = nil
	}
	s.old = slices.DeleteFunc(s.old, func(other *used) bool { return other == u })
	u.closed = true
	return u.Engine.Close()
}

// dead reports whether podman's service has ended unexpectedly.
func (u *used) dead() bool {
	select {
	case <-u.Engine.Done():
		return true
	default:
		return false
	}
}

func (s *Shared) told(err error) {
	if err != nil {
		s.log.Error().Err(err).Msg("podman did not end cleanly")
	}
}

// Close ends the connection, with whatever containers are left, or the attempt.
func (s *Shared) Close() error {
	s.cancel()
	s.mu.Lock()
	defer s.mu.Unlock()
	all := slices.Clone(s.old)
	if s.now != nil {
		all = append(all, s.now)
	}
	var err error
	for _, u := range all {
		u.users = 0
		err = errors.Join(err, s.closeIdle(u))
	}
	return err
}
