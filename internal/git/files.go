package git

import (
	"errors"
	"io/fs"
	"path"
	"strings"
)

// maxFiles bounds a tree object that Files reads.
const maxFiles = 16 << 20

// Files looks up many paths of one commit, each directory once. It is not for concurrent
// use.
type Files struct {
	Commit string // or anything else that names a tree
	Batch  *Batch

	directories map[string]map[string]Entry // by path, as they are read
}

// Entry returns the tree entry at a path, which has forward slashes and none at its end.
func (f *Files) Entry(name string) (e Entry, ok bool, err error) {
	parent, base := path.Split(name)
	directory, err := f.directory(strings.TrimSuffix(parent, "/"))
	e, ok = directory[base]
	return e, ok, err
}

// directory reads what is in a directory, nothing where there is none.
func (f *Files) directory(name string) (map[string]Entry, error) {
	if directory, ok := f.directories[name]; ok {
		return directory, nil
	}
	directory := map[string]Entry{}
	o, data, err := f.Batch.Read(f.Commit+":"+name, maxFiles)
	if err != nil && !errors.Is(err, ErrMissing) {
		return nil, err
	}
	if err == nil && o.Kind == "tree" {
		entries, err := ParseTree(data)
		if err := Forgive(err); err != nil {
			return nil, err
		}
		for _, e := range entries {
			directory[e.Name] = e
		}
	}
	if f.directories == nil {
		f.directories = map[string]map[string]Entry{}
	}
	f.directories[name] = directory
	return directory, nil
}

// ReadFile reads a regular file of at most limit bytes. The error is *TooLarge above that, and
// fs.ErrNotExist if the path names no regular file.
func (f *Files) ReadFile(name string, limit int64) ([]byte, error) {
	e, ok, err := f.Entry(name)
	if err != nil {
		return nil, err
	}
	if !ok || !e.IsRegular() {
		return nil, fs.ErrNotExist
	}
	_, data, err := f.Batch.Read(f.Commit+":"+name, limit)
	return data, err
}
