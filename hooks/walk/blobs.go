package walk

import (
	"context"

	"git-ward/internal/git"
)

// Object says what an object id or a full ref name stands for; a missing one is
// git.ErrMissing.
func (w *Walker) Object(name string) (git.Object, error) { return w.batch.Info(name) }

// Leads is the ref that a symbolic one names, "" for any other name.
func (w *Walker) Leads(ref string) (string, error) { return w.repo.Leads(ref) }

// OwnRef says how a symbolic ref becomes none.
func (w *Walker) OwnRef(ctx context.Context, git, ref string) string {
	return w.repo.OwnRef(ctx, git, ref)
}

// NewBlob reads a blob that the push brings, at most [limits] blob_size bytes of it,
// and counts them. A larger one is a *git.TooLarge.
func (w *Walker) NewBlob(id string) ([]byte, error) {
	object, data, err := w.batch.Read(id, w.limits.BlobSize)
	if err != nil {
		return nil, err
	}
	if object.Kind != "blob" {
		return nil, wrongKind(object.ID, object.Kind, "blob")
	}
	return data, w.count(int64(len(data)))
}

// Blob reads a blob of at most limit bytes and does not count it: a document that is
// read again, or what stood there before. A larger one is a *git.TooLarge.
func (w *Walker) Blob(id string, limit int64) ([]byte, error) {
	_, data, err := w.batch.Read(id, limit)
	return data, err
}

// Regular reads an entry that is a regular file, and counts it; nil for anything
// else. One of more than limit bytes is a *git.TooLarge.
func (w *Walker) Regular(e git.Entry, limit int64) ([]byte, error) {
	if !e.IsRegular() {
		return nil, nil
	}
	data, err := w.Blob(e.ID, limit)
	if err != nil {
		return nil, err
	}
	return data, w.count(int64(len(data)))
}

// Before is the content that a change replaces, nil where there was none of at most
// [limits] blob_size bytes.
func (w *Walker) Before(c Change) []byte {
	if c.Old.ID == "" || c.Old.Mode == git.ModeGitlink {
		return nil
	}
	data, err := w.Blob(c.Old.ID, w.limits.BlobSize)
	if err != nil {
		return nil
	}
	return data
}
