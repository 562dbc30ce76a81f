package git

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Apart makes a git directory in dir that uses the repository's objects and has no refs,
// settings, attributes, hooks, index or work tree. There git compares and merges commits by id
// as plain git does (REC-3): nothing in a tree or a repository's settings can choose a diff or
// merge program, or hide a file. New objects go to the repository. The repository must be
// named by its common directory.
func (r *Repo) Apart(dir string) (*Repo, error) {
	if err := os.MkdirAll(filepath.Join(dir, "refs"), 0o700); err != nil {
		return nil, err
	}
	for name, text := range map[string]string{
		"HEAD":   "ref: refs/heads/none\n",
		"config": "[core]\n\trepositoryformatversion = 0\n\tbare = true\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	shallow, err := os.ReadFile(filepath.Join(r.Dir, "shallow")) // where its history ends
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "shallow"), shallow, 0o600)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return &Repo{Dir: dir, Limits: r.Limits, objects: filepath.Join(r.Dir, "objects")}, nil
}
