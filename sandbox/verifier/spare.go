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

// spares are containers that were made before there was a job for them: to make one takes longer
// than many a command. A spare is used once, for a job that adds nothing to the environment; it
// finds what is judged in a directory of its own, empty until then. While runs are under way, one
// at most is made for each of them, beside those that Fill asked for.
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

// spare is one that is made, or will be once done is closed.
type spare struct {
	done chan struct{}
	p    *prepared
	err  error
}

// Ahead has containers made ahead, with directories of theirs in dir, until Close: each may wait so
// long for its job. Only the default runtime's see at once what the host puts into a directory that
// they have: a virtual machine keeps what it saw of it before.
func (v *Containers) Ahead(ctx context.Context, dir string, wait time.Duration) {
	if v.Engine.Runtime() != podman.DefaultRuntime {
		return
	}
	v.spares = &spares{dir: dir, wait: wait, make: func(ctx context.Context) (*prepared, error) { return v.prepare(ctx, nil) }}
	v.spares.ctx, v.spares.cancel = context.WithCancel(ctx)
}

// Fill begins to make what so many lack that wait, or are being made.
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

// In is the same in another image, and makes nothing ahead.
func (v *Containers) In(image string) *Containers {
	other := *v
	other.Container.Image, other.spares = image, nil
	return &other
}

// Close removes what was made ahead, and waits for all that is removed.
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

// enter counts a run, until it is over.
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

// take is a spare for a job, or nil; and one more is made where another job is to come. What is said
// of one that could not be made is said again by who makes one for the job.
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

// stale reports whether a container no longer waits, or has waited so long that its command would
// not have all of its time.
func (p *prepared) stale(after time.Duration) bool {
	select {
	case <-p.rules.Broken():
		return true
	default:
	}
	return time.Since(p.born) > after || !p.alive()
}

// begin begins to make one. mu is held.
func (s *spares) begin() {
	made := &spare{done: make(chan struct{})}
	s.all = append(s.all, made)
	go func() {
		defer close(made.done)
		made.p, made.err = s.make(s.ctx)
	}()
}

// discard removes a container that ran, or will not run: beside what comes next, where containers
// are made ahead.
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

// emptyRepo is a directory for a repository that comes later, which a container may enter.
func emptyRepo(dir string) (*scratch.Dir, error) {
	made, err := scratch.Make(dir, "spare-")
	if err != nil {
		return nil, err
	}
	return made, os.Chmod(made.Path, 0o755)
}

// fillRepo puts a judged repository into a directory: its files are never written to.
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
