package hooks

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"git-ward/internal/config"
	"git-ward/internal/diag"
	"git-ward/internal/token"
)

// lockFile is the audit's lock, which every pusher has to open.
const lockFile = "ward/audit.lock"

// eachFile visits everything in the repository, by its path there. What is done to it goes
// by root, which leads nowhere else: whoever writes to the repository may put a link in
// a folder's place meanwhile, and an init by the superuser would follow it.
func (in *initializer) eachFile(visit func(root *os.Root, rel string, info fs.FileInfo) error) error {
	root, err := os.OpenRoot(in.dir)
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
func (in *initializer) makeLock() error {
	root, err := os.OpenRoot(in.dir)
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

// open gives a group what a push needs, and counts what it changed.
func (in *initializer) open(gid int) (changed int, err error) {
	if err := in.makeLock(); err != nil {
		return 0, err
	}
	err = in.eachFile(func(root *os.Root, rel string, info fs.FileInfo) error {
		mode, ok := groupMode(rel, info.Mode())
		if !ok || mode&fs.ModeSymlink != 0 || mode == info.Mode() && int(info.Sys().(*syscall.Stat_t).Gid) == gid {
			return nil
		}
		changed++
		// Group first: the change takes set-group-id away.
		return errors.Join(root.Lchown(rel, -1, gid), root.Chmod(rel, mode))
	})
	return changed, err
}

// groupMode is the mode of a file of a shared repository. The group writes what
// git and the hooks write; settings and hooks it reads; the key, and what the
// launcher keeps in ward/, is not its business: not ok.
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
		case rel == config.Path, rel == nonceFile, rel == "ward/allowed_signers":
			return read, true
		case rel == lockFile, rel == "ward/refusals", strings.Contains(below, "/"):
			return write, true
		}
		return mode, false
	case rel == "config", strings.Contains(top, "hooks"):
		return read, true
	}
	return write, true
}

// close takes back what others than the owner may do in ward/, in a repository
// that no group shares.
func (in *initializer) close() error {
	if out, err := in.repo.Output(in.ctx, "config", "--local", "--get", "core.sharedRepository"); err == nil && len(out) > 0 {
		return nil // the admin's own arrangement
	}
	for _, rel := range []string{"ward", "ward/pending"} {
		path := filepath.Join(in.dir, rel)
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		if info.Mode().Perm()&0o077 == 0 {
			continue
		}
		if err := os.Chmod(path, 0o700); err != nil {
			return err
		}
		in.did("closed %s to others than the owner", rel)
	}
	return nil
}

// giveToOwner gives to a user what root has made in the user's repository, and
// could not extend otherwise.
func (in *initializer) giveToOwner() error {
	owner := new(syscall.Stat_t)
	if err := syscall.Stat(in.dir, owner); err != nil || owner.Uid == 0 || os.Geteuid() != 0 {
		return err
	}
	return in.eachFile(func(root *os.Root, rel string, info fs.FileInfo) error {
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

// mine refuses a repository of another user's, unless root acts for the user.
func (in *initializer) mine() error {
	owner := new(syscall.Stat_t)
	if err := syscall.Stat(in.dir, owner); err != nil || int(owner.Uid) == os.Geteuid() || os.Geteuid() == 0 {
		return err
	}
	name := "#" + strconv.Itoa(int(owner.Uid)) // as sudo takes a numeric id
	if u, err := user.LookupId(strconv.Itoa(int(owner.Uid))); err == nil {
		name = u.Username
	}
	return diag.Hint(fmt.Errorf("%s belongs to user %s, not to you", in.dir, name), "sudo -u %s git ward init --bare %s", name, in.dir)
}

// sayWho says which case of [identity] the repository is (ID-2), and what pushers
// need besides.
func (in *initializer) sayWho() error {
	c, err := config.Load(in.dir)
	if err != nil {
		return err
	}
	w := in.env.Stdout
	fmt.Fprintf(w, "who pushes: %s\n", c.Identity.Means())
	if c.Identity.From == "" && slices.ContainsFunc([]string{"SSH_CONNECTION", "SSH_CLIENT"}, func(v string) bool { return in.env.Getenv(v) != "" }) {
		fmt.Fprintln(w, `note: you came over ssh, so pushes from this session are refused until [identity] from in ward/config.toml says who you are, such as from = "account"`)
	}
	out, err := in.repo.Output(in.ctx, "config", "--local", "--get", "core.sharedRepository")
	if err == nil && len(out) > 0 {
		fmt.Fprintf(w, "note: each pusher besides the owner tells git once that the repository may be used: git config --global --add safe.directory %s\n", in.dir)
	}
	return nil
}
