package verifier

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"git-ward/internal/atomicfile"
	"git-ward/internal/pattern"
)

// BeforePath is the host's file of commands' results without the work, relative to the
// repository. No container can read it.
const BeforePath = "ward/before"

// Ends are how commands ended on the project as it was, for the verdicts that follow. Of a claim
// there is nothing in it: the tree is one of the project's own, the line the PM's, and what is
// kept is an exit code by their hash, with those of the job's checks that it opened. A claim that names
// another base, or leaves other files of it, finds other hashes.
//
// Two verdicts that write at once may lose one's entry, which costs that command's run.
type Ends struct {
	File string
	// Of is all that the ends hang on besides, such as the image; asked once, where an end is
	// looked for. Where it fails nothing is kept.
	Of func(context.Context) (string, error)

	once sync.Once
	on   string
	err  error
	mu   sync.Mutex // of the file's change
}

// The file is a line that says what it is, and a line for each end, the last one last: its key,
// the exit code, and the paths as JSON.
const (
	endsHead = "how commands ended without the work, 2\n"
	maxEnds  = 2000
	endsSize = 256 << 10 // bytes of all of it
)

// lastOwn is the last exit code that a program gives itself: what is above is a signal's. 125 says
// that no command ran.
const lastOwn, noCommand = 127, 125

// key names an end.
func (e *Ends) key(ctx context.Context, job *Job) (string, error) {
	e.once.Do(func() { e.on, e.err = e.Of(ctx) })
	if e.err != nil {
		return "", e.err
	}
	return fmt.Sprintf("%x", sha256.Sum256(fmt.Appendf(nil, "%q %q %q %q", job.Tree, job.Line, e.on, job.Checks))), nil
}

// find is the end of a command, if it is kept.
func (e *Ends) find(ctx context.Context, job *Job) (o Outcome, ok bool) {
	key, err := e.key(ctx, job)
	if err != nil {
		return o, false
	}
	ends, err := e.read()
	if err != nil {
		return o, false
	}
	for _, end := range ends {
		if end.key == key {
			return Outcome{End: Exited, Exit: end.exit, Opened: &Watched{Checks: end.opened}}, true
		}
	}
	return o, false
}

// keeps reports whether an end may be kept: the command ended of itself, and what it opened was seen,
// where anything is.
func (e *Ends) keeps(o *Outcome) bool {
	return (o.Opened == nil || o.Opened.Not != "" || o.Opened.ChecksNot == "") && o.End == Exited && o.Exit != noCommand && o.Exit <= lastOwn
}

// keep keeps an end, if it may be. What cannot be kept is run again.
func (e *Ends) keep(ctx context.Context, job *Job, o *Outcome) {
	if !e.keeps(o) {
		return
	}
	key, err := e.key(ctx, job)
	if err != nil {
		return
	}
	now := ended{key: key, exit: o.Exit, opened: []string{}}
	if o.Opened != nil && o.Opened.Not == "" {
		now.opened = append(now.opened, o.Opened.Checks...)
	}
	text := now.line()
	if len(endsHead)+len(text) > endsSize || !utf8.ValidString(strings.Join(now.opened, "/")) { // JSON has no such name
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	ends, err := e.read()
	if err != nil {
		return
	}
	ends = slices.DeleteFunc(ends, func(old ended) bool { return old.key == key })
	for _, end := range slices.Backward(ends[max(0, len(ends)-maxEnds+1):]) {
		line := end.line()
		if len(endsHead)+len(line)+len(text) > endsSize {
			break // and so the oldest go
		}
		text = line + text
	}
	atomicfile.WritePrivate(e.File, []byte(endsHead+text), 0o600)
}

// ended is a line of the file.
type ended struct {
	key    string
	exit   int
	opened []string
}

func (e ended) line() string {
	opened, _ := json.Marshal(e.opened) // of strings
	return fmt.Sprintf("%s %d %s\n", e.key, e.exit, opened)
}

// read reads the file, and throws one away that nobody wrote so, or that somebody else could have
// written.
func (e *Ends) read() ([]ended, error) {
	f, err := os.OpenFile(e.File, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, errors.Join(err, os.Remove(e.File))
	}
	defer f.Close()
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return nil, err
	}
	var ends []ended
	if st.Mode&unix.S_IFMT == unix.S_IFREG && st.Mode&0o077 == 0 && int(st.Uid) == os.Geteuid() {
		data, err := io.ReadAll(io.LimitReader(f, endsSize+1))
		if err != nil {
			return nil, err
		}
		if ends = parseEnds(string(data)); ends != nil {
			return ends, nil
		}
	}
	return nil, os.Remove(e.File)
}

// anEnd is a line of the file.
var anEnd = pattern.New(`^[0-9a-f]{64} (?:[0-9]|[1-9][0-9]|1[01][0-9]|12[0-7]) \[.*\]\n$`)

// parseEnds reads what keep writes; nil is for anything else.
func parseEnds(text string) []ended {
	body, ok := strings.CutPrefix(text, endsHead)
	if !ok || len(text) > endsSize {
		return nil
	}
	ends := []ended{}
	for line := range strings.Lines(body) {
		if !anEnd.MatchString(line) {
			return nil
		}
		part := strings.SplitN(line, " ", 3)
		end := ended{key: part[0]}
		end.exit, _ = strconv.Atoi(part[1]) // of digits
		if json.Unmarshal([]byte(part[2]), &end.opened) != nil {
			return nil
		}
		ends = append(ends, end)
	}
	return ends
}
