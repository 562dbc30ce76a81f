package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/state"
)

// mainRef is the remote's main as the clones see it.
const mainRef = "refs/remotes/origin/main"

// Snapshot is one commit of the remote's main.
type Snapshot struct {
	Commit string
	clone  *clone
	// files are what was read of a snapshot that Look keeps, nil for what is not
	// there: a commit does not change.
	files map[string][]byte
}

// Look is Main for those who ask again and again: while main's ref looks on disk as
// it did, it is the snapshot of the last time, and costs no child.
func (s *Store) Look(ctx context.Context) (Snapshot, error) {
	mark := s.Mark()
	if s.seen.files != nil && s.mark == mark {
		return s.seen, nil
	}
	m, err := s.Main(ctx)
	if err == nil {
		m.files = map[string][]byte{}
		s.seen, s.mark = m, mark
	}
	return m, err
}

// Main fetches, lets the clone of main follow unless a watcher sees to that, and
// returns what main is now.
func (s *Store) Main(ctx context.Context) (Snapshot, error) {
	c := s.main
	if err := c.fetch(ctx); err != nil {
		return Snapshot{}, err
	}
	tip, err := c.resolve(ctx, mainRef)
	if err != nil {
		return Snapshot{}, err
	}
	if tip == "" {
		return Snapshot{}, diag.Hint(fmt.Errorf("%s has no branch main", s.Bare), "`git ward init --bare %s` makes its first commit", s.Bare)
	}
	if s.Running != "" {
		return Snapshot{Commit: tip, clone: c}, nil
	}
	head, err := c.resolve(ctx, "HEAD")
	if err != nil {
		return Snapshot{}, err
	}
	if head != tip {
		if _, err := c.git(ctx, "checkout", "--quiet", "--force", "-B", "main", tip, "--"); err != nil {
			return Snapshot{}, err
		}
	}
	return Snapshot{Commit: tip, clone: c}, nil
}

// File reads a file of the commit, not of a working tree: attributes and filters
// cannot change what it says. A missing one is fs.ErrNotExist.
func (m Snapshot) File(ctx context.Context, path string, limit int64) ([]byte, error) {
	data, err := m.content(ctx, path, limit)
	if data == nil && err == nil {
		err = missing(path)
	}
	return data, err
}

func missing(path string) error { return fmt.Errorf("main has no %s: %w", path, fs.ErrNotExist) }

// Files reads the snapshot's files as protocols/state wants them; the revision is
// the snapshot's own.
func (m Snapshot) Files(ctx context.Context) state.Files { return files{ctx, m} }

type files struct {
	ctx      context.Context
	snapshot Snapshot
}

func (f files) File(_, path string, limit int64) ([]byte, error) {
	return f.snapshot.content(f.ctx, path, limit)
}

// content is File, but nil for what is missing; each file is read once.
func (m Snapshot) content(ctx context.Context, path string, limit int64) ([]byte, error) {
	data, known := m.files[path]
	if known && int64(len(data)) <= limit {
		return data, nil
	}
	data, err := m.read(ctx, path, limit)
	if err == nil && m.files != nil {
		m.files[path] = data
	}
	return data, err
}

// read is a file's content, nil when there is none.
func (m Snapshot) read(ctx context.Context, path string, limit int64) ([]byte, error) {
	batch := git.Open(m.clone.gitDir()).Batch(ctx)
	defer batch.Close()
	object, data, err := batch.Read(m.Commit+":"+path, limit)
	switch {
	case errors.Is(err, git.ErrMissing):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("%s of main: %w", path, err)
	case object.Kind != "blob":
		return nil, fmt.Errorf("%s of main is not a file", path)
	}
	return data, nil
}
