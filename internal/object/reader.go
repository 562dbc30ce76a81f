package object

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"

	"git-ward/internal/diag"
)

// Refs lists the refs below a prefix that ends in a slash: object ids by full name.
func (s *Store) Refs(prefix string) (map[string]string, error) {
	all, err := s.storage.IterReferences()
	if err != nil {
		return nil, err
	}
	refs := map[string]string{}
	err = all.ForEach(func(ref *plumbing.Reference) error {
		if name := ref.Name().String(); strings.HasPrefix(name, prefix) {
			refs[name] = ref.Hash().String()
		}
		return nil
	})
	return refs, err
}

// Tip is the object id that a full ref name points to, "" when there is none.
func (s *Store) Tip(ref string) (string, error) {
	r, err := s.storage.Reference(plumbing.ReferenceName(ref))
	if errors.Is(err, plumbing.ErrReferenceNotFound) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return r.Hash().String(), nil
}

// Parent is the id of a commit's first parent, "" for a root.
func (s *Store) Parent(commit string) (string, error) {
	c, err := object.GetCommit(s.storage, plumbing.NewHash(commit))
	if err != nil || len(c.ParentHashes) == 0 {
		return "", err
	}
	return c.ParentHashes[0].String(), nil
}

// File is the content of a file of a revision's tree (an object id or a full ref
// name), nil when there is none. One of more than limit bytes is *TooLarge.
func (s *Store) File(rev, path string, limit int64) ([]byte, error) {
	root, err := s.root(rev)
	if root == nil || err != nil {
		return nil, err
	}
	e, err := root.FindEntry(path)
	if errors.Is(err, object.ErrEntryNotFound) || errors.Is(err, object.ErrDirectoryNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return s.read(e.Hash, limit)
}

// Note is an object's note from a notes ref, nil when it has none. More than limit bytes is
// *TooLarge.
func (s *Store) Note(ref, id string, limit int64) ([]byte, error) {
	root, err := s.root(ref)
	if root == nil || err != nil {
		return nil, err
	}
	var note []byte
	err = root.Files().ForEach(func(f *object.File) error {
		if strings.ReplaceAll(f.Name, "/", "") != id {
			return nil
		}
		note, err = s.read(f.Hash, limit)
		return err
	})
	return note, err
}

// Noted lists the objects that have a note in a notes ref.
func (s *Store) Noted(ref string) ([]string, error) {
	root, err := s.root(ref)
	if root == nil || err != nil {
		return nil, err
	}
	var ids []string
	err = root.Files().ForEach(func(f *object.File) error {
		ids = append(ids, strings.ReplaceAll(f.Name, "/", ""))
		return nil
	})
	return ids, err
}

// root is the tree of a revision, nil when there is no such ref.
func (s *Store) root(rev string) (*object.Tree, error) {
	if strings.HasPrefix(rev, "refs/") {
		tip, err := s.Tip(rev)
		if tip == "" || err != nil {
			return nil, err
		}
		rev = tip
	}
	c, err := object.GetCommit(s.storage, plumbing.NewHash(rev))
	if err != nil {
		return nil, fmt.Errorf("commit %s: %w", rev, err)
	}
	return c.Tree()
}

// TooLarge is the error for a file above the caller's limit.
type TooLarge struct{ Size, Limit int64 } // bytes

func (e *TooLarge) Error() string {
	return fmt.Sprintf("it has %d bytes, more than the limit of %d", e.Size, e.Limit)
}

// Is reports that it is a diag.ErrTooLarge.
func (e *TooLarge) Is(target error) bool { return target == diag.ErrTooLarge }

func (s *Store) read(id plumbing.Hash, limit int64) ([]byte, error) {
	blob, err := object.GetBlob(s.storage, id)
	if err != nil {
		return nil, err
	}
	if blob.Size > limit {
		return nil, &TooLarge{blob.Size, limit}
	}
	r, err := blob.Reader()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(r)
}
