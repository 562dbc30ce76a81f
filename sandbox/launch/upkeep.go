package launch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/internal/growth"
	"git-ward/internal/process"
	"git-ward/internal/runstate"
	"git-ward/internal/scratch"
	"git-ward/sandbox/door"
	"git-ward/sandbox/verifier/local"
)

// recordsTime is how long the end of a launch waits for push records.
const recordsTime = 20 * time.Second

// keepUp maintains the repository during the launch: it writes push records that an earlier
// launcher left unwritten (AUD-2), and runs git ward maintain when it is due (GATE-6). The
// returned function ends that and writes the records that this launch leaves.
func (l *launch) keepUp(ctx context.Context) (finish func()) {
	l.warn()
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		l.sweepCache()
		l.writeRecords(ctx)
		l.maintain(ctx)
	}()
	return func() {
		cancel()
		<-ended
		l.writeRecords(ctx)
	}
}

// sweepCache removes leftovers of a cache fill by a killed verification, even if this launch
// does not use the cache: up to twice [verify] cache_size of the disk.
func (l *launch) sweepCache() {
	if err := scratch.Sweep(filepath.Join(l.spec.Bare, local.CachePath)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		l.log.Warn().Err(err).Msg("what is left of a fill of the cache stays")
	}
}

// warn says at the start what will be refused.
func (l *launch) warn() {
	for _, line := range runstate.Warnings(l.spec.Bare, l.spec.Settings) {
		fmt.Fprintf(l.spec.Messages, "warning: %s\n", line)
	}
}

const (
	// maintainAfter keeps maintenance out of a launch's first seconds, and out of short
	// commands.
	maintainAfter    = 3 * time.Second
	maintainInterval = 5 * time.Second
)

// maintain runs git ward maintain whenever it is due, until ctx ends.
func (l *launch) maintain(ctx context.Context) {
	due := due{bare: l.spec.Bare, limit: l.spec.Settings.Limits.AgentObjects}
	for wait := maintainAfter; ; wait = maintainInterval {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait): // nothing announces that a ledger grew
		}
		if !due.now(time.Now()) {
			continue
		}
		began := time.Now()
		err := l.runWard(ctx, "maintain", l.spec.Bare)
		if err != nil && ctx.Err() == nil {
			l.log.Warn().Err(err).Msg("the maintenance of the repository failed; it is tried again")
		}
		due.ran(began, time.Now(), err == nil)
	}
}

// due decides when maintenance is due: hourly; as soon as the agent's pushes fill half of
// their quota and something is new; and when there are many loose objects, which pushes make,
// and refused ones' records too.
type due struct {
	bare    string
	limit   int64
	last    time.Time     // when this launch last ran it; zero before that
	pause   time.Duration // the earliest next run
	failed  bool          // that one
	brought int64         // size of the agent's pushes at that time
	refs    git.Mark      // size of its branches at that time
}

const (
	hourly = time.Hour
	// rest is the least time between two runs, except for deletions.
	rest = 2 * time.Minute
	// pauses is the pause after a run as a multiple of its duration, because the agent's
	// pushes cause runs and make them long.
	pauses = 4
	// manyLoose is the number of loose objects in one of 256 directories that counts as many:
	// git's gc.auto, 6,700, divided.
	manyLoose = 27
)

func (d *due) now(now time.Time) bool {
	l, err := growth.Read(d.bare)
	switch since := now.Sub(d.last); {
	case since < 0: // the clock was put back
		return true
	case since < d.pause:
		return false
	case err != nil, d.failed, d.loose() > manyLoose:
		return since > rest
	case now.Sub(l.Counted).Abs() > hourly && since > hourly: // a clock that is ahead counts, too
		return true
	case l.Bytes <= d.limit/2:
		return false
	case d.last.IsZero() || l.Brought-d.brought > d.limit/8:
		return true
	}
	return now.Sub(d.last) > rest && d.mark() != d.refs
}

func (d *due) ran(began, now time.Time, ok bool) {
	d.last, d.pause, d.refs, d.failed = now, pauses*now.Sub(began), d.mark(), !ok
	if l, err := growth.Read(d.bare); err == nil {
		d.brought = l.Brought
	}
}

func (d *due) mark() git.Mark { return git.Open(d.bare).Mark("refs/heads/agent/") }

// loose estimates the number of loose objects from one directory.
func (d *due) loose() int {
	files, err := os.ReadDir(filepath.Join(d.bare, "objects/17"))
	if err != nil {
		return 0
	}
	return len(files)
}

// writeRecords starts git-ward only if a push lacks its record; most launches start none.
func (l *launch) writeRecords(ctx context.Context) {
	files, err := os.ReadDir(filepath.Join(l.spec.Bare, "ward/pending"))
	if err != nil || !slices.ContainsFunc(files, func(f os.DirEntry) bool { return strings.HasSuffix(f.Name(), ".json") }) {
		return
	}
	// The launch's end must not cancel it, because that end waits for it.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordsTime)
	defer cancel()
	if err := l.runWard(ctx, "maintain", "--records", l.spec.Bare); err != nil {
		l.log.Warn().Err(err).Msg("pushes wait for their records: git ward fsck --repair writes them")
	}
}

// runWard runs a git-ward verb and logs its output.
func (l *launch) runWard(ctx context.Context, args ...string) error {
	said, err := RunWard(ctx, l.spec.Programs.Ward, l.spec.Bare, args...)
	if said != "" {
		l.log.Info().Str("says", diag.Clean(said[:min(len(said), 2000)])).Msg("git ward " + args[0])
	}
	return err
}

// RunWard runs a verb of git-ward's, the program, in a repository, and returns what it says.
func RunWard(ctx context.Context, program, bare string, args ...string) (said string, err error) {
	out, err := wardCommand(ctx, program, bare, args...).CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// wardCommand is a git-ward verb with the environment that git needs.
func wardCommand(ctx context.Context, program, bare string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Env = bare, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "LC_ALL=C"}
	process.EndGroup(cmd, syscall.SIGTERM, time.Second)
	return cmd
}

// recordEnded records a push that a door ended at a limit (GATE-6).
func (l *launch) recordEnded(ctx context.Context, e door.Ended) error {
	ctx, cancel := context.WithTimeout(ctx, recordsTime)
	defer cancel()
	return l.runWard(ctx, "maintain", "--ended", e.String(), l.spec.Bare)
}
