package git

import (
	"errors"
	"os"
	"path/filepath"

	"git-ward/internal/scratch"
)

// Borrow makes a repository below parent that borrows this one's objects, without refs,
// working tree or settings. The caller removes it. New commits are made there and pushed here,
// so that nothing enters before the hooks have judged it. The repository must be named by its
// common directory.
func (r *Repo) Borrow(parent string) (*Repo, *scratch.Dir, error) {
	made, err := scratch.Make(parent, "borrow-")
	if err != nil {
		return nil, nil, err
	}
	repo := &Repo{Dir: made.Path, Limits: r.Limits}
	if err := r.lend(made.Path); err != nil {
		return nil, nil, errors.Join(err, made.Remove())
	}
	return repo, made, nil
}

// lend makes the files of such a repository.
func (r *Repo) lend(dir string) error {
	for _, sub := range []string{"refs", "objects/info"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o700); err != nil {
			return err
		}
	}
	for name, text := range map[string]string{
		"HEAD":                    "ref: refs/heads/none\n",
		"config":                  "[core]\n\trepositoryformatversion = 0\n\tbare = true\n",
		"objects/info/alternates": filepath.Join(r.Dir, "objects") + "\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}
