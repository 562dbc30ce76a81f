// Package statedir is the watcher's state directory: its paths, and reading and writing that is safe against
// a hostile agent (BOOT-1).
//
// In the fence the agent can write to most of it. Every directory that the watcher uses
// is its own, with the sticky bit where the agent writes too, so that the agent can
// neither remove nor replace what the watcher made there. What the agent wrote is
// read without following links, without waiting on pipes, and up to a bound.
package statedir

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"git-ward/internal/atomicfile"
	"git-ward/internal/diag"
	"git-ward/internal/flock"
	"git-ward/internal/logfile"
)

// Dir is the state directory.
type Dir struct {
	Path     string // absolute
	Separate bool   // the agent is another user than the watcher
	// Rename renames as the agent's user, who alone may rename its own files in a
	// sticky directory; nil where both are one user.
	Rename func(from, to string) error
}

// Logs is the directory of logs, in which the agent writes too.
func (d *Dir) Logs() string { return filepath.Join(d.Path, "logs") }

// BootLog is bootstrap.log: every start and its end.
func (d *Dir) BootLog() string { return filepath.Join(d.Logs(), "bootstrap.log") }

// ErrorLog is errors.log: what agents printed.
func (d *Dir) ErrorLog() string { return filepath.Join(d.Logs(), "errors.log") }

// WatcherLog is the watcher's own log.
func (d *Dir) WatcherLog() string { return filepath.Join(d.Logs(), "watcher.log") }

// BuildLog is what build and validate printed.
func (d *Dir) BuildLog() string { return filepath.Join(d.Logs(), "build.log") }

// Signals is the directory in which the agent leaves its signals.
func (d *Dir) Signals() string { return filepath.Join(d.Path, ".signal") }

// GitConfig is the file of the settings that git in a tree has: the agent's user reads it,
// and the watcher writes it.
func (d *Dir) GitConfig() string { return filepath.Join(d.Path, ".watchers-gitconfig") }

// WriteGitConfig writes GitConfig; a file of another user there is moved aside.
func (d *Dir) WriteGitConfig(data []byte) error {
	if err := d.moveAside(d.GitConfig(), 0); err != nil {
		return err
	}
	return atomicfile.Write(d.GitConfig(), data, 0o644)
}

// Private is the directory that only the watcher reads and writes: its state, lock and repository, and the
// claimed signals.
func (d *Dir) Private() string { return filepath.Join(d.Path, ".watcher") }

// Own is the path of a file that only the watcher writes.
func (d *Dir) Own(name string) string { return filepath.Join(d.Private(), name) }

// shared is the mode of directories where agent and watcher write, like that of /tmp.
const shared = 0o777 | fs.ModeSticky

// Prepare makes the directories and ensures that the watcher owns them.
func (d *Dir) Prepare() error {
	if err := os.MkdirAll(d.Path, 0o755); err != nil {
		return err
	}
	if d.Separate {
		if err := d.checkTop(); err != nil {
			return err
		}
	}
	for dir, mode := range map[string]fs.FileMode{d.Logs(): shared, d.Signals(): shared, d.Private(): 0o700} {
		if !d.Separate {
			mode &= 0o755
		}
		if err := d.ownDirectory(dir, mode); err != nil {
			return err
		}
	}
	return nil
}

// checkTop refuses a state directory in which the agent could rename the watcher's files.
func (d *Dir) checkTop() error {
	info, err := os.Stat(d.Path)
	if err != nil {
		return err
	}
	owner := info.Sys().(*syscall.Stat_t).Uid
	if (owner == uint32(os.Getuid()) || owner == 0) && info.Mode()&fs.ModeSticky != 0 {
		return nil
	}
	err = fmt.Errorf("%s belongs to user %d, mode %v: the agent could replace the watcher's files", d.Path, owner, info.Mode())
	return diag.Hint(err, "it was made by an older version: remove bot.img from the launcher's --state directory; what counts is in the repository's refs")
}

// ownDirectory creates a directory for the watcher; another user's file of that name is moved
// aside.
func (d *Dir) ownDirectory(dir string, mode fs.FileMode) error {
	if err := d.moveAside(dir, fs.ModeDir); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return os.Chmod(dir, mode)
}

// moveAside moves the file at path away unless it is of that type, owned by the watcher, with
// one link.
func (d *Dir) moveAside(path string, fileType fs.FileMode) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	stat := info.Sys().(*syscall.Stat_t)
	if info.Mode().Type() == fileType && stat.Uid == uint32(os.Getuid()) && (fileType == fs.ModeDir || stat.Nlink == 1) {
		return nil
	}
	to := fmt.Sprintf("%s.not-the-watchers-%d", path, time.Now().UnixNano())
	if err := os.Rename(path, to); !errors.Is(err, fs.ErrPermission) || d.Rename == nil {
		return err
	}
	return d.Rename(path, to)
}

// OpenLog opens a log of the watcher's own, of at most size bytes, in a directory where
// the agent writes.
func (d *Dir) OpenLog(path string, size int64) (*logfile.File, error) {
	if err := d.moveAside(path, 0); err != nil {
		return nil, err
	}
	return logfile.Open(path, size, 0o644)
}

// Open opens a log of the watcher that the agent can read but not write, whatever file was there before.
func (d *Dir) Open(path string, flags int) (*os.File, error) {
	if err := d.moveAside(path, 0); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, flags|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o644)
	if err == nil {
		err = f.Chmod(0o644) // an older version made it writable for all
	}
	return f, err
}

// Replace renames a log of the watcher to to, and replaces or moves aside what is there.
func (d *Dir) Replace(path, to string) error {
	if err := d.moveAside(to, 0); err != nil {
		return err
	}
	return os.Rename(path, to)
}

// lockPatience is how long Lock tries. A child that a killed watcher was about to start holds
// the lock until its exec.
const lockPatience = 2 * time.Second

// Lock holds the directory for one watcher (BOOT-5). It ends with the process.
func (d *Dir) Lock(ctx context.Context) (*os.File, error) {
	f, err := flock.File(ctx, d.Own("lock"), lockPatience)
	if errors.Is(err, flock.ErrHeld) {
		f.Close()
		return nil, diag.Hint(fmt.Errorf("another watcher works in %s", d.Path), "one at a time: stop that one, or give this one another --state")
	}
	return f, err
}
