package install

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"git-ward/internal/config"
	"git-ward/internal/token"
)

// lockFile is the audit's lock, which every pusher has to open.
const lockFile = "ward/audit.lock"

// tree is all that lies in a repository, and who may do what with it.
type tree struct{ dir string }

// eachFile visits everything in the repository by relative path. It works through os.Root,
// which cannot be led elsewhere: somebody with write access may replace a directory by a link
// meanwhile, and root's init would follow it.
func (t tree) eachFile(visit func(root *os.Root, rel string, info fs.FileInfo) error) error {
	root, err := os.OpenRoot(t.dir)
	if err != nil {
		return err
	}
	defer root.Close()
	return fs.WalkDir(root.FS(), ".", func(rel string, _ fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // a push has just ended
		}
		if err != nil {
			return err
		}
		info, err := root.Lstat(rel)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		return visit(root, rel, info)
	})
}

// makeLock makes the audit's lock where it is missing, so that a group gets it.
func (t tree) makeLock() error {
	root, err := os.OpenRoot(t.dir)
	if err != nil {
		return err
	}
	defer root.Close()
	f, err := root.OpenFile(lockFile, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// openTo gives a group the permissions that pushing needs, and counts the changed paths.
func (t tree) openTo(gid int) (changed int, err error) {
	if err := t.makeLock(); err != nil {
		return 0, err
	}
	err = t.eachFile(func(root *os.Root, rel string, info fs.FileInfo) error {
		mode, ok := groupMode(rel, info.Mode())
		if !ok || mode&fs.ModeSymlink != 0 || mode == info.Mode() && int(info.Sys().(*syscall.Stat_t).Gid) == gid {
			return nil
		}
		changed++
		// Group first: the change takes set-group-id away.
		if err := root.Lchown(rel, -1, gid); err != nil {
			return err
		}
		return root.Chmod(rel, mode)
	})
	return changed, err
}

// groupMode is a file's mode in a shared repository. The group may write what git and the
// hooks write, and read settings and hooks; ok is false for the key and the launcher's files
// in ward/.
func groupMode(rel string, mode fs.FileMode) (group fs.FileMode, ok bool) {
	top, below, _ := strings.Cut(filepath.ToSlash(rel), "/")
	read := mode | mode>>3&0o050 // what the owner may, without writing
	write := mode | mode>>3&0o070
	if mode.IsDir() {
		write |= fs.ModeSetgid
	}
	switch {
	case rel == token.KeyFile || rel == "ward/door" || strings.HasPrefix(rel, "ward/door/"):
		return mode, false
	case top == "ward" && !mode.IsDir():
		switch {
		case rel == config.Path, rel == nonceFile, rel == "ward/allowed_signers", rel == "ward/redacted":
			return read, true
		case rel == lockFile, rel == "ward/refusals", rel == "ward/refusals.hour", strings.Contains(below, "/"):
			return write, true
		}
		return mode, false
	case rel == "config", strings.Contains(top, "hooks"):
		return read, true
	}
	return write, true
}

// closeToOthers removes the permissions of all but the owner in ward/, and lists what it
// changed.
func (t tree) closeToOthers() (closed []string, err error) {
	for _, rel := range []string{"ward", "ward/pending"} {
		path := filepath.Join(t.dir, rel)
		info, err := os.Stat(path)
		if err != nil {
			return closed, err
		}
		if info.Mode().Perm()&0o077 == 0 {
			continue
		}
		if err := os.Chmod(path, 0o700); err != nil {
			return closed, err
		}
		closed = append(closed, rel)
	}
	return closed, nil
}

// giveTo changes the owner of root's files to a user and the user's group.
func (t tree) giveTo(owner *syscall.Stat_t) error {
	return t.eachFile(func(root *os.Root, rel string, info fs.FileInfo) error {
		st := info.Sys().(*syscall.Stat_t)
		if st.Uid != 0 {
			return nil
		}
		gid := int(st.Gid)
		if gid == 0 {
			gid = int(owner.Gid)
		}
		err := root.Lchown(rel, int(owner.Uid), gid)
		if err == nil && info.Mode()&fs.ModeSetgid != 0 {
			err = root.Chmod(rel, info.Mode())
		}
		return err
	})
}
