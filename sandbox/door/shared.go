package door

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"git-ward/internal/config"
	"git-ward/internal/diag"

	"golang.org/x/sys/unix"
)

// shared is one name's quota over all its connections, each a process of its own: token
// buckets, and locks for running and waiting connections, in files below the repository. The
// kernel releases a killed process's locks.
type shared struct {
	dir      string // ward/door
	name     string // of the files: verb, principal and name
	settings *config.Config
	metered  bool // processor time counts, too
}

func newShared(g *service) (*shared, error) {
	s := &shared{dir: filepath.Join(g.bare, "ward", "door"), name: g.verb + "-" + g.principal + "-" + g.turn,
		settings: g.settings, metered: g.principal == Agent}
	err := os.Mkdir(s.dir, 0o700)
	if errors.Is(err, fs.ErrExist) {
		err = nil
	}
	return s, err
}

func (s *shared) open(suffix string) (*os.File, error) {
	return os.OpenFile(filepath.Join(s.dir, s.name+suffix), os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
}

// errBusy is hold's error when every lock is taken.
var errBusy = errors.New("all are taken")

// hold takes one of n locks. The lock is held until the file, and every inherited descriptor
// of it, is closed.
func (s *shared) hold(kind string, n int) (*os.File, error) {
	for i := range n {
		f, err := s.open(fmt.Sprintf(".%s%d", kind, i))
		if err != nil {
			return nil, err
		}
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return f, nil
		}
		f.Close()
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return nil, err
		}
	}
	return nil, errBusy
}

// with changes one of the name's buckets, which are files. An unreadable bucket counts as
// empty.
func (s *shared) with(b *bucket, suffix string, change func()) error {
	f, err := s.open(suffix)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		return err
	}
	text := make([]byte, 64)
	if n, _ := f.ReadAt(text, 0); n > 0 {
		var tokens float64
		var at int64
		if _, err := fmt.Sscanf(string(text[:n]), "%g %d\n", &tokens, &at); err != nil || tokens != tokens {
			tokens, at = 0, time.Now().UnixNano()
		}
		b.tokens, b.at = tokens, time.Unix(0, at)
	}
	change()
	// A single write of fixed size happens whole or not at all, even if this process is
	// killed.
	_, err = f.WriteAt(fmt.Appendf(nil, "%+030.6f %030d\n", b.tokens, b.at.UnixNano()), 0)
	return err
}

// takeConnection takes a token for a connection, or returns how long until there is one.
// takeTime returns 0 if the name owes no processor time, and spendTime charges some.
func (s *shared) takeConnection() (wait time.Duration, err error) {
	b := newBucket(float64(s.settings.Door.Burst), float64(s.settings.Door.PerMinute))
	err = s.with(b, ".bucket", func() { wait = b.take(1) })
	return wait, err
}

// spendTokens charges tokens for what a connection has sent, even into debt.
func (s *shared) spendTokens(n float64) error {
	b := newBucket(float64(s.settings.Door.Burst), float64(s.settings.Door.PerMinute))
	return s.with(b, ".bucket", func() { b.spend(n) })
}

func (s *shared) takeTime() (wait time.Duration, err error) {
	if !s.metered {
		return 0, nil
	}
	b := s.time()
	err = s.with(b, ".cpu", func() { wait = b.take(0) })
	return wait, err
}

func (s *shared) spendTime(spent time.Duration) error {
	b := s.time()
	return s.with(b, ".cpu", func() { b.spend(spent.Seconds()) })
}

func (s *shared) time() *bucket {
	return newBucket(s.settings.Door.CPU.Seconds(), s.settings.Door.CPUPerMinute.Seconds())
}

// turn waits until the name has a token, a free slot and no debt of processor time, and
// returns the slot. It ends with ctx, or when gone says that the client has left. A name's
// connections beyond maxOpen are refused instead of waiting.
func (s *shared) turn(ctx context.Context, gone func() bool) (*os.File, error) {
	waiting, err := s.hold("wait", maxOpen)
	if errors.Is(err, errBusy) {
		return nil, diag.Hint(fmt.Errorf("%d connections of this name wait already", maxOpen), "try again later")
	}
	if err != nil {
		return nil, err
	}
	defer waiting.Close()
	ctx, there := whileThere(ctx, gone, askAgain)
	defer there()
	slot, err := s.wait(ctx)
	if err != nil && ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return slot, err
}

// wait takes a slot, waits until the debt is paid, and takes a token.
func (s *shared) wait(ctx context.Context) (slot *os.File, err error) {
	for {
		slot, err = s.hold("slot", atOnce)
		if err == nil {
			break
		}
		if !errors.Is(err, errBusy) {
			return nil, err
		}
		if err := sleep(ctx, askAgain); err != nil { // poll: nothing tells that a lock is free
			return nil, err
		}
	}
	for _, take := range []func() (time.Duration, error){s.takeTime, s.takeConnection} {
		if err := until(ctx, take); err != nil {
			slot.Close()
			return nil, err
		}
	}
	return slot, nil
}

// until retries a take after each delay that it returns.
func until(ctx context.Context, take func() (time.Duration, error)) error {
	for {
		wait, err := take()
		if err != nil || wait <= 0 {
			return err
		}
		if err := sleep(ctx, wait); err != nil {
			return err
		}
	}
}
