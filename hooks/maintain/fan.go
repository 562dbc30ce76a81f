package maintain

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// held is a file that keeps a directory of loose objects from being empty. Git passes over
// a young one of such a name, in `git fsck` and `git prune`, as an object half written.
const held = "tmp_obj_ward"

// holdFan keeps git from removing the 256 directories of loose objects until release. Git
// removes an empty one, but a push whose quarantine is being migrated creates it first and
// links into it then: if it vanishes in between, the already admitted push fails with "unable
// to migrate objects to permanent storage". The empty directories stay afterwards.
func holdFan(objects string) (release func() error, err error) {
	top, err := os.Stat(objects)
	if err != nil {
		return nil, err
	}
	files := make([]string, 256)
	release = func() error {
		var err error
		for _, name := range files {
			if e := os.Remove(name); e != nil && !errors.Is(e, fs.ErrNotExist) {
				err = errors.Join(err, e)
			}
		}
		return err
	}
	for i := range files {
		dir := filepath.Join(objects, fmt.Sprintf("%02x", i))
		files[i] = filepath.Join(dir, held)
		os.Remove(files[i]) // a run that was killed left it, and perhaps another user's
		err := errors.Join(makeLike(dir, top), os.WriteFile(files[i], nil, 0o644))
		switch {
		case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
			// No push can be kept there either, and the maintenance makes room.
		case err != nil:
			return nil, errors.Join(err, release())
		}
	}
	return release, nil
}

// makeLike makes a directory that is not there, with the mode and the owner of another, so
// that whoever may push can write into it.
func makeLike(dir string, like fs.FileInfo) error {
	err := os.Mkdir(dir, 0o777)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if owner := like.Sys().(*syscall.Stat_t); os.Geteuid() == 0 {
		err = os.Lchown(dir, int(owner.Uid), int(owner.Gid))
	}
	return errors.Join(err, os.Chmod(dir, like.Mode().Perm()|like.Mode()&fs.ModeSetgid))
}
