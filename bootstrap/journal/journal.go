// Package journal is logs/bootstrap.log: every start and its result (BOOT-1). Only the watcher writes it. An
// agent's answer goes to the watcher (boot.Answer), which appends a line for it.
package journal

import (
	"errors"
	"io"
	"os"
	"strings"
	"time"

	"git-ward/bootstrap/statedir"
	"git-ward/protocols/boot"
)

// Journal is the file, in its directory.
type Journal struct {
	Dir *statedir.Dir
	Now func() time.Time // the wall clock, for entries; nothing is computed from it, because it may jump
}

const (
	// maxSize is the size at which the journal is rotated; one old file is kept.
	maxSize = 1 << 20
	// tailSize is the number of bytes read from its end.
	tailSize = 64 << 10
)

// Append writes an entry with the present time as one line. If the file does not end with a newline, it
// adds one first.
func (j *Journal) Append(event boot.Event, branch, commit, reason string) error {
	f, err := j.Dir.Open(j.Dir.BootLog(), os.O_RDWR|os.O_APPEND)
	if err != nil {
		return err
	}
	defer f.Close()
	e := boot.Entry{Time: j.Now().UTC().Truncate(time.Second), Event: event, Branch: branch, Commit: commit, Reason: reason}
	line := e.String() + "\n"
	if info, err := f.Stat(); err == nil && info.Size() > 0 {
		last := make([]byte, 1)
		if _, err := f.ReadAt(last, info.Size()-1); err == nil && last[0] != '\n' {
			line = "\n" + line
		}
	}
	_, err = f.WriteString(line)
	if j.Dir.Release(err) {
		_, err = f.WriteString("\n" + line)
	}
	return errors.Join(err, f.Sync())
}

// Begin writes BOOTSTRAPPING. It rotates a full journal first, so that all lines of a start are in one file.
func (j *Journal) Begin(branch, commit, reason string) error {
	if j.size() > maxSize {
		if err := j.Dir.Replace(j.Dir.BootLog(), j.Dir.BootLog()+".1"); err != nil {
			return err
		}
	}
	return j.Append(boot.Bootstrapping, branch, commit, reason)
}

// Last returns the last entry of a branch's commit in the end of the journal; zero if there is none.
func (j *Journal) Last(branch, commit string) (last boot.Entry) {
	for _, e := range j.entries() {
		if e.Branch == branch && e.Commit == commit {
			last = e
		}
	}
	return last
}

// Failures counts the starts of a branch's commit that failed since one of it succeeded.
func (j *Journal) Failures(branch, commit string) (n int) {
	for _, e := range j.entries() {
		switch {
		case e.Branch != branch || e.Commit != commit:
		case e.Event == boot.Failure:
			n++
		case e.Event == boot.Success:
			n = 0
		}
	}
	return n
}

// Unfinished returns the last start if the journal does not have its end.
func (j *Journal) Unfinished() (last boot.Entry, open bool) {
	for _, e := range j.entries() {
		switch {
		case e.Event == boot.Bootstrapping:
			last, open = e, true
		case e.Branch == last.Branch && e.Commit == last.Commit:
			open = false
		}
	}
	return last, open
}

// size returns the size of the journal in bytes.
func (j *Journal) size() int64 {
	info, err := os.Lstat(j.Dir.BootLog())
	if err != nil {
		return 0
	}
	return info.Size()
}

// entries reads the entries in the last tailSize bytes and skips malformed lines.
func (j *Journal) entries() []boot.Entry {
	f, err := j.Dir.Open(j.Dir.BootLog(), os.O_RDONLY)
	if err != nil {
		return nil
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil
	}
	data, err := io.ReadAll(io.NewSectionReader(f, max(0, info.Size()-tailSize), tailSize))
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
