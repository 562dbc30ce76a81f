package verifier

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"git-ward/internal/scratch"
	"git-ward/sandbox/podman"
)

// spares are containers made before there is a job for them, because making one takes longer than many
// a command. A spare is used once, for a job that adds nothing to the environment. The judged repository
// is put into its own directory, which is empty until then. At most one spare is made for each run under
// way, besides those that Fill asked for.
type spares struct {
	make   func(ctx context.Context) (*prepared, error)
	dir    string        // in which those directories are
	wait   time.Duration // how long one may wait for its job
	ctx    context.Context
	cancel context.CancelFunc

	mu      sync.Mutex
	running int
	all     []*spare
	ending  sync.WaitGroup
	errs    []error
}

// spare is one of them. It is ready once done is closed.
type spare struct {
	done chan struct{}
	p    *prepared
	err  error
}

// Ahead makes containers ahead, with their directories in dir, until Close. Each may wait so long for its
// job. It works with the default runtime only: a virtual machine may not see at once what the host puts
// into a mounted directory.
func (v *Containers) Ahead(ctx context.Context, dir string, wait time.Duration) {
	if v.Engine.Runtime() != podman.DefaultRuntime {
		return
	}
	v.spares = &spares{dir: dir, wait: wait, make: func(ctx context.Context) (*prepared, error) { return v.prepare(ctx, nil) }}
	v.spares.ctx, v.spares.cancel = context.WithCancel(ctx)
}

// Fill begins to make spares until n are waiting or being made.
func (v *Containers) Fill(n int) { v.spares.fill(n) }

func (s *spares) fill(n int) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = slices.DeleteFunc(s.all, func(made *spare) bool {
		select {
		case <-made.done:
		default:
			return false
		}
		if made.err == nil && !made.p.stale(s.wait) {
			return false
		}
		if made.err == nil {
			s.discard(s.ctx, made.p)
		}
		return true
	})
	for len(s.all) < n && s.ctx.Err() == nil {
		s.begin()
	}
}

// In returns a copy with another image, which makes nothing ahead.
func (v *Containers) In(image string) *Containers {
	other := *v
	other.Container.Image, other.spares = image, nil
	return &other
}

// Close removes the containers that were made ahead, and waits until all removals have ended.
func (v *Containers) Close() error { return v.spares.close() }

func (s *spares) close() error {
	if s == nil {
		return nil
	}
	s.cancel() // of what is being made
	s.mu.Lock()
	all := s.all
	s.all = nil
	s.mu.Unlock()
	for _, made := range all {
		if <-made.done; made.err == nil {
			s.discard(context.WithoutCancel(s.ctx), made.p)
		}
	}
	s.ending.Wait()
	return errors.Join(s.errs...)
}

// enter counts a run until leave is called.
func (s *spares) enter() (leave func()) {
	if s == nil {
		return func() {}
	}
	count := func(n int) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.running += n
	}
	count(1)
	return func() { count(-1) }
}

// take returns a spare for a job, or nil, and begins another if a further job is to come. If a spare could
// not be made, its error is dropped: making the job's own container will return it.
func (s *spares) take(ctx context.Context, job *Job) (*prepared, error) {
	if s == nil || len(job.Env) > 0 || job.Repo == "" {
		return nil, nil
	}
	s.mu.Lock()
	var mine *spare
	if len(s.all) > 0 {
		mine, s.all = s.all[0], s.all[1:]
	}
	if job.Next && len(s.all) < s.running {
		s.begin()
	}
	s.mu.Unlock()
	if mine == nil {
		return nil, nil
	}
	select {
	case <-mine.done:
	case <-ctx.Done():
		s.mu.Lock()
		s.all = append(s.all, mine) // Close takes it
		s.mu.Unlock()
		return nil, context.Cause(ctx)
	}
	if mine.err != nil {
		return nil, nil
	}
	if mine.p.stale(s.wait) {
		s.discard(ctx, mine.p)
		return nil, nil
	}
	return mine.p, nil
}

// stale reports whether a container no longer waits, or has waited so long that its command would not
// get its full time.
func (p *prepared) stale(after time.Duration) bool {
	select {
	case <-p.rules.Broken():
		return true
	default:
	}
	return time.Since(p.born) > after || !p.alive()
}

// begin begins to make a spare. The caller holds mu.
func (s *spares) begin() {
	made := &spare{done: make(chan struct{})}
	s.all = append(s.all, made)
	go func() {
		defer close(made.done)
		made.p, made.err = s.make(s.ctx)
	}()
}

// discard removes a container that ran, or will not run. Where containers are made ahead, it does so
// concurrently with what comes next.
func (s *spares) discard(ctx context.Context, p *prepared) error {
	if s == nil {
		return p.close(ctx)
	}
	s.ending.Go(func() {
		err := p.close(context.WithoutCancel(ctx))
		s.mu.Lock()
		defer s.mu.Unlock()
		s.errs = append(s.errs, err)
	})
	return nil
}

// emptyRepo makes a directory for a later repository that a container may enter.
func emptyRepo(dir string) (*scratch.Dir, error) {
	made, err := scratch.Make(dir, "spare-")
	if err != nil {
		return nil, err
	}
	return made, os.Chmod(made.Path, 0o755)
}

// fillRepo puts a judged repository into a directory, by links: nobody writes to its files.
func fillRepo(dir, repo string) error {
	return filepath.WalkDir(repo, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(repo, path)
		to := filepath.Join(dir, name)
		switch {
		case err != nil || strings.HasPrefix(name, "."): // itself, and whose scratch directory it is
			return err
		case d.IsDir():
			return os.Mkdir(to, 0o755)
		case os.Link(path, to) == nil:
			return nil
		}
		return copyFile(path, to)
	})
}

// copyFile copies a file onto another disk.
func copyFile(from, to string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	_, err = io.Copy(out, in)
	return err
}
