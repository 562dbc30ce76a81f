package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// The most that is read of one commit and of one tree, in bytes.
const (
	maxCommit = 1 << 20
	maxTree   = 64 << 20
)

// Reader answers questions about a repository's refs and files; one batch child reads all
// objects. It implements the reader of protocols/state. It is not safe for concurrent use.
type Reader struct {
	ctx   context.Context
	repo  *Repo
	batch *Batch
}

// Reader makes a reader, which the caller must close.
func (r *Repo) Reader(ctx context.Context) *Reader {
	return &Reader{ctx, r, r.Batch(ctx)}
}

// Close ends the child.
func (r *Reader) Close() error { return r.batch.Close() }

// Refs lists the refs below a prefix that ends in a slash: object ids by full name.
func (r *Reader) Refs(prefix string) (map[string]string, error) {
	tips, err := r.repo.Refs(r.ctx, prefix)
	refs := make(map[string]string, len(tips))
	for _, tip := range tips {
		refs[tip.Name] = tip.ID
	}
	return refs, err
}

// Tip is the object id that a full ref name points to, "" when there is none.
func (r *Reader) Tip(ref string) (string, error) {
	object, err := r.batch.Info(ref)
	if errors.Is(err, ErrMissing) {
		return "", nil
	}
	return object.ID, err
}

// Parent is the id of a commit's first parent, "" for a root.
func (r *Reader) Parent(commit string) (string, error) {
	parents, err := r.parents(commit)
	if err != nil || len(parents) == 0 {
		return "", err
	}
	return parents[0], nil
}

func (r *Reader) parents(commit string) ([]string, error) {
	_, data, err := r.batch.ReadNow(commit, maxCommit)
	if err != nil {
		return nil, err
	}
	return parentsIn(data), nil
}

// parentsIn are those that a commit's text names.
func parentsIn(data []byte) (parents []string) {
	header, _, _ := bytes.Cut(data, []byte("\n\n"))
	for line := range strings.Lines(string(header)) {
		if parent, ok := strings.CutPrefix(line, "parent "); ok {
			parents = append(parents, strings.TrimSpace(parent))
		}
	}
	return parents
}

// File is the content of a file in a revision's tree, nil when there is none. More than limit
// bytes is *TooLarge; a missing object is an error.
func (r *Reader) File(rev, path string, limit int64) ([]byte, error) {
	object, data, err := r.batch.Read(rev+":"+path, limit)
	if errors.Is(err, ErrMissing) {
		return nil, r.lost(rev, path)
	}
	if err == nil && object.Kind != "blob" {
		return nil, fmt.Errorf("%s of %.40s is a %s, not a file", path, rev, object.Kind)
	}
	return data, err
}

// Blob is the content of a blob by any name that git knows for it. A missing one is
// ErrMissing.
func (r *Reader) Blob(name string, limit int64) ([]byte, error) {
	object, data, err := r.batch.Read(name, limit)
	if err == nil && object.Kind != "blob" {
		return nil, fmt.Errorf("%.40s is a %s, not a file", name, object.Kind)
	}
	return data, err
}

// Prefetch reads objects ahead, by their ids or as "rev:path", many in one exchange (see
// Batch.Prefetch): what is asked for next is at hand.
func (r *Reader) Prefetch(names []string, limit int64) error { return r.batch.Prefetch(names, limit) }

// Sizes visits objects that are there, many in one exchange, without their contents.
func (r *Reader) Sizes(ids []string, visit func(Object)) error { return r.batch.Sizes(ids, visit) }

// lost says which object on the path to a file is missing; nil if the file does not exist.
// Git's batch answers "missing" in both cases.
func (r *Reader) lost(rev, path string) error {
	top, err := r.batch.Info(rev)
	if errors.Is(err, ErrMissing) && !IsID(rev) {
		return nil // no such ref
	}
	if err != nil {
		return err
	}
	if top.Kind != "commit" && top.Kind != "tree" {
		return nil
	}
	entries, err := r.Tree(rev + "^{tree}")
	for rest := path; err == nil; entries, err = r.Tree(rev + ":" + strings.TrimSuffix(path, "/"+rest)) {
		var name string
		var below bool
		name, rest, below = strings.Cut(rest, "/")
		i := slices.IndexFunc(entries, func(e Entry) bool { return e.Name == name })
		switch {
		case i < 0 || below && !entries[i].IsDir() || entries[i].Mode == ModeGitlink:
			return nil
		case !below:
			return fmt.Errorf("%s of %.40s: %s: %w", path, rev, entries[i].ID, ErrMissing)
		}
	}
	return err
}

// Note is an object's note from a notes ref, nil when it has none. More than limit bytes is
// *TooLarge.
func (r *Reader) Note(ref, object string, limit int64) ([]byte, error) {
	if tip, err := r.Tip(ref); err != nil || tip == "" {
		return nil, err
	}
	root, err := r.Tree(ref + "^{tree}")
	if err != nil {
		return nil, err
	}
	blob, err := FindNote(root, object, r.Tree)
	if blob == "" || err != nil {
		return nil, err
	}
	_, data, err := r.batch.Read(blob, limit)
	return data, err
}

// Noted lists the objects that have a note in a notes ref.
func (r *Reader) Noted(ref string) ([]string, error) {
	tip, err := r.Tip(ref)
	if err != nil || tip == "" {
		return nil, err
	}
	var objects []string
	for path, err := range r.repo.Records(r.ctx, "ls-tree", "-r", "-z", "--name-only", tip) {
		if err != nil {
			return nil, err
		}
		if id := strings.ReplaceAll(path, "/", ""); IsID(id) {
			objects = append(objects, id)
		}
	}
	return objects, nil
}

// Tree reads a tree, by its id or as "rev:path", as far as it has one meaning.
func (r *Reader) Tree(name string) ([]Entry, error) {
	_, data, err := r.batch.Read(name, maxTree)
	if err != nil {
		return nil, err
	}
	entries, err := ParseTree(data)
	return entries, Forgive(err)
}

// FindNote finds an object's note in a notes tree and returns its blob's id, "" when
// it has none. Git puts notes below directories of two digits, as many levels as it
// likes (git-notes(1)); load reads one such directory.
func FindNote(root []Entry, object string, load func(tree string) ([]Entry, error)) (blob string, err error) {
	for entries, rest := root, object; ; rest = rest[2:] {
		below := ""
		for _, e := range entries {
			if e.Name == rest && !e.IsDir() {
				return e.ID, nil
			}
			if len(rest) > 2 && e.Name == rest[:2] && e.IsDir() {
				below = e.ID
			}
		}
		if below == "" {
			return "", nil
		}
		if entries, err = load(below); err != nil {
			return "", err
		}
	}
}

// Entries lists a directory of a revision's tree; none where there is no such directory.
func (r *Reader) Entries(rev, path string) ([]Entry, error) {
	entries, err := r.Tree(rev + ":" + path)
	if errors.Is(err, ErrMissing) {
		return nil, nil
	}
	return entries, err
}
