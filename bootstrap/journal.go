package bootstrap

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"time"

	"git-ward/protocols/boot"
)

// journal is logs/bootstrap.log. The agent appends its SUCCESS, so it can write
// to the file, and what it says there is believed for its own start only.
type journal struct {
	place place
	mode  fs.FileMode
	spare *spare
}

// journalSize is where the journal starts anew; tailSize is how much of its end
// is looked at.
const (
	journalSize = 1 << 20
	tailSize    = 64 << 10
)

func (j *journal) open(flags int) (*os.File, error) {
	if err := j.place.aside(j.place.bootLog(), 0); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(j.place.bootLog(), flags|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, j.mode)
	if err == nil {
		err = f.Chmod(j.mode)
	}
	return f, err
}

// append writes an entry as one line, whole, with an end before it where somebody
// left a line without one.
func (j *journal) append(e boot.Entry) error {
	f, err := j.open(os.O_RDWR | os.O_APPEND)
	if err != nil {
		return err
	}
	defer f.Close()
	line := e.String() + "\n"
	if info, err := f.Stat(); err == nil && info.Size() > 0 {
		last := make([]byte, 1)
		if _, err := f.ReadAt(last, info.Size()-1); err == nil && last[0] != '\n' {
			line = "\n" + line
		}
	}
	_, err = f.WriteString(line)
	if errors.Is(err, syscall.ENOSPC) && j.spare.release() {
		_, err = f.WriteString("\n" + line)
	}
	return errors.Join(err, f.Sync())
}

// begin makes room for the lines of one more start.
func (j *journal) begin() error {
	info, err := os.Lstat(j.place.bootLog())
	if err == nil && info.Size() > journalSize {
		return os.Rename(j.place.bootLog(), j.place.bootLog()+".1")
	}
	return nil
}

// size is where the journal ends now, in bytes.
func (j *journal) size() int64 {
	info, err := os.Lstat(j.place.bootLog())
	if err != nil {
		return 0
	}
	return info.Size()
}

// entries reads the entries from an offset on, at most tailSize bytes from the
// end. Lines that are none are left out.
func (j *journal) entries(from int64) []boot.Entry {
	f, err := j.open(os.O_RDONLY)
	if err != nil {
		return nil
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil
	}
	if from > info.Size() { // somebody cut it
		from = 0
	}
	from = max(from, info.Size()-tailSize)
	data, err := io.ReadAll(io.NewSectionReader(f, from, tailSize))
	if err != nil {
		return nil
	}
	var list []boot.Entry
	for line := range strings.Lines(string(data)) {
		text, whole := strings.CutSuffix(line, "\n")
		if e, err := boot.Parse(text); err == nil && whole {
			list = append(list, e)
		}
	}
	return list
}

// succeeded reports whether the agent wrote its SUCCESS behind the offset.
func (j *journal) succeeded(from int64, branch, commit string) bool {
	for _, e := range j.entries(from) {
		if e.Event == boot.Success && e.Branch == branch && e.Commit == commit {
			return true
		}
	}
	return false
}

// unfinished is the last start if the log does not tell its end.
func (j *journal) unfinished() (boot.Entry, bool) {
	var last boot.Entry
	open := false
	for _, e := range j.entries(0) {
		switch {
		case e.Event == boot.Bootstrapping:
			last, open = e, true
		case e.Branch == last.Branch && e.Commit == last.Commit:
			open = false
		}
	}
	return last, open
}

// spare is a file that holds room on the disk for the few lines and the state
// that must be written even when an agent has filled it.
type spare struct{ path string }

const spareSize = 1 << 20

// hold takes the room, if there is any.
func (s *spare) hold() {
	if info, err := os.Lstat(s.path); err == nil && info.Size() == spareSize {
		return
	}
	f, err := os.OpenFile(s.path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return
	}
	defer f.Close()
	if syscall.Fallocate(int(f.Fd()), 0, 0, spareSize) != nil {
		os.Remove(s.path)
	}
}

// release gives the room back and reports whether there was any.
func (s *spare) release() bool { return os.Remove(s.path) == nil }

// utc is a wall clock that is only written down, never computed with: it may jump.
func utc(now func() time.Time) time.Time { return now().UTC().Truncate(time.Second) }
