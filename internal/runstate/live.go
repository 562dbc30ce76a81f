package runstate

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"git-ward/internal/live"
)

// LiveDir is the launcher's directory of progress events, one file a directive, relative to
// the repository.
const LiveDir = "ward/live"

// MaxLive bounds a directive's file, in bytes; the one before it is kept beside it.
const MaxLive = 1 << 20

// LivePath is the file of a directive's events, relative to the repository. The argument must
// be a directive's name.
func LivePath(directive string) string { return filepath.Join(LiveDir, directive+".jsonl") }

// Tail returns the newest n events of a directive, oldest first. It skips lines that are no
// events.
func Tail(bare, directive string, n int) ([]live.Event, error) {
	if (live.Event{Unit: directive}).Directive() != directive {
		return nil, nil
	}
	path := filepath.Join(bare, LivePath(directive))
	var newest []live.Event // the newest first
	for _, name := range []string{path, path + ".1"} {
		err := backwards(name, func(line []byte) bool {
			if e, err := live.Parse(line); err == nil {
				newest = append(newest, e)
			}
			return len(newest) < n
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		if len(newest) >= n {
			break
		}
	}
	slices.Reverse(newest)
	return newest[max(0, len(newest)-n):], nil
}

// openLive opens a file of events, never another file in its place.
func openLive(path string) (*os.File, os.FileInfo, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New(path + " is not a regular file")
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// backwards calls yield for the whole lines of a file, the last one first, until it returns
// false. Of a file that is larger than it may be it is the end.
func backwards(path string, yield func(line []byte) bool) error {
	f, info, err := openLive(path)
	if err != nil {
		return err
	}
	defer f.Close()
	const block = 32 << 10
	var rest []byte // what the lines after it leave of a block
	for end, least := info.Size(), max(0, info.Size()-2*MaxLive); end > least; {
		start := max(least, end-block)
		data := make([]byte, end-start, int(end-start)+len(rest))
		if _, err := io.ReadFull(io.NewSectionReader(f, start, end-start), data); err != nil {
			return err
		}
		rest = append(data, rest...)
		end = start
		for {
			i := bytes.LastIndexByte(rest[:max(0, len(rest)-1)], '\n')
			if i < 0 {
				break
			}
			if line := rest[i+1:]; line[len(line)-1] == '\n' && !yield(line) {
				return nil
			}
			rest = rest[:i+1]
		}
		if len(rest) > 2*live.MaxLine { // no line of ours
			rest = nil
		}
	}
	if len(rest) > 0 && rest[len(rest)-1] == '\n' {
		yield(rest)
	}
	return nil
}

// Follower reads a directive's events as they arrive. It is not safe for concurrent use.
type Follower struct {
	path string
	file *os.File // that is read at present; nil before there is one
	line []byte   // the beginning of a line whose end is still to come
}

// Follow reads a directive's events from now on. The caller must close the Follower.
func Follow(bare, directive string) *Follower {
	f := &Follower{}
	if (live.Event{Unit: directive}).Directive() == directive {
		f.path = filepath.Join(bare, LivePath(directive))
		f.open(io.SeekEnd)
	}
	return f
}

// open begins with the file that is there now; none is no error.
func (f *Follower) open(whence int) {
	file, _, err := openLive(f.path)
	if err != nil {
		return
	}
	if _, err := file.Seek(0, whence); err != nil {
		file.Close()
		return
	}
	f.Close()
	f.file, f.line = file, nil
}

// Close closes the file.
func (f *Follower) Close() {
	if f.file != nil {
		f.file.Close()
		f.file = nil
	}
}

// maxMore bounds what one call of More reads, in bytes.
const maxMore = MaxLive

// More returns the events since the last call, oldest first. It never waits. When the file is
// rotated, the old one is read to its end first.
func (f *Follower) More() (events []live.Event, err error) {
	if f.path == "" {
		return nil, nil
	}
	if f.file == nil {
		f.open(io.SeekStart)
	}
	if f.file == nil {
		return nil, nil
	}
	events, err = f.read(events)
	if err == nil && f.replaced() {
		if f.open(io.SeekStart); f.file != nil {
			events, err = f.read(events)
		}
	}
	return events, err
}

// replaced says that the path leads to another file by now, or that this one was cut off.
func (f *Follower) replaced() bool {
	now, err := os.Lstat(f.path)
	if err != nil {
		return false
	}
	its, err := f.file.Stat()
	at, seekErr := f.file.Seek(0, io.SeekCurrent)
	return err != nil || seekErr != nil || !os.SameFile(now, its) || its.Size() < at
}

func (f *Follower) read(events []live.Event) ([]live.Event, error) {
	data, err := io.ReadAll(io.LimitReader(f.file, maxMore))
	f.line = append(f.line, data...)
	for {
		line, rest, whole := bytes.Cut(f.line, []byte("\n"))
		if !whole {
			break
		}
		if e, err := live.Parse(line); err == nil {
			events = append(events, e)
		}
		f.line = rest
	}
	if len(f.line) > 2*live.MaxLine { // no line of ours
		f.line = nil
	}
	f.line = bytes.Clone(f.line)
	return events, err
}

// Sign is the last time that a worker of a directive gave a sign of life.
type Sign struct {
	Beat time.Time `json:"beat"` // anything at all: who works lives
	Work time.Time `json:"work"` // words, uses of tools, steps: it goes on
}

// signsPath has the signs of the present launch, by directive.
const signsPath = "ward/signs.json"

// Signs returns the present launch's signs of life by directive; none when no launch runs.
func Signs(bare string) map[string]Sign {
	var signs map[string]Sign
	if _, running := Running(bare); !running || !read(bare, signsPath, &signs) {
		return nil
	}
	return signs
}

// TellSigns records the signs of life.
func TellSigns(bare string, signs map[string]Sign) error { return write(bare, signsPath, signs) }

// ForgetSigns removes those of an earlier launch.
func ForgetSigns(bare string) { os.Remove(filepath.Join(bare, signsPath)) }
