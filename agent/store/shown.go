package store

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"git-ward/internal/git"
	"git-ward/protocols/record"
	"git-ward/protocols/symbols"
)

// shown are the record's files and directories that a worker reads and writes below .ward of
// the working tree.
var shown = []string{record.Learnings, record.Plans, record.PostMortems, record.Research, record.Lessons}

// written are the directories where a worker may have written files.
var written = []string{record.Plans, record.PostMortems, record.Research, record.Transcripts}

// shownSize bounds a file that is taken from the working tree, and allShownSize all of them
// together, in bytes; maxShown is how many they may be.
const (
	shownSize    = 16 << 20
	allShownSize = 64 << 20
	maxShown     = 10_000
)

// Show puts the files that a worker reads of the record, and those at these paths, below .ward of the
// working tree, as the newest commit has them, in place of whatever lies there. Git
// leaves that directory out.
func (r *Record) Show(ctx context.Context, paths ...string) error {
	if err := r.work.clone.exclude(); err != nil {
		return err
	}
	dir := filepath.Join(r.work.clone.dir, record.Dir)
	if err := emptied(dir); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	r.shown = paths
	for _, name := range append(slices.Clone(shown), paths...) {
		if err := r.show(ctx, root, name); err != nil {
			return err
		}
	}
	return nil
}

// computed is derived from the work (git ward knowledge build) and not part of the record.
var computed = []string{symbols.SymbolsPath, symbols.GraphPath}

// emptied makes a directory that only has derived files.
func emptied(dir string) error {
	kept := map[string][]byte{}
	if root, err := os.OpenRoot(dir); err == nil {
		for _, name := range computed {
			if info, err := root.Lstat(name); err == nil && info.Mode().IsRegular() {
				kept[name], _ = root.ReadFile(name)
			}
		}
		root.Close()
	}
	if err := removeAll(dir); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for name, data := range kept {
		err = errors.Join(err, place(root, name, data))
	}
	return err
}

// show writes a file of the newest commit, or all files below a directory.
func (r *Record) show(ctx context.Context, root *os.Root, name string) error {
	object, data, err := r.objects(ctx).Read(r.tip+":"+name, recordSize)
	switch {
	case errors.Is(err, git.ErrMissing):
		return nil
	case err != nil:
		r.close()
		return err
	case object.Kind == "blob":
		return place(root, name, data)
	}
	return r.walk(ctx, r.tip, name, func(path string, e git.Entry) error {
		_, data, err := r.objects(ctx).Read(e.ID, recordSize)
		if err != nil {
			r.close()
			return err
		}
		return place(root, path, data)
	})
}

// Uncommitted are the files that somebody wrote below .ward, plans and post-mortems among
// them, and that the newest commit does not have so, by their paths in the record. It is
// stop.Refused where they are too many.
func (r *Record) Uncommitted(ctx context.Context) (map[string][]byte, error) {
	root, err := os.OpenRoot(filepath.Join(r.work.clone.dir, record.Dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer root.Close()
	uncommitted, size := map[string][]byte{}, 0
	take := func(name string) error {
		info, err := root.Lstat(name)
		if err != nil || !info.Mode().IsRegular() || info.Size() > shownSize || !record.Listed(r.id.Directive, name) {
			return nil // a link, or gone by now
		}
		data, err := root.ReadFile(name)
		if err != nil {
			return nil
		}
		have, err := r.File(ctx, name)
		if err == nil && (have == nil || !bytes.Equal(have, data)) {
			uncommitted[name], size = data, size+len(data)
		}
		if err == nil && (len(uncommitted) > maxShown || size > allShownSize) {
			err = refuse("%s holds more than %d files, or %d MiB, that are not on the record: keep there what people are to read", record.Dir, maxShown, allShownSize>>20)
		}
		return err
	}
	if err := take(record.Lessons); err != nil {
		return nil, err
	}
	for _, dir := range written {
		err := fs.WalkDir(root.FS(), dir, func(name string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return nil
			}
			return take(name)
		})
		if err != nil {
			return nil, err
		}
	}
	return uncommitted, nil
}

// place writes a file below a directory; a model's links cannot lead it elsewhere.
func place(root *os.Root, name string, data []byte) error {
	if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	if info, err := root.Lstat(name); err == nil && !info.Mode().IsRegular() {
		if err := root.RemoveAll(name); err != nil {
			return err
		}
	}
	return root.WriteFile(name, data, 0o644)
}

// exclude makes git ignore .ward.
func (c *clone) exclude() error {
	if err := os.MkdirAll(filepath.Join(c.gitDir(), "info"), 0o755); err != nil {
		return err
	}
	return put(filepath.Join(c.gitDir(), "info", "exclude"), []byte("/"+record.Dir+"/\n"))
}

// redacted removes secrets from texts that only readers use. A plan is executed and evidence
// is hashed, so those keep the remote's content.
func (r *Record) redacted(files map[string][]byte) map[string][]byte {
	redact := r.work.clone.store.redact
	clean := make(map[string][]byte, len(files))
	for name, data := range files {
		if top, _, _ := strings.Cut(name, "/"); data != nil && (top == record.PostMortems || top == record.Transcripts || top == record.Research) {
			data = []byte(redact(string(data)))
		}
		clean[name] = data
	}
	return clean
}
