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
	// kept is how many containers wait for the next verdict while an agent works: a criterion is
	// run twice, mostly.
	kept = 2
	// waits is how long one of them may: an agent may be at its work for a day.
	waits = 24 * time.Hour
)

// stock is what a launch has ready for its verdicts while somebody works: making a container takes
// longer than many a command.
type stock struct {
	mu      sync.Mutex
	workers int
	now     *ready         // nil: nothing is
	ending  sync.WaitGroup // what is closed beside the rest
}

// ready makes containers for verdicts, some of them ahead.
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

// Ahead has containers made for the next verdict while somebody works, until enough is called.
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

// fillStock has what the next verdict will want.
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

// ready is the launch's where that is as one would be made now, else a new one, which the launch
// keeps while somebody works. It has the entry from now on. used is to be called after it.
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

// keyOf tells containers from others: by all of their spec, and what is behind the names in it.
func (v *Verifier) keyOf(conn *fence.Connection, f *fence.Fence, entry *cache.Entry, image string) string {
	runner := v.containers(f, entry)
	return fence.Key(&runner.Container, image, toolchain(conn.GoRoot), runner.Setup)
}

// used is the end of a verdict, and of what no other one will use. Another one comes soon where
// this one asks its agent for more, or others work.
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

// retire has what is ready closed when nobody uses it any more. The stock's mu is held.
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

// close removes its containers, with those that ran.
func (r *ready) close() error {
	var err error
	if r.runner != nil {
		err = r.runner.Close()
	}
	err = errors.Join(err, r.fence.Close(), r.entry.Close())
	r.ends()
	return err
}

// Close ends what is ready, and waits for that; nobody may work any more.
func (v *Verifier) Close() {
	v.stock.mu.Lock()
	v.retire()
	v.stock.mu.Unlock()
	v.stock.ending.Wait()
}
