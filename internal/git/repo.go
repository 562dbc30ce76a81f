// Package git drives the git binary: it starts children with a scrubbed
// environment and limits, reads objects through one `cat-file` child, moves refs
// by compare-and-swap, and writes single objects.
//
// Only git moves refs and reads packs: other readers of quarantine, packed refs and lock files
// got them wrong. The hooks link this package, so it stays small.
package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// Zero is the object id that stands for "no object" in ref updates.
const Zero = "0000000000000000000000000000000000000000"

// EmptyTree is the id of a tree without entries.
const EmptyTree = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"

// Limits bound one git child (GIT-6). Zero fields do not limit.
type Limits struct {
	Memory int64         // RLIMIT_AS, bytes
	Alloc  int64         // GIT_ALLOC_LIMIT, bytes for one allocation
	CPU    time.Duration // RLIMIT_CPU, rounded up to seconds
	File   int64         // RLIMIT_FSIZE, bytes
}

// Repo is a repository, with the environment and limits for git children in it.
type Repo struct {
	Dir    string // $GIT_DIR, absolute
	Limits Limits

	quarantine []string // the three variables, inside pre-receive (GIT-4)
	index      string   // an index file of one's own
	objects    string   // another repository's objects; see Apart
	beside     string   // where objects are written; see WithObjectDir
	held       *os.File // what every child has open; see Holding
}

// Open names a repository by its git directory; it does not look at it.
func Open(dir string) *Repo { return &Repo{Dir: dir} }

// WithIndex is the same repository with the caller's index file, for making trees.
func (r *Repo) WithIndex(path string) *Repo {
	other := *r
	other.index = path
	return &other
}

// Holding is the same repository with children that inherit a lock of package flock: if the
// caller is killed, the lock is free once the last git command that it started has ended.
func (r *Repo) Holding(lock *os.File) *Repo {
	other := *r
	other.held = lock
	return &other
}

// QuarantineVars are what receive-pack sets for pre-receive: pushed objects are
// below the first two, and refs cannot move while the third is set.
var QuarantineVars = []string{"GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_QUARANTINE_PATH"}

// FromHook is the repository of a receive-pack hook, read from the environment
// that githooks(5) promises. Readers see the quarantine; ref updates do not.
func FromHook(getenv func(string) string) (*Repo, error) {
	dir := getenv("GIT_DIR")
	if dir == "" {
		return nil, errors.New("GIT_DIR is not set: a hook is started by git receive-pack, not by hand")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	r := Open(dir)
	for _, name := range QuarantineVars {
		if v := getenv(name); v != "" {
			r.quarantine = append(r.quarantine, name+"="+v)
		}
	}
	return r, nil
}

// Environ is the scrubbed environment of every git child on the host (GIT-5). Of the caller's
// it has only PATH and TMPDIR. Only the repository's own configuration counts, without
// settings that run programs (GATE-7). Transports, replacement objects, prompts and
// translations are off.
func (r *Repo) Environ() []string { return Local(Harden(r.base())) }

func (r *Repo) base() []string {
	env := []string{
		"PATH=" + os.Getenv("PATH"),
		"HOME=/nonexistent",
		"LC_ALL=C",
		"TZ=UTC",
		"GIT_DIR=" + r.Dir,
		"GIT_CONFIG_NOSYSTEM=1",
		"GIT_CONFIG_GLOBAL=/dev/null",
		"GIT_NO_REPLACE_OBJECTS=1",
		"GIT_TERMINAL_PROMPT=0",
		"GIT_OPTIONAL_LOCKS=0",
	}
	if tmp := os.Getenv("TMPDIR"); tmp != "" {
		env = append(env, "TMPDIR="+tmp)
	}
	if r.index != "" {
		env = append(env, "GIT_INDEX_FILE="+r.index)
	}
	if r.objects != "" {
		env = append(env, "GIT_OBJECT_DIRECTORY="+r.objects, "GIT_ATTR_NOSYSTEM=1")
	}
	if r.Limits.Alloc > 0 {
		env = append(env, fmt.Sprintf("GIT_ALLOC_LIMIT=%d", r.Limits.Alloc))
	}
	return env
}

// reader is a child that sees pushed objects; writer one that may move refs.
func (r *Repo) reader(ctx context.Context, args ...string) *Child {
	cmd := r.writer(ctx, args...)
	cmd.Env = append(cmd.Env, r.quarantine...)
	return cmd
}

func (r *Repo) writer(ctx context.Context, args ...string) *Child {
	env := r.Environ()
	if len(args) > 0 && (args[0] == "rev-parse" || args[0] == "config") {
		// They run nothing, and are asked what the repository says: where its hooks are.
		env = Local(r.base())
	}
	c := child(ctx, r.Dir, env, args)
	c.limits = r.Limits
	if r.held != nil {
		c.ExtraFiles = []*os.File{r.held}
	}
	return c
}

// Output runs a reading git command and returns its standard output. If it does not exit 0,
// the error has git's own words.
func (r *Repo) Output(ctx context.Context, args ...string) ([]byte, error) {
	return r.OutputFrom(ctx, nil, args...)
}

// OutputFrom is Output with bytes as standard input.
func (r *Repo) OutputFrom(ctx context.Context, stdin []byte, args ...string) ([]byte, error) {
	return r.output(ctx, stdin, 0, args...)
}

// output is OutputFrom for a command that may also exit with a code that is an answer.
func (r *Repo) output(ctx context.Context, stdin []byte, answer int, args ...string) ([]byte, error) {
	cmd := r.reader(ctx, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if stdin != nil {
		cmd.Stdin = bytes.NewReader(stdin)
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	if err := cmd.Wait(); err != nil && (answer == 0 || cmd.ProcessState.ExitCode() != answer) {
		return nil, ChildError(ctx, subcommand(args), err, errs.Bytes())
	}
	return out.Bytes(), nil
}

// subcommand is git's of a command line, behind settings for it alone.
func subcommand(args []string) string {
	for len(args) > 2 && args[0] == "-c" {
		args = args[2:]
	}
	return args[0]
}

// Exits runs a reading git command and returns true for exit 0 and false for exit 1; anything
// else is an error.
func (r *Repo) Exits(ctx context.Context, args ...string) (bool, error) {
	_, err := r.Output(ctx, args...)
	if SaidNo(err) {
		return false, nil
	}
	return err == nil, err
}

// spares reports whether a process with these limits has most of its time before it (clock_getcpuclockid(3)).
func (l Limits) spares(pid int) bool {
	var used unix.Timespec
	return l.CPU == 0 || unix.ClockGettime(int32(^pid<<3|2), &used) == nil && time.Duration(used.Nano()) < l.CPU/2
}

// apply puts the limits on a running process and, by inheritance, on its future
// children (prlimit(2)).
func (l Limits) apply(pid int) error {
	put := func(resource int, value uint64) error {
		err := unix.Prlimit(pid, resource, &unix.Rlimit{Cur: value, Max: value}, nil)
		if err != nil && !errors.Is(err, unix.ESRCH) { // ESRCH: it is done already
			return fmt.Errorf("prlimit: %w", err)
		}
		return nil
	}
	set := func(resource int, value uint64) error {
		if value == 0 {
			return nil
		}
		return put(resource, value)
	}
	return errors.Join(
		set(unix.RLIMIT_AS, uint64(l.Memory)),
		set(unix.RLIMIT_CPU, uint64((l.CPU+time.Second-1)/time.Second)),
		set(unix.RLIMIT_FSIZE, uint64(l.File)),
		put(unix.RLIMIT_CORE, 0),
	)
}
