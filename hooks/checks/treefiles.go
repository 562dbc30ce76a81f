package checks

import (
	"io/fs"
	"strings"

	"git-ward/internal/git"
	"git-ward/protocols/plan"
)

// treeFiles looks up many paths of one tree, each directory once: it is what the linter of
// plans reads.
type treeFiles struct {
	pass *Pass
	tree string
	dirs map[string]map[string]git.Entry // by tree id, so that many look-ups cost one reading
}

func (p *treeFiles) entry(path string) (git.Entry, bool, error) {
	at := git.Entry{Mode: git.ModeDir, ID: p.tree}
	for name := range strings.SplitSeq(path, "/") {
		if !at.IsDir() {
			return git.Entry{}, false, nil
		}
		dir, err := p.dir(at.ID)
		if err != nil {
			return git.Entry{}, false, err
		}
		e, ok := dir[name]
		if !ok {
			return git.Entry{}, false, nil
		}
		at = e
	}
	return at, true, nil
}

func (p *treeFiles) dir(id string) (map[string]git.Entry, error) {
	if dir, ok := p.dirs[id]; ok {
		return dir, nil
	}
	entries, err := p.pass.Repo.Tree(id)
	if err != nil {
		return nil, err
	}
	dir := make(map[string]git.Entry, len(entries))
	for _, e := range entries {
		dir[e.Name] = e
	}
	if p.dirs == nil {
		p.dirs = map[string]map[string]git.Entry{}
	}
	p.dirs[id] = dir
	return dir, nil
}

// Kind is the kind of what a path of the tree names.
func (p *treeFiles) Kind(path string) (plan.Kind, error) {
	if path == "." {
		return plan.Folder, nil
	}
	e, ok, err := p.entry(path)
	return plan.KindOf(e, ok), err
}

// ReadFile reads a regular file of the tree; what it costs counts against the
// push's limit.
func (p *treeFiles) ReadFile(path string, limit int64) ([]byte, error) {
	e, ok, err := p.entry(path)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, fs.ErrNotExist
	}
	data, err := p.pass.Repo.Regular(e, limit)
	if err == nil && data == nil && !e.IsRegular() {
		return nil, fs.ErrNotExist
	}
	return data, err
}
