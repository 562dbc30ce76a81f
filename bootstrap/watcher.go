// Package bootstrap is the watcher: it keeps one agent running, moves it to
// another branch or back to an older commit when the agent signals so, and ends
// one that runs away. An agent that rewrites itself can break itself as it likes;
// what runs next is main, or the last commit of main that started (BOOT-1..5).
//
// What the agent can write is read as an enemy's: no links, no pipes, bounded.
// All work on its trees is done with its rights and never with the watcher's. The
// watcher's own state is one small file, logs, and refs; killed at any point and
// started again it goes on.
package bootstrap

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/rs/zerolog"
	"golang.org/x/sys/unix"

	"git-ward/internal/config"
	"git-ward/internal/diag"
	"git-ward/protocols/boot"
)

// Options is what Run needs to know. Paths are absolute.
type Options struct {
	Bare, State, Config, Door string // Door may be ""
	Model                     string
	Once                      bool // end when the agent ends by itself
	Settings                  *config.Config
	Agent                     string // the agent that ships with Ward
	AgentUser                 int    // 0: the watcher's own
	Self                      string // this program
	Stdout, Stderr            io.Writer
}

// clock is the wall clock. It is written down and never computed with, because it
// may jump; a test makes it.
var clock = time.Now

// watcher is one run of it.
type watcher struct {
	Options
	place
	*spare
	journal journal
	remote  remote
	log     zerolog.Logger
	now     func() time.Time
	name    string // of the repository, without .git
	fenced  bool   // alone in a container, but for the first process

	processes uint64 // bound on the agent's
	errors    io.Writer
	console   *console
	inotify   chan fsnotify.Event

	state   state
	rescued []string
	brief   int // runs in a row that were short
	starts  []time.Time

	undelivered      time.Time
	undeliveredPause time.Duration
}

// Run watches until ctx ends, or with Once until the agent ends by itself. An
// agent's exit code comes back as a cli.ExitCode.
func Run(ctx context.Context, o Options) error {
	// Children die with the thread that started them, so all are started from this
	// one.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	w := &watcher{Options: o, place: place{state: o.State, uid: os.Getuid()}, now: clock, remote: openRemote(o.Bare)}
	w.name = strings.TrimSuffix(filepath.Base(o.Bare), ".git")
	w.processes = processesFor(o.AgentUser)
	if err := w.becomeSupervisor(); err != nil {
		return err
	}
	w.move = func(from, to string) error {
		return w.runAgent(ctx, job{dir: "/", time: time.Minute, out: io.Discard, args: []string{"mv", "-T", "--", from, to}})
	}
	if err := w.prepare(o.AgentUser != 0); err != nil {
		return err
	}
	lock, err := w.lock()
	if err != nil {
		return err
	}
	defer lock.Close()
	closeLogs, err := w.openLogs()
	if err != nil {
		return err
	}
	defer closeLogs()
	w.spare = &spare{w.own("spare")}
	w.spare.hold()
	w.journal = journal{w.place, 0o666, w.spare}
	if o.AgentUser == 0 {
		w.journal.mode = 0o644
	}
	if err := w.writeGitConfig(); err != nil {
		return err
	}
	notes, err := w.listen()
	if err != nil {
		w.log.Warn().Err(err).Msg("no notifications of signals; looking instead")
	} else {
		defer notes.Close()
	}
	w.loadState()
	w.recover()
	return w.loop(ctx)
}

// becomeSupervisor takes what a supervisor needs and gives up what its children
// must not get.
func (w *watcher) becomeSupervisor() error {
	w.fenced = w.AgentUser != 0 && os.Getuid() != 0 && os.Getppid() == 1 && firstIsForwarder()
	if !w.fenced {
		// Orphans of the agent come back here, to be ended with it. In the fence they
		// go to the first process.
		if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil || w.AgentUser == 0 {
			return err
		}
	}
	// Capabilities reach a child through the ambient set. This process keeps its
	// own; what it starts has none.
	if _, _, errno := syscall.AllThreadsSyscall6(syscall.SYS_PRCTL, unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0, 0); errno != 0 {
		return fmt.Errorf("the capabilities cannot be kept from the agent: %w", errno)
	}
	// No process of the agent's may look into this one, or into its children on
	// their way to the agent's user.
	return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
}

// firstIsForwarder reports whether the first process that can be seen is the one
// that a fence begins with. What it decides, a kill of all processes, must not
// happen to a machine.
func firstIsForwarder() bool {
	name, err := os.ReadFile("/proc/1/comm")
	return err == nil && string(name) == "ward-inside\n"
}

// lockPatience is how long lock tries. A child that a killed watcher was just
// about to start holds the lock until it gets to its exec.
const lockPatience = 2 * time.Second

// lock holds the state directory for one watcher. It ends with the process.
func (w *watcher) lock() (*os.File, error) {
	f, err := os.OpenFile(w.own("lock"), os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o644)
	if err != nil {
		return nil, err
	}
	for end := time.Now().Add(lockPatience); ; time.Sleep(20 * time.Millisecond) {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EWOULDBLOCK) || time.Now().After(end) {
			break
		}
	}
	if err != nil {
		f.Close()
	}
	if errors.Is(err, unix.EWOULDBLOCK) {
		err = diag.Hint(fmt.Errorf("another watcher works in %s", w.State), "one at a time: stop that one, or give this one another --state")
	}
	return f, err
}

