package statedir_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"git-ward/bootstrap/statedir"
	"git-ward/internal/diag"
	"git-ward/internal/tier"
)

func prepared(t *testing.T) *statedir.Dir {
	t.Helper()
	d := &statedir.Dir{Path: filepath.Join(t.TempDir(), "state")}
	if err := d.Prepare(); err != nil {
		t.Fatal(err)
	}
	return d
}

func check(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// TestPrepare makes the watcher's directories, again and again, and takes no link or
// file for one of them.
func TestPrepare(t *testing.T) {
	d := prepared(t)
	check(t, os.Remove(d.Signals()), os.Symlink("/tmp", d.Signals()), os.Remove(d.Logs()), os.WriteFile(d.Logs(), nil, 0o644), d.Prepare())
	for dir, mode := range map[string]fs.FileMode{d.Logs(): 0o755, d.Signals(): 0o755, d.Private(): 0o700} {
		if info, err := os.Lstat(dir); err != nil || info.Mode() != fs.ModeDir|mode {
			t.Errorf("%v %v", info, err)
		}
	}
	aside, _ := filepath.Glob(d.Path + "/*.not-the-watchers-*")
	if len(aside) != 2 {
		t.Errorf("moved aside: %v", aside)
	}
}

// TestSeparate: with an agent of another user the directories in which it writes are
// sticky, and so must be what they are in.
func TestSeparate(t *testing.T) {
	d := &statedir.Dir{Path: filepath.Join(t.TempDir(), "state"), Separate: true}
	err := d.Prepare()
	var hinted *diag.Hinted
	if !errors.As(err, &hinted) || !strings.Contains(err.Error(), "could replace the watcher's files") {
		t.Fatal(err)
	}
	check(t, os.Chmod(d.Path, 0o777|fs.ModeSticky), d.Prepare())
	for dir, mode := range map[string]fs.FileMode{d.Logs(): 0o777 | fs.ModeSticky, d.Signals(): 0o777 | fs.ModeSticky, d.Private(): 0o700} {
		if info, err := os.Stat(dir); err != nil || info.Mode() != fs.ModeDir|mode {
			t.Errorf("%s: %v %v", dir, info, err)
		}
	}
}

// TestOpenLog writes to a file of the watcher's own, whatever the agent put there.
func TestOpenLog(t *testing.T) {
	d := prepared(t)
	secret := filepath.Join(d.Path, "secret")
	for name, make := range map[string]func() error{
		"nothing":   func() error { return nil },
		"link":      func() error { return os.Symlink(secret, d.BuildLog()) },
		"hard link": func() error { return os.Link(secret, d.BuildLog()) },
		"pipe":      func() error { return syscall.Mkfifo(d.BuildLog(), 0o666) },
		"folder":    func() error { return os.Mkdir(d.BuildLog(), 0o755) },
	} {
		check(t, os.WriteFile(secret, []byte("secret"), 0o600), make())
		log, err := d.OpenLog(d.BuildLog(), 1<<20)
		if err != nil {
			t.Fatal(name, err)
		}
		log.Write([]byte("line\n"))
		log.Close()
		got, err := os.ReadFile(d.BuildLog())
		if kept, _ := os.ReadFile(secret); err != nil || string(got) != "line\n" || string(kept) != "secret" {
			t.Errorf("%s: %q %v; %q", name, got, err, kept)
		}
		check(t, os.Remove(d.BuildLog()))
	}
}

// TestLock: one watcher at a time, until its file is closed.
func TestLock(t *testing.T) {
	tier.First(t, "the second one tries for two seconds")
	d := prepared(t)
	lock, err := d.Lock(t.Context())
	check(t, err)
	if second, err := d.Lock(t.Context()); err == nil || second != nil || !strings.Contains(err.Error(), "another watcher works in") {
		t.Errorf("%v %v", second, err)
	}
	lock.Close()
	if lock, err = d.Lock(t.Context()); err != nil {
		t.Error(err)
	}
	lock.Close()
}

// TestReadRegular follows nothing, waits for nothing, and reads no more than its
// bound.
func TestReadRegular(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	target := filepath.Join(t.TempDir(), "target")
	check(t, os.WriteFile(target, []byte("secret"), 0o600))
	for name, c := range map[string]struct {
		make func() error
		want error
	}{
		"nothing":  {func() error { return nil }, fs.ErrNotExist},
		"file":     {func() error { return os.WriteFile(path, []byte("1234"), 0o644) }, nil},
		"large":    {func() error { return os.WriteFile(path, []byte("12345"), 0o644) }, statedir.ErrTooLarge},
		"link":     {func() error { return os.Symlink(target, path) }, statedir.ErrNotRegular},
		"to zeros": {func() error { return os.Symlink("/dev/zero", path) }, statedir.ErrNotRegular},
		"pipe":     {func() error { return syscall.Mkfifo(path, 0o666) }, statedir.ErrNotRegular},
		"folder":   {func() error { return os.Mkdir(path, 0o755) }, statedir.ErrNotRegular},
		"socket":   {func() error { return listen(path) }, statedir.ErrNotRegular},
	} {
		check(t, c.make())
		data, err := statedir.ReadRegular(path, 4)
		if !errors.Is(err, c.want) || err == nil && string(data) != "1234" {
			t.Errorf("%s: %q %v", name, data, err)
		}
		os.Remove(path)
	}
}

// listen leaves a socket that nobody listens on any more.
func listen(path string) error {
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	defer syscall.Close(fd)
	return syscall.Bind(fd, &syscall.SockaddrUnix{Name: path})
}

// TestTrimLogs removes what is large, but for the watcher's own logs.
func TestTrimLogs(t *testing.T) {
	d := prepared(t)
	for name, size := range map[string]int{"errors.log": 1 << 20, "watcher.log": 1 << 20, "agent.log": 1 << 20, "small.log": 100, "bash-1.log": 1 << 20} {
		check(t, os.WriteFile(filepath.Join(d.Logs(), name), make([]byte, size), 0o644))
	}
	if size := d.LogsSize(); size < 4<<20 || size > 5<<20 {
		t.Errorf("%d bytes", size)
	}
	removed := d.TrimLogs(64 << 10)
	if want := []string{filepath.Join(d.Logs(), "agent.log"), filepath.Join(d.Logs(), "bash-1.log")}; !slices.Equal(removed, want) {
		t.Errorf("%v", removed)
	}
	if size := d.LogsSize(); size > 3<<20 {
		t.Errorf("%d bytes are left", size)
	}
}

// TestReserve: there is space to write once more on a full disk, and only there.
func TestReserve(t *testing.T) {
	d := prepared(t)
	full := &fs.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}
	if d.Release(full) {
		t.Error("nothing was reserved")
	}
	d.Reserve()
	d.Reserve()
	info, err := os.Stat(d.Own("spare"))
	if err != nil || info.Size() != 1<<20 || info.Sys().(*syscall.Stat_t).Blocks*512 < 1<<20 {
		t.Errorf("%v %v", info, err)
	}
	if d.Release(nil) || d.Release(fs.ErrPermission) || !d.Release(full) || d.Release(full) {
		t.Error("it is released once, for a full disk")
	}
	if free := d.Free(); free <= 0 || free > 1 {
		t.Errorf("free: %v", free)
	}
	check(t, d.WriteOwn("state.json", []byte("{}")))
	if data, err := os.ReadFile(d.Own("state.json")); err != nil || string(data) != "{}" {
		t.Errorf("%q %v", data, err)
	}
}
