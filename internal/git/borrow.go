package git

import (
	"os"
	"path/filepath"
)

// Borrow makes a repository anew in dir that borrows this one's objects, and has no refs,
// no working tree and no settings: what is to be pushed here is made there, so that nothing
// of it is here before the hooks have judged it. The repository must be named by its common
// directory.
func (r *Repo) Borrow(dir string) (*Repo, error) {
	if err := os.RemoveAll(dir); err != nil {
		return nil, err
	}
	for _, sub := range []string{"refs", "objects/info"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o700); err != nil {
			return nil, err
		}
	}
	for name, text := range map[string]string{
		"HEAD":                    "ref: refs/heads/none\n",
		"config":                  "[core]\n\trepositoryformatversion = 0\n\tbare = true\n",
		"objects/info/alternates": filepath.Join(r.Dir, "objects") + "\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	return &Repo{Dir: dir, Limits: r.Limits}, nil
}