func (w *watcher) openLogs() (closeAll func(), err error) {
	own, err := w.openLog(w.ownLog(), ownLogSize)
	if err != nil {
		return nil, err
	}
	errs, err := w.openLog(w.errorLog(), errorLogSize)
	if err != nil {
		return nil, err
	}
	w.errors = diag.NewScreen(errs) // the agent writes it, and people read it
	w.console = newConsole(w.Stderr)
	text := zerolog.ConsoleWriter{Out: diag.NewScreen(w.Stderr), NoColor: true, TimeFormat: time.RFC3339, TimeLocation: time.UTC}
	zerolog.ErrorHandler = func(error) {} // a full disk; the line is on stderr still
	w.log = zerolog.New(io.MultiWriter(quiet{diag.JSONLines{Out: own}}, quiet{text})).With().Timestamp().Str("by", "watcher").Logger()
	return func() { own.Close(); errs.Close() }, nil
}

// quiet is a writer whose failure does not keep the next one from its line.
type quiet struct{ io.Writer }

func (q quiet) Write(p []byte) (int, error) {
	q.Writer.Write(p)
	return len(p), nil
}

// listen hears of signals at once. Looking stays the backup.
func (w *watcher) listen() (io.Closer, error) {
	n, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	if err := n.Add(w.signals()); err != nil {
		n.Close()
		return nil, err
	}
	w.inotify = n.Events
	go func() {
		for range n.Errors { // the look finds what was lost
		}
	}()
	return n, nil
}

// recover finishes what a watcher that was killed left half done: a start whose
// end the log does not tell has failed, and main is next.
func (w *watcher) recover() {
	e, open := w.journal.unfinished()
	if open {
		w.report(boot.Failure, e.Branch, e.Commit, "the watcher ended while it started")
	}
	h := w.state.Hop
	if h == nil || !h.Started {
		return
	}
	if !open && h.Kind == rollback && w.journal.succeeded(0, boot.Main, h.Commit) {
		w.pinTo(context.Background(), h)
	}
	w.state.Hop = nil
	w.save()
}

// report writes a line to bootstrap.log, and to the watcher's own.
func (w *watcher) report(event boot.Event, branch, commit, reason string) {
	w.log.Info().Str("branch", branch).Str("commit", commit).Str("reason", reason).Msg(string(event))
	e := boot.Entry{Time: utc(w.now), Event: event, Branch: branch, Commit: commit, Reason: reason}
	if err := w.journal.append(e); err != nil {
		w.log.Error().Err(err).Msg("bootstrap.log cannot be written")
	}
}

// loop starts what is to run, again and again.
func (w *watcher) loop(ctx context.Context) error {
	for {
		w.take()
		w.deliver(ctx)
		t, err := w.next(ctx)
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			if w.Once {
				return err
			}
			w.log.Error().Str("error", explain(err)).Msg("nothing can be started")
			w.brief++
		}
		var r run
		if t != nil {
			r = w.boot(ctx, t)
			w.judge(ctx, t, r)
		}
		if ctx.Err() != nil {
			return r.exit()
		}
		if w.Once && t != nil && w.over(t, r) {
			w.deliver(ctx)
			return r.exit()
		}
		if err := w.pause(ctx); err != nil {
			return nil
		}
	}
}

// over reports whether a run was the last one of a watcher that runs once:
// neither a signal, a fallback nor a guard's restart is left to do.
func (w *watcher) over(t *target, r run) bool {
	if r.signaled || r.notice != nil || t.hop != nil && !r.booted || w.state.Hop != nil {
		return false
	}
	return r.booted || w.state.Pin == nil || t.pinned
}

// pause is the time before the next start: none after a run that was long, or the
// first that was short; then more and more. A signal or a move of main ends it.
func (w *watcher) pause(ctx context.Context) error {
	if w.brief < 2 {
		return ctx.Err()
	}
	limit := w.Settings.Bootstrap.Check.Duration
	wait := min(limit, time.Second<<min(w.brief-2, 20))
	w.log.Info().Str("pause", wait.String()).Int("short_runs", w.brief).Msg("before the next start")
	mark := w.remote.Mark(mainRef)
	end := time.NewTimer(wait)
	defer end.Stop()
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-end.C:
			return nil
		case <-w.inotify:
		case <-look.C:
		}
		if w.signaled() || w.remote.Mark(mainRef) != mark {
			return nil
		}
	}
}

// lookEvery is how often signals and main's move are looked for (AGT-6).
const lookEvery = 500 * time.Millisecond

// repoArgs tell the agent's program where everything is.
func (w *watcher) repoArgs() []string {
	args := []string{"--bare", w.Bare, "--state", w.State}
	if w.Door != "" {
		args = append(args, "--door", w.Door)
	}
	return append(args, "--config", w.Config)
}
