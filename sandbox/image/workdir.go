package image

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"git-ward/internal/flock"
)

// workPrefix begins the name of every directory that a build works in.
const workPrefix = "ward-image-"

// newWork makes a directory of this build's own below temp ("": the machine's
// temporary directory), locked for as long as anything of the build runs, and
// removes those whose builds were killed.
func newWork(temp string) (dir string, lock *os.File, err error) {
	if temp == "" {
		temp = os.TempDir()
	}
	if err := sweepWork(temp); err != nil {
		return "", nil, err
	}
	for {
		if dir, err = os.MkdirTemp(temp, workPrefix); err != nil {
			return "", nil, err
		}
		// A builder of an ordinary user works in it under other ids of that user.
		if lock, err = flock.Dir(dir); err == nil {
			err = lock.Chmod(0o711)
		}
		if err == nil && stillThere(dir, lock) {
			return dir, lock, nil
		}
		if lock != nil {
			lock.Close()
		}
		// A sweep may have come between the making and the locking: once more.
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return "", nil, err
		}
	}
}

// stillThere tells whether a path names the file that is open.
func stillThere(path string, f *os.File) bool {
	now, err := os.Lstat(path)
	was, wasErr := f.Stat()
	return err == nil && wasErr == nil && os.SameFile(now, was)
}

// sweepWork removes the directories of our builds in which nobody works.
func sweepWork(temp string) error {
	dirs, err := filepath.Glob(filepath.Join(temp, workPrefix+"*"))
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		// Not through a link, and nothing of another user's.
		fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err != nil {
			continue
		}
		var st unix.Stat_t
		mine := unix.Fstat(fd, &st) == nil && st.Uid == uint32(os.Geteuid())
		if mine && unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) == nil {
			err = removeWork(dir)
		}
		unix.Close(fd)
		if err != nil {
			return err
		}
	}
	return nil
}

// removeWork removes a directory in which a builder may have been killed: root's
// has mounts of the machine's own then, which a removal would empty, and an
// ordinary user's has files of that user's other ids.
func removeWork(dir string) error {
	if err := unmountBelow(dir); err != nil {
		return err
	}
	err := os.RemoveAll(dir)
	if errors.Is(err, os.ErrPermission) && os.Geteuid() != 0 {
		out, helped := exec.Command("unshare", "--map-root-user", "--map-auto", "--", "rm", "-rf", "--", dir).CombinedOutput()
		if helped == nil {
			return nil
		}
		err = fmt.Errorf("%w; unshare: %w: %s", err, helped, out)
	}
	return err
}

func unmountBelow(dir string) error {
	for range 3 { // one may hide another
		below, err := mountsBelow(dir)
		if err != nil || len(below) == 0 {
			return err
		}
		for i := len(below) - 1; i >= 0; i-- {
			err = errors.Join(err, unix.Unmount(below[i], unix.MNT_DETACH))
		}
		if err != nil {
			return fmt.Errorf("what is mounted below %s stays, and so does it: %w", dir, err)
		}
	}
	return fmt.Errorf("what is mounted below %s does not go, and so it stays", dir)
}

// mountsBelow are the mount points in a directory, in the order of mounting.
func mountsBelow(dir string) ([]string, error) {
	table, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return nil, err
	}
	var below []string
	unescape := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)
	for line := range strings.Lines(string(table)) {
		if fields := strings.Fields(line); len(fields) > 4 {
			if at := unescape.Replace(fields[4]); strings.HasPrefix(at, dir+"/") {
				below = append(below, at)
			}
		}
	}
	return below, nil
}
