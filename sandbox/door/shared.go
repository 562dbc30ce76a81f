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

	"git-ward/internal/diag"

	"golang.org/x/sys/unix"
)

// shared is the turn of one name among all its connections, each a process of its
// own: a token bucket, and locks for running and waiting ones, in files below the
// repository. A process that is killed gives back its locks with its last breath.
type shared struct {
	dir  string // ward/door
	name string // of the files: verb, principal and name
}

func newShared(bare, verb, principal, name string) (*shared, error) {
	s := &shared{dir: filepath.Join(bare, "ward", "door"), name: verb + "-" + principal + "-" + name}
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

// book takes a token and returns how long to wait for it. What cannot be read in
// the bucket's file is an empty bucket.
func (s *shared) book(burst, perMinute int) (time.Duration, error) {
	f, err := s.open(".bucket")
	if err != nil {
		return 0, err
	}
	defer f.Close()
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		return 0, err
	}
	b := newBucket(burst, perMinute)
	text := make([]byte, 64)
	if n, _ := f.ReadAt(text, 0); n > 0 {
		var tokens float64
		var at int64
		if _, err := fmt.Sscanf(string(text[:n]), "%g %d\n", &tokens, &at); err != nil || tokens != tokens {
			tokens, at = 0, time.Now().UnixNano()
		}
		b.tokens, b.at = tokens, time.Unix(0, at)
	}
	wait := b.book()
	// One write of fixed size: whole or not there, also when we are killed.
	_, err = f.WriteAt(fmt.Appendf(nil, "%+030.6f %030d\n", b.tokens, b.at.UnixNano()), 0)
	return wait, err
}

// turn waits until the name has a token and one of its slots, and returns the
// slot. Waiting ends with ctx or when gone says that nobody waits any more. More
// than maxOpen connections of one name do not wait, but are sent away.
func (s *shared) turn(ctx context.Context, burst, perMinute int, gone func() bool) (*os.File, error) {
	waiting, err := s.hold("wait", maxOpen)
	if errors.Is(err, errBusy) {
		return nil, diag.Hint(fmt.Errorf("%d connections of this name wait already", maxOpen), "try again later")
	}
	if err != nil {
		return nil, err
	}
	defer waiting.Close()
	wait, err := s.book(burst, perMinute)
	if err != nil {
		return nil, err
	}
	due := time.Now().Add(wait)
	for {
		if time.Now().After(due) {
			slot, err := s.hold("slot", atOnce)
			if !errors.Is(err, errBusy) {
				return slot, err
			}
		}
		if gone() {
			return nil, errors.New("the client is gone")
		}
		if err := sleep(ctx, min(100*time.Millisecond, max(time.Millisecond, time.Until(due)))); err != nil {
			return nil, err
		}
	}
}
