package git

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
)

// EditTree stores the tree that another one, "" for an empty one, becomes by files put
// in as regular ones or, with nil content, taken out, and returns its id. It costs a file
// an object and no child, and reads only the directories on the way.
func (b *Batch) EditTree(tree string, files map[string][]byte) (string, error) {
	entries := map[string]Entry{}
	for name, data := range files {
		entries[name] = Entry{}
		if data != nil {
			id, err := b.repo.WriteObject("blob", data)
			if err != nil {
				return "", err
			}
			entries[name] = Entry{Mode: ModeFile, ID: id}
		}
	}
	return b.PutEntries(tree, entries)
}

// PutEntries is EditTree with objects that are there already, by their paths; the zero Entry takes
// out what is no directory. A directory that loses its last file goes; what stood in a file's way
// goes, too.
func (b *Batch) PutEntries(tree string, files map[string]Entry) (string, error) {
	for name := range files {
		if name == "" || path.Clean(name) != name || strings.HasPrefix(name, "/") || strings.HasPrefix(name, "../") || name == ".." || name == "." {
			return "", fmt.Errorf("%q is not the path of a file in a tree", name)
		}
	}
	id, err := b.edit(tree, files)
	if err == nil && id == "" {
		return b.repo.WriteObject("tree", nil)
	}
	return id, err
}

// Commit stores a commit on top of another one, of that one's tree with EditTree's files, as
// CommitTree does, and returns its id. Neither a working tree nor an index is read or touched.
func (b *Batch) Commit(who, parent string, files map[string][]byte, when time.Time, message string) (string, error) {
	tree, err := b.EditTree(parent+"^{tree}", files)
	if err != nil {
		return "", err
	}
	return b.repo.CommitTree(who, tree, parent, when, message)
}

// edit is PutEntries for one directory, whose files' paths are relative to it; "" is one
// without any.
func (b *Batch) edit(tree string, files map[string]Entry) (string, error) {
	entries, err := b.directory(tree)
	if err != nil {
		return "", err
	}
	below := map[string]map[string]Entry{}
	for name, file := range files {
		first, rest, deeper := strings.Cut(name, "/")
		switch {
		case deeper:
			if below[first] == nil {
				below[first] = map[string]Entry{}
			}
			below[first][rest] = file
		case file.ID == "":
			entries = slices.DeleteFunc(entries, func(e Entry) bool { return e.Name == first && !e.IsDir() })
		default:
			entries = place(entries, Entry{file.Mode, first, file.ID})
		}
	}
	for name, inside := range below {
		if entries, err = b.editBelow(entries, name, inside); err != nil {
			return "", err
		}
	}
	if len(entries) == 0 {
		return "", nil
	}
	slices.SortFunc(entries, Entry.Compare)
	content, err := FormatTree(entries)
	if err != nil {
		return "", err
	}
	return b.repo.WriteObject("tree", content)
}

// editBelow edits the directory of a name.
func (b *Batch) editBelow(entries []Entry, name string, files map[string]Entry) ([]Entry, error) {
	old := ""
	if i := slices.IndexFunc(entries, func(e Entry) bool { return e.Name == name }); i >= 0 && entries[i].IsDir() {
		old = entries[i].ID
	}
	id, err := b.edit(old, files)
	switch {
	case err != nil:
		return nil, err
	case id != "":
		return place(entries, Entry{ModeDir, name, id}), nil
	case old != "":
		return slices.DeleteFunc(entries, func(e Entry) bool { return e.Name == name }), nil
	}
	return entries, nil // nothing was to be taken out of nothing
}

// place puts an entry in the place of whatever has its name.
func place(entries []Entry, e Entry) []Entry {
	return append(slices.DeleteFunc(entries, func(o Entry) bool { return o.Name == e.Name }), e)
}

// directory reads a tree as far as it has one meaning; "" has no entries.
func (b *Batch) directory(tree string) ([]Entry, error) {
	if tree == "" {
		return nil, nil
	}
	_, data, err := b.ReadNow(tree, maxTree)
	if errors.Is(err, ErrMissing) {
		return nil, fmt.Errorf("tree %s: %w", tree, err)
	}
	if err != nil {
		return nil, err
	}
	entries, err := ParseTree(data)
	return entries, Forgive(err)
}
