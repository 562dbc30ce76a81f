package install

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"git-ward/internal/diag"
	"git-ward/internal/hookdir"
)

// linked is the name of the hook in the same directory to which another is a link; "" for
// none. Some programs serve several hooks in this way, by $0.
func (in *installer) linked(path string) string {
	to, err := os.Readlink(path)
	if err != nil {
		return ""
	}
	if !filepath.IsAbs(to) {
		to = filepath.Join(in.layout.Dir, to)
	}
	name := filepath.Base(to)
	if filepath.Clean(to) == filepath.Join(in.layout.Dir, name) && slices.Contains(hookdir.Names, name) {
		return name
	}
	return ""
}

// keepLinks redirects links to a hook that Ward's replaces to that hook's new place: otherwise
// Ward's would run under their names. The links move with their target.
func (in *installer) keepLinks() error {
	entries, err := os.ReadDir(in.layout.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		path := filepath.Join(in.layout.Dir, e.Name())
		to := in.linked(path)
		if to == "" || slices.Contains(hookdir.Names, e.Name()) || in.layout.Path(to) != filepath.Join(in.layout.Dir, to) {
			continue
		}
		err := in.do(change("keep", "%s as a link to %s", hookdir.Relative(in.Dir, path), hookdir.Relative(in.Dir, in.layout.Chained(e.Name()))), func() error {
			return in.moveLink(path, in.layout.Chained(e.Name()))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// relativeLinks refuses links to hooks that would lead to Ward's after moving.
func (in *installer) relativeLinks() error {
	entries, err := os.ReadDir(in.layout.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		path := filepath.Join(in.layout.Dir, e.Name())
		if to, err := os.Readlink(path); err == nil && filepath.IsAbs(to) && in.linked(path) != "" {
			return diag.Hint(fmt.Errorf("%s is a link to %s, where Ward puts its own hook: the link would lead to that", path, to), "ln -sf %s %s", in.linked(path), path)
		}
	}
	return nil
}

// moveLink moves a link into the chained hooks' directory, and replaces it by one that leads
// there.
func (in *installer) moveLink(path, chained string) error {
	to, err := os.Readlink(path)
	if err != nil {
		return err
	}
	name, new := filepath.Base(path), filepath.Join(in.layout.Dir, "."+filepath.Base(path)+".ward")
	for place, ours := range map[string]string{chained: to, new: led(in.layout.Dir, name)} { // of an init that was killed
		if says, err := os.Readlink(place); err == nil && says == ours || errors.Is(err, fs.ErrNotExist) {
			continue
		}
		return diag.Hint(fmt.Errorf("both %s and %s are somebody else's hooks", path, place), "keep one of them, and remove the other")
	}
	if err := errors.Join(os.MkdirAll(filepath.Dir(chained), 0o755), removeAgain(chained), removeAgain(new)); err != nil {
		return err
	}
	return errors.Join(os.Symlink(to, chained), os.Symlink(led(in.layout.Dir, name), new), os.Rename(new, path))
}

// led is what such a link says.
func led(dir, name string) string {
	return filepath.Join("..", filepath.Base(hookdir.ChainedDir(dir)), name)
}

// linksBack plans their way back.
func (r *remover) linksBack() error {
	entries, err := os.ReadDir(hookdir.ChainedDir(r.layout.Dir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		path, chained := filepath.Join(r.layout.Dir, e.Name()), r.layout.Chained(e.Name())
		to, err := os.Readlink(path)
		half := sameFile(path, chained) && !slices.Contains(hookdir.Names, e.Name()) // an init was killed
		if err == nil && (to == led(r.layout.Dir, e.Name()) || half) {
			r.step(change("put", "%s back as %s", hookdir.Relative(r.Dir, chained), hookdir.Relative(r.Dir, path)), func() error { return renameAgain(chained, path) })
		}
	}
	return nil
}
