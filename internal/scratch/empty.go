package scratch

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// empty removes all of a directory but its mark, a file of that name: also below directories
// that were made read-only, as caches of build tools are, and, by the user's other ids, what a
// builder of an ordinary user made under them. What is mounted there is unmounted first, since
// it may be the machine's own; what stays mounted stops the removal.
func empty(dir *os.Root, path, mark string) error {
	if err := unmountBelow(path); err != nil {
		return err
	}
	err := emptyOnce(dir, mark)
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	MakeWritable(dir, ".")
	if err = emptyOnce(dir, mark); !errors.Is(err, fs.ErrPermission) || os.Geteuid() == 0 {
		return err
	}
	names, readErr := namesOf(dir, mark)
	if readErr != nil {
		return errors.Join(err, readErr)
	}
	cmd := exec.Command("unshare", append([]string{"--map-root-user", "--map-auto", "--", "rm", "-rf", "--"}, names...)...)
	cmd.Dir = path
	if out, helped := cmd.CombinedOutput(); helped != nil {
		return fmt.Errorf("%w; unshare: %w: %s", err, helped, out)
	}
	return nil
}

// MakeWritable makes the directories of a tree writable for their owner, because build tools
// make their caches read-only. It ignores failures; the removal that follows reports them.
func MakeWritable(root *os.Root, name string) {
	fs.WalkDir(root.FS(), name, func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			root.Chmod(path, 0o700)
		}
		return nil
	})
}

func emptyOnce(dir *os.Root, mark string) error {
	names, err := namesOf(dir, mark)
	for _, name := range names {
		err = errors.Join(err, dir.RemoveAll(name))
	}
	return err
}

// namesOf are all names in a directory but the mark's name.
func namesOf(dir *os.Root, mark string) (names []string, err error) {
	f, err := dir.Open(".")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	all, err := f.Readdirnames(-1)
	for _, name := range all {
		if name != mark {
			names = append(names, name)
		}
	}
	return names, err
}

func unmountBelow(dir string) error {
	for range 3 { // one may hide another
		below, err := MountsBelow(dir)
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

// MountsBelow lists the mount points in a directory from /proc/self/mountinfo, as absolute
// paths in the order of mounting.
func MountsBelow(dir string) ([]string, error) {
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
