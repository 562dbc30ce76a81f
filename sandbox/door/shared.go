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

// shared is the turn of one name among all its connections, each a process of its
// own: a token bucket, and locks for running and waiting ones, in files below the
// repository. A process that is killed gives back its locks with its last breath.
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

// errBusy is hold's answer when every lock is taken.
var errBusy = errors.New("all are taken")

// hold takes one of n locks. It is the lock's until the file, and what inherited
// it, is closed.
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

// with changes one of the name's buckets, which is kept in a file. What cannot be read
// there is an empty bucket.
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
	// One write of fixed size: whole or not there, also when we are killed.
	_, err = f.WriteAt(fmt.Appendf(nil, "%+030.6f %030d\n", b.tokens, b.at.UnixNano()), 0)
	return err
}

// takeConnection takes a token for a connection, or returns how long it is until there
// is one; takeTime is 0 when the name owes no processor time, and spendTime owes some.
func (s *shared) takeConnection() (wait time.Duration, err error) {
	b := newBucket(float64(s.settings.Door.Burst), float64(s.settings.Door.PerMinute))
	err = s.with(b, ".bucket", func() { wait = b.take(1) })
	return wait, err
}

// spendTokens takes tokens for what a connection has sent, whether they are there or not.
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

// turn waits until the name has a token, one of its slots, and owes no processor time,
// and returns the slot. Waiting ends with ctx or when gone says that nobody waits any
// more. More than maxOpen connections of one name do not wait, but are sent away.
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

// wait takes a slot, then waits until nothing is owed, then takes a token.
func (s *shared) wait(ctx context.Context) (slot *os.File, err error) {
	for {
		slot, err = s.hold("slot", atOnce)
		if err == nil {
			break
		}
		if !errors.Is(err, errBusy) {
			return nil, err
		}
		if err := sleep(ctx, askAgain); err != nil { // a lock tells nobody that it is free
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

// until tries to take, and waits as long as it is told to in between.
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
