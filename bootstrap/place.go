package bootstrap

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"git-ward/internal/diag"
)

// place is the state directory (BOOT-1). In the fence the agent can write to most
// of it: every folder that the watcher uses is its own, with the sticky bit where
// the agent writes too, so that the agent can neither remove nor replace what the
// watcher made there.
type place struct {
	state string
	uid   int // the watcher's
	// move renames as the agent's user, who alone may rename its own in a folder
	// that belongs to neither.
	move func(from, to string) error
}

func (p place) logs() string        { return filepath.Join(p.state, "logs") }
func (p place) bootLog() string     { return filepath.Join(p.logs(), "bootstrap.log") }
func (p place) errorLog() string    { return filepath.Join(p.logs(), "errors.log") }
func (p place) ownLog() string      { return filepath.Join(p.logs(), "watcher.log") }
func (p place) buildLog() string    { return filepath.Join(p.logs(), "build.log") }
func (p place) signals() string     { return filepath.Join(p.state, ".signal") }
func (p place) private() string     { return filepath.Join(p.state, ".watcher") }
func (p place) own(s string) string { return filepath.Join(p.private(), s) }

// shared is the mode of folders where agent and watcher write: as /tmp.
const shared = 0o777 | fs.ModeSticky

// prepare makes the folders and sees to it that they are the watcher's.
func (p place) prepare(separate bool) error {
	if err := os.MkdirAll(p.state, 0o755); err != nil {
		return err
	}
	if separate {
		if err := p.checkTop(); err != nil {
			return err
		}
	}
	for dir, mode := range map[string]fs.FileMode{p.logs(): shared, p.signals(): shared, p.private(): 0o755} {
		if !separate {
			mode &= 0o755
		}
		if err := p.folder(dir, mode); err != nil {
			return err
		}
	}
	return nil
}

// checkTop refuses a state directory in which the agent could rename what is the
// watcher's.
func (p place) checkTop() error {
	info, err := os.Stat(p.state)
	if err != nil {
		return err
	}
	owner := int(info.Sys().(*syscall.Stat_t).Uid)
	if (owner == p.uid || owner == 0) && info.Mode()&fs.ModeSticky != 0 {
		return nil
	}
	err = fmt.Errorf("%s belongs to user %d, mode %v: the agent could replace the watcher's files", p.state, owner, info.Mode())
	return diag.Hint(err, "it was made by an older version: remove bot.img from the launcher's --state directory; what counts is in the repository's refs")
}

// folder makes a folder the watcher's own; what another user put there is moved
// aside.
func (p place) folder(dir string, mode fs.FileMode) error {
	if err := p.aside(dir, fs.ModeDir); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return os.Chmod(dir, mode)
}

// aside moves away what lies at path unless it is of that kind, the watcher's,
// and has one name only.
func (p place) aside(path string, kind fs.FileMode) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	stat := info.Sys().(*syscall.Stat_t)
	if info.Mode().Type() == kind && int(stat.Uid) == p.uid && (kind == fs.ModeDir || stat.Nlink == 1) {
		return nil
	}
	to := fmt.Sprintf("%s.not-the-watchers-%d", path, time.Now().UnixNano())
	if err := os.Rename(path, to); !errors.Is(err, fs.ErrPermission) || p.move == nil {
		return err
	}
	return p.move(path, to)
}

// errTooLarge and errKind are why a file is not read.
var (
	errTooLarge = errors.New("it is too large")
	errKind     = errors.New("it is not a regular file")
)

// readRegular reads a file of at most limit bytes that an untrusted user may have
// put there: links are not followed, and pipes and devices are not opened for
// long enough to matter.
func readRegular(path string, limit int64) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	if errors.Is(err, syscall.ELOOP) || errors.Is(err, syscall.ENXIO) {
		return nil, errKind
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errKind
	}
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = errTooLarge
	}
	return data, err
}
