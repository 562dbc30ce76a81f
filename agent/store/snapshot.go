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

// controlRef and projectRef are the control branch and the project's as the clones see
// them (CTRL-1).
// ControlRef is where a clone has the control branch.
func (s *Store) ControlRef() string { return "refs/remotes/origin/" + s.Control.Branch }

func (s *Store) projectRef() string { return "refs/remotes/origin/" + s.Control.Project }

// maxListed bounds a directory that is listed, in bytes of its tree.
const maxListed = 1 << 20

// Snapshot is the state of the PM's branches at one moment: a commit of the control branch,
// from which files are read, and one of the project's branch.
type Snapshot struct {
	Commit  string
	Project string
	clone   *clone
	// files caches what was read of a Look's snapshot, nil for missing files: a commit does
	// not change.
	files map[string][]byte
}

// Look is Main for those who ask again and again: while both refs look on disk as
// they did, it is the snapshot of the last time, and costs no child.
func (s *Store) Look(ctx context.Context) (Snapshot, error) {
	if s.seen.files != nil && !s.watch.Moved() {
		return s.seen, nil
	}
	s.seen, s.watch = Snapshot{}, git.Open(s.Bare).Watch(s.Control.Ref(), s.Control.ProjectRef())
	m, err := s.Main(ctx)
	if err == nil {
		m.files = map[string][]byte{}
		s.seen = m
	}
	return m, err
}

// Main fetches, lets the clone of the project's branch follow unless a watcher sees to
// that, and returns what control and project are now.
func (s *Store) Main(ctx context.Context) (Snapshot, error) {
	c := s.main
	if err := c.fetch(ctx); err != nil {
		return Snapshot{}, err
	}
	m := Snapshot{clone: c}
	var err error
	if m.Commit, err = s.tip(ctx, s.ControlRef(), s.Control.Branch); err != nil {
		return m, err
	}
	if m.Project = m.Commit; s.Control.Split() {
		if m.Project, err = s.tip(ctx, s.projectRef(), s.Control.Project); err != nil {
			return m, err
		}
	}
	if s.Running != "" {
		return m, nil
	}
	head, err := c.resolve(ctx, "HEAD")
	if err != nil {
		return Snapshot{}, err
	}
	if head != m.Project {
		if _, err := c.git(ctx, "checkout", "--quiet", "--force", "-B", s.Control.Project, m.Project, "--"); err != nil {
			return Snapshot{}, err
		}
	}
	return m, nil
}

// tip is a required branch's commit.
func (s *Store) tip(ctx context.Context, ref, branch string) (string, error) {
	id, err := s.main.resolve(ctx, ref)
	if err == nil && id == "" {
		err = diag.Hint(fmt.Errorf("%s has no branch %s", s.Bare, branch), "`git ward init --bare %s` makes its first commit", diag.Word(s.Bare))
	}
	return id, err
}

// File reads a file of the commit, not of a working tree: attributes and filters
// cannot change what it says. A missing one is fs.ErrNotExist.
func (m Snapshot) File(ctx context.Context, path string, limit int64) ([]byte, error) {
	data, err := m.content(ctx, path, limit)
	if data == nil && err == nil {
		err = m.missing(path)
	}
	return data, err
}

func (m Snapshot) missing(path string) error {
	return fmt.Errorf("%s has no %s: %w", m.clone.store.Control.Branch, path, fs.ErrNotExist)
}

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

// content is File, but nil for a missing file; each file is read once.
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

// read is a file's content, nil if it is missing.
func (m Snapshot) read(ctx context.Context, path string, limit int64) ([]byte, error) {
	batch := m.clone.repo().Batch(ctx)
	defer batch.Close()
	object, data, err := batch.Read(m.Commit+":"+path, limit)
	switch {
	case errors.Is(err, git.ErrMissing):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("%s of %s: %w", path, m.clone.store.Control.Branch, err)
	case object.Kind != "blob":
		return nil, fmt.Errorf("%s of %s is not a file", path, m.clone.store.Control.Branch)
	}
	return data, nil
}

// List names the entries of a directory, sorted; none where it is not there.
func (m Snapshot) List(ctx context.Context, dir string) ([]string, error) {
	batch := m.clone.repo().Batch(ctx)
	defer batch.Close()
	_, data, err := batch.Read(m.Commit+":"+dir, maxListed)
	if errors.Is(err, git.ErrMissing) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s of %s: %w", dir, m.clone.store.Control.Branch, err)
	}
	entries, err := git.ParseTree(data)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name)
	}
	return names, git.Forgive(err)
}
