package planrun

import (
	"cmp"
	"errors"
	"os"
	"path"
	"strings"

	"git-ward/internal/git"
	"git-ward/protocols/plan"
)

// maxTree bounds a tree object that is read.
const maxTree = 16 << 20

// commitTree is the tree of a commit, as plans are read from it.
type commitTree struct {
	commit      string
	batch       *git.Batch
	directories map[string]map[string]git.Mode // by path, as they are read
}

// Kind says what a path of the tree names.
func (t *commitTree) Kind(name string) (plan.Kind, error) {
	if name == "." {
		return plan.Folder, nil
	}
	parent, base := path.Split(name)
	directory, err := t.directory(strings.TrimSuffix(parent, "/"))
	if err != nil {
		return plan.Missing, err
	}
	switch mode, ok := directory[base]; {
	case !ok:
		return plan.Missing, nil
	case mode == git.ModeDir:
		return plan.Folder, nil
	case mode == git.ModeFile || mode == git.ModeExec:
		return plan.File, nil
	}
	return plan.Other, nil
}

// directory reads the modes of what is in a directory, empty where there is none.
func (t *commitTree) directory(name string) (map[string]git.Mode, error) {
	if directory, ok := t.directories[name]; ok {
		return directory, nil
	}
	directory := map[string]git.Mode{}
	o, data, err := t.batch.Read(t.commit+":"+name, maxTree)
	if err != nil && !errors.Is(err, git.ErrMissing) {
		return nil, err
	}
	if err == nil && o.Kind == "tree" {
		entries, err := git.ParseTree(data)
		if err := git.Forgive(err); err != nil {
			return nil, err
		}
		for _, e := range entries {
			directory[e.Name] = e.Mode
		}
	}
	if t.directories == nil {
		t.directories = map[string]map[string]git.Mode{}
	}
	t.directories[name] = directory
	return directory, nil
}

// ReadFile reads a regular file of the tree.
func (t *commitTree) ReadFile(name string, limit int64) ([]byte, error) {
	if kind, err := t.Kind(name); err != nil || kind != plan.File {
		return nil, cmp.Or(err, os.ErrNotExist)
	}
	_, data, err := t.batch.Read(t.commit+":"+name, limit)
	var large *git.TooLarge
	if errors.As(err, &large) {
		return nil, plan.ErrTooLarge
	}
	return data, err
}
