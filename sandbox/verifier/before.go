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

// Ends caches how commands ended on the project without the work, for later verdicts. Nothing in it
// comes from a claim: the tree is the project's, the line is the PM's, and an entry has their hash, the
// exit code, and those of the job's checks that the command opened. A claim with another base, or with
// other files of it, has other hashes.
//
// If two verdicts write at once, one entry may be lost; its command runs again.
type Ends struct {
	File string
	// Of returns all else that an end depends on, such as the image. It is called once. If it fails,
	// nothing is kept.
	Of func(context.Context) (string, error)

	once sync.Once
	on   string
	err  error
	mu   sync.Mutex // of the file's change
}

// The file is a head and a line for each end, the newest last: its key, the exit code, and the paths as
// JSON.
const (
	endsHead = "how commands ended without the work, 2\n"
	maxEnds  = 2000
	endsSize = 256 << 10 // bytes of all of it
)

// lastOwn is the highest exit code of a program that no signal ended. 125 means that no command ran.
const lastOwn, noCommand = 127, 125

// key names an end.
func (e *Ends) key(ctx context.Context, job *Job) (string, error) {
	e.once.Do(func() { e.on, e.err = e.Of(ctx) })
	if e.err != nil {
		return "", e.err
	}
	return fmt.Sprintf("%x", sha256.Sum256(fmt.Appendf(nil, "%q %q %q %q", job.Tree, job.Line, e.on, job.Checks))), nil
}

// find looks for a command's end.
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

// keeps reports whether an end may be kept: the command ended by itself, and the files that it opened
// were observed, if files can be observed at all.
func (e *Ends) keeps(o *Outcome) bool {
	return (o.Opened == nil || o.Opened.Not != "" || o.Opened.ChecksNot == "") && o.End == Exited && o.Exit != noCommand && o.Exit <= lastOwn
}

// keep adds an end, if it may be kept. A command whose end is not kept runs again.
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

// read reads the file. It removes one that keep did not write, or that somebody else could have written.
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

// parseEnds reads what keep writes. It returns nil for anything else.
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
