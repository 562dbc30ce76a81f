package relay

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sys/unix"

	"git-ward/internal/git"
	"git-ward/internal/glob"
)

const (
	// fetchTime ends a hanging fetch; a new one asks for what is missing.
	fetchTime = 10 * time.Minute
	// settle is how long ref moves are collected before a fetch.
	settle = 200 * time.Millisecond
)

// mirror is a read-only copy of the gate's repository.
type mirror struct {
	repo  *git.Repo
	claim *os.File // held while this near uses the directory
	gate  *gate
	log   zerolog.Logger
	moved chan struct{} // something differs from the gate

	mu      sync.Mutex
	next    *round // the fetch after the current one
	running bool
}

// round is one fetch for everybody who asked before it began.
type round struct {
	done chan struct{}
	err  error
}

// fetch updates the mirror to the gate's state at the time of the call. Callers during a fetch
// share the next one.
func (m *mirror) fetch(ctx context.Context) error {
	m.mu.Lock()
	if m.next == nil {
		m.next = &round{done: make(chan struct{})}
	}
	mine := m.next
	if !m.running {
		m.running = true
		go m.run(context.WithoutCancel(ctx))
	}
	m.mu.Unlock()
	select {
	case <-mine.done:
		return mine.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (m *mirror) run(ctx context.Context) {
	for {
		m.mu.Lock()
		r := m.next
		m.next = nil
		m.running = r != nil
		m.mu.Unlock()
		if r == nil {
			return
		}
		r.err = m.once(ctx)
		close(r.done)
	}
}

// once is one fetch over one session.
func (m *mirror) once(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTime)
	defer cancel()
	s, err := m.gate.open(ctx, fetchCommand)
	if err != nil {
		return err
	}
	defer s.close()
	ours, theirs, err := socketPair()
	if err != nil {
		return err
	}
	defer ours.Close()
	fetched := make(chan error, 1)
	go func() {
		defer theirs.Close()
		fetched <- m.repo.Fetch(ctx, theirs, "+refs/*:refs/*")
	}()
	var pumps sync.WaitGroup
	pumps.Go(func() {
		io.Copy(s.in, ours)
		s.in.Close()
	})
	pumps.Go(func() {
		io.Copy(ours, s.out)
		unix.Shutdown(int(ours.Fd()), unix.SHUT_WR)
	})
	err = <-fetched
	s.session.Close() // git has everything it needs, or gave up
	ours.Close()
	pumps.Wait()
	if err == nil {
		return nil
	}
	if refused, ok := errors.AsType[*Refused](s.wait()); ok {
		return refused
	}
	return err
}

// socketPair is a connected pair, for a child that takes a descriptor.
func socketPair() (ours, theirs *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	return os.NewFile(uintptr(fds[0]), "fetch"), os.NewFile(uintptr(fds[1]), "fetch"), nil
}

// tell requests a fetch because the gate has moved a ref, unless the mirror already has the value.
func (m *mirror) tell(ref, id string) {
	if data, err := os.ReadFile(filepath.Join(m.repo.Dir, filepath.FromSlash(ref))); err == nil && strings.TrimSpace(string(data)) == id {
		return
	}
	select {
	case m.moved <- struct{}{}:
	default: // already known
	}
}

// keepUp fetches what moves at the gate until ctx ends.
func (m *mirror) keepUp(ctx context.Context) {
	for tries := 0; ; {
		if tries == 0 {
			select {
			case <-m.moved:
			case <-ctx.Done():
				return
			}
		}
		if err := m.fetch(ctx); err != nil && ctx.Err() == nil {
			m.log.Warn().Err(err).Msg("the mirror is not fetched")
			if tries++; pause(ctx, tries) != nil {
				return
			}
			continue
		}
		tries = 0
		select {
		case <-time.After(settle):
		case <-ctx.Done():
			return
		}
	}
}

// dropUnfinished removes temporary object files that a near left when it was killed during a
// fetch. Nobody else writes to the mirror, and nothing maintains it.
func (m *mirror) dropUnfinished() {
	unfinished, _ := glob.Below(m.repo.Dir, "objects/*/tmp_*")
	for _, path := range unfinished {
		os.Remove(path)
	}
}
