package local

import (
	"context"
	"errors"
	"sync"
	"time"

	"git-ward/sandbox/fence"
	"git-ward/sandbox/verifier"
	"git-ward/sandbox/verifier/cache"
)

const (
	// kept is how many containers wait for the next verdict while an agent works: most criteria run
	// twice.
	kept = 2
	// waits is how long one of them may: an agent may be at its work for a day.
	waits = 24 * time.Hour
)

// stock has a launch's containers for its next verdicts, because making one takes longer than many a
// command.
type stock struct {
	mu      sync.Mutex
	workers int
	now     *ready         // nil: nothing is
	ending  sync.WaitGroup // what is closed beside the rest
}

// ready has containers for verdicts, some of them made ahead.
type ready struct {
	key    string
	conn   *fence.Connection
	entry  *cache.Entry // of the cache, in all of them; nil: none
	fence  *fence.Fence
	runner *verifier.Containers
	ends   func()
	users  int  // verdicts
	over   bool // closed when nobody uses it
}

// Ahead keeps containers ready for the next verdict while somebody works, until enough is called.
func (v *Verifier) Ahead(ctx context.Context) (enough func()) {
	if v.Shared == nil {
		return func() {}
	}
	s := &v.stock
	s.mu.Lock()
	s.workers++
	s.mu.Unlock()
	s.ending.Go(func() {
		if err := v.fillStock(ctx); err != nil && ctx.Err() == nil {
			v.Log.Warn().Err(err).Msg("nothing is made ahead for the next verdict")
		}
	})
	return sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.workers--; s.workers == 0 {
			v.retire()
		}
	})
}

// fillStock makes what the next verdict will need.
func (v *Verifier) fillStock(ctx context.Context) error {
	if err := v.room(); err != nil {
		return err
	}
	conn, release, err := v.Shared.Use()
	if err != nil {
		return err
	}
	defer release()
	entry, _, err := v.warm(ctx, conn, &verifier.Claim{Bounds: Bounds(v.Settings)})
	if err != nil && entry == nil {
		return err // the verdict says it
	}
	r, err := v.ready(ctx, conn, entry)
	if err != nil {
		return err
	}
	return v.used(r, nil)
}

// ready returns the launch's stock if it has the present key, else a new one, which the launch keeps
// while somebody works. It takes over the entry. The caller calls used at the verdict's end.
func (v *Verifier) ready(ctx context.Context, conn *fence.Connection, entry *cache.Entry) (*ready, error) {
	image, err := conn.Engine.ImageID(ctx, conn.Image)
	if err != nil {
		return nil, errors.Join(err, entry.Close())
	}
	s := &v.stock
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.now; r != nil {
		if r.conn == conn && r.key == v.keyOf(conn, r.fence, entry, image) {
			r.users++
			return r, entry.Close()
		}
		v.retire()
	}
	r := &ready{conn: conn, entry: entry, users: 1, over: s.workers == 0, ends: func() {}}
	if r.fence, err = conn.New(v.Podman.Scratch, v.policy(), v.Log); err != nil {
		return nil, errors.Join(err, entry.Close())
	}
	r.runner, r.key = v.containers(r.fence, entry), v.keyOf(conn, r.fence, entry, image)
	if r.over {
		r.runner.Ahead(context.WithoutCancel(ctx), conn.Engine.TempDir(), v.Settings.Verify.Timeout.Duration)
		r.runner.Fill(1) // while the rest of it is prepared
		return r, nil
	}
	if _, r.ends, err = v.Shared.Use(); err != nil {
		r.ends = func() {}
		return nil, errors.Join(err, r.close())
	}
	r.runner.Ahead(context.WithoutCancel(ctx), conn.Engine.TempDir(), waits)
	s.now = r
	return r, nil
}

// keyOf returns a key of everything that a container is made from: its spec, and what the names in it
// refer to.
func (v *Verifier) keyOf(conn *fence.Connection, f *fence.Fence, entry *cache.Entry, image string) string {
	runner := v.containers(f, entry)
	return fence.Key(&runner.Container, image, fence.Toolchain(conn.GoRoot), runner.Setup)
}

// used ends a verdict's use of r, and closes r if no other verdict will use it. Another verdict comes soon
// if this one sends its agent back to work, or others work.
func (v *Verifier) used(r *ready, facts *verifier.Facts) error {
	s := &v.stock
	s.mu.Lock()
	if s.now == r && (s.workers > 1 || facts == nil || !facts.OK()) {
		r.runner.Fill(kept)
	}
	r.users--
	over := r.over && r.users == 0
	s.mu.Unlock()
	if over {
		return r.close()
	}
	return nil
}

// retire closes the stock when nobody uses it any more. The caller holds the stock's mu.
func (v *Verifier) retire() {
	s := &v.stock
	r := s.now
	if s.now = nil; r == nil {
		return
	}
	if r.over = true; r.users > 0 {
		return
	}
	s.ending.Go(func() {
		if err := r.close(); err != nil {
			v.Log.Error().Err(err).Msg("what was made ahead for verdicts did not end cleanly")
		}
	})
}

// close removes its containers, also those that ran.
func (r *ready) close() error {
	var err error
	if r.runner != nil {
		err = r.runner.Close()
	}
	err = errors.Join(err, r.fence.Close(), r.entry.Close())
	r.ends()
	return err
}

// Close removes the stock, and waits for that. Nobody may be at work.
func (v *Verifier) Close() {
	v.stock.mu.Lock()
	v.retire()
	v.stock.mu.Unlock()
	v.stock.ending.Wait()
}
