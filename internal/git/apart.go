package git

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Apart is the repository's objects below a git directory of their own in dir, which is
// made: one without refs, settings, attributes, hooks, index and work tree. There git
// compares and merges commits, named by their ids, as git alone would (REC-3): nothing
// that a tree or a repository brings says which program shows a file or merges it, or
// that it is not to be shown. What is written goes to the repository's objects. The
// repository must be named by its common directory.
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
