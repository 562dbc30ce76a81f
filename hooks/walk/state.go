package walk

import (
	"errors"
	"strings"

	"git-ward/internal/git"
	"git-ward/protocols/state"
)

// What refs say is read by package state, in the quarantine as everything else is.
var _ state.Reader = (*Walker)(nil)

// Tip is the object id that a full ref name points to, "" when there is no such ref.
func (w *Walker) Tip(ref string) (string, error) {
	object, err := w.batch.Info(ref)
	if errors.Is(err, git.ErrMissing) {
		return "", nil
	}
	return object.ID, err
}

// Refs lists the refs below a prefix that ends in a slash: object ids by full name.
func (w *Walker) Refs(prefix string) (map[string]string, error) {
	tips, err := w.repo.Refs(w.ctx, prefix)
	refs := make(map[string]string, len(tips))
	for _, tip := range tips {
		refs[tip.Name] = tip.ID
	}
	return refs, err
}

// Parent is the id of a commit's first parent, "" for a root.
func (w *Walker) Parent(commit string) (string, error) {
	c, err := w.Commit(commit)
	if err != nil || len(c.Parents) == 0 {
		return "", err
	}
	return c.Parents[0], nil
}

// File is the content of a regular file of a revision's tree, nil when there is none.
// It is not counted; one of more than limit bytes is a *git.TooLarge.
func (w *Walker) File(rev, path string, limit int64) ([]byte, error) {
	if strings.HasPrefix(rev, "refs/") {
		var err error
		if rev, err = w.Tip(rev); err != nil || rev == "" {
			return nil, err
		}
	}
	c, err := w.Commit(rev)
	if err != nil {
		return nil, err
	}
	e, ok, err := w.Lookup(c.Tree, path)
	if err != nil || !ok || !e.IsRegular() {
		return nil, err
	}
	return w.Blob(e.ID, limit)
}

// Note is an object's note of a notes ref, nil when it has none. One of more than
// limit bytes is a *git.TooLarge.
func (w *Walker) Note(ref, object string, limit int64) ([]byte, error) {
	tip, err := w.Tip(ref)
	if err != nil || tip == "" {
		return nil, err
	}
	c, err := w.Commit(tip)
	if err != nil {
		return nil, err
	}
	root, err := w.Tree(c.Tree)
	if err != nil {
		return nil, err
	}
	blob, err := git.FindNote(root, object, w.Tree)
	if blob == "" || err != nil {
		return nil, err
	}
	return w.Blob(blob, limit)
}
