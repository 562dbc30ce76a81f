// Package object builds and reads repositories with go-git: in memory for tests, on
// disk for offline reading. It is a second reader of what internal/git reads, so
// that tests can hold one against the other.
//
// No hook links it: go-git reads whole pack indexes at start and does not know the
// quarantine in which git keeps a push while the hooks judge it.
package object

import (
	"fmt"
	"sort"
	"strings"
	"time"

	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/storer"
	"github.com/go-git/go-git/v5/storage/filesystem"
	"github.com/go-git/go-git/v5/storage/memory"
)

// Store is a repository's objects and refs.
type Store struct {
	storage storage
}

type storage interface {
	storer.EncodedObjectStorer
	storer.ReferenceStorer
}

// Open opens a git directory.
func Open(gitDir string) *Store {
	return &Store{filesystem.NewStorage(osfs.New(gitDir), cache.NewObjectLRUDefault())}
}

// Memory makes an empty repository in memory.
func Memory() *Store { return &Store{memory.NewStorage()} }

// SetRef points a ref, by its full name, to an object.
func (s *Store) SetRef(ref, id string) error {
	return s.storage.SetReference(plumbing.NewHashReference(plumbing.ReferenceName(ref), plumbing.NewHash(id)))
}

// Commit is a new commit without its tree. Who is both author and committer; parents are
// object ids.
type Commit struct {
	Who     object.Signature
	Parents []string
	Message string
}

// Signature is a name for commits at a time, in UTC.
func Signature(name, email string, when time.Time) object.Signature {
	return object.Signature{Name: name, Email: email, When: when.UTC()}
}

// WriteCommit stores a commit of files (paths with forward slashes to contents,
// all of mode 100644) on top of a base tree ("" for none), whose own entries
// stay where files has none of that name. It returns the commit's object id.
func (s *Store) WriteCommit(base string, files map[string][]byte, c Commit) (string, error) {
	tree, err := s.tree(base, files)
	if err != nil {
		return "", err
	}
	commit := &object.Commit{Author: c.Who, Committer: c.Who, Message: c.Message, TreeHash: tree}
	for _, p := range c.Parents {
		commit.ParentHashes = append(commit.ParentHashes, plumbing.NewHash(p))
	}
	id, err := s.write(commit)
	return id.String(), err
}

// encoder is what go-git's object types have in common.
type encoder interface {
	Encode(plumbing.EncodedObject) error
}

func (s *Store) write(o encoder) (plumbing.Hash, error) {
	encoded := s.storage.NewEncodedObject()
	if err := o.Encode(encoded); err != nil {
		return plumbing.ZeroHash, err
	}
	return s.storage.SetEncodedObject(encoded)
}

func (s *Store) blob(content []byte) (plumbing.Hash, error) {
	encoded := s.storage.NewEncodedObject()
	encoded.SetType(plumbing.BlobObject)
	w, err := encoded.Writer()
	if err != nil {
		return plumbing.ZeroHash, err
	}
	if _, err := w.Write(content); err != nil {
		return plumbing.ZeroHash, err
	}
	if err := w.Close(); err != nil {
		return plumbing.ZeroHash, err
	}
	return s.storage.SetEncodedObject(encoded)
}

// tree writes a tree of files over a base tree, and the trees below it.
func (s *Store) tree(base string, files map[string][]byte) (plumbing.Hash, error) {
	entries := map[string]object.TreeEntry{}
	if base != "" {
		old, err := object.GetTree(s.storage, plumbing.NewHash(base))
		if err != nil {
			return plumbing.ZeroHash, fmt.Errorf("tree %s: %w", base, err)
		}
		for _, e := range old.Entries {
			entries[e.Name] = e
		}
	}
	below := map[string]map[string][]byte{}
	for name, content := range files {
		if dir, rest, nested := strings.Cut(name, "/"); nested {
			if below[dir] == nil {
				below[dir] = map[string][]byte{}
			}
			below[dir][rest] = content
			continue
		}
		id, err := s.blob(content)
		if err != nil {
			return plumbing.ZeroHash, err
		}
		entries[name] = object.TreeEntry{Name: name, Mode: filemode.Regular, Hash: id}
	}
	for dir, files := range below {
		old := ""
		if e, ok := entries[dir]; ok && e.Mode == filemode.Dir {
			old = e.Hash.String()
		}
		id, err := s.tree(old, files)
		if err != nil {
			return plumbing.ZeroHash, err
		}
		entries[dir] = object.TreeEntry{Name: dir, Mode: filemode.Dir, Hash: id}
	}
	tree := &object.Tree{}
	for _, e := range entries {
		tree.Entries = append(tree.Entries, e)
	}
	sort.Sort(object.TreeEntrySorter(tree.Entries))
	return s.write(tree)
}

// Tree returns the names and ids of a commit's top-level entries.
func (s *Store) Tree(commit string) (id string, names map[string]string, err error) {
	c, err := object.GetCommit(s.storage, plumbing.NewHash(commit))
	if err != nil {
		return "", nil, fmt.Errorf("commit %s: %w", commit, err)
	}
	tree, err := c.Tree()
	if err != nil {
		return "", nil, err
	}
	names = map[string]string{}
	for _, e := range tree.Entries {
		names[e.Name] = e.Hash.String()
	}
	return tree.Hash.String(), names, nil
}
