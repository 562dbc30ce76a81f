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
const workPrefix = "ward-build-"

// newWork makes a directory for a build, locked for as long as anything of the
// build runs, and removes those whose builds were killed.
func newWork() (dir string, lock *os.File, err error) {
	if dir, lock, err = flock.Temp("", workPrefix, removeWork); err != nil {
		return "", nil, err
	}
	// A builder of an ordinary user works in it under other ids of that user.
	if err := lock.Chmod(0o711); err != nil {
		return "", nil, errors.Join(err, removeWork(dir), lock.Close())
	}
	return dir, lock, nil
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
