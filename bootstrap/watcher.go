// Package bootstrap is the watcher. It keeps one agent running, starts it from another branch or an older
// commit when the agent signals so, and ends an agent that exceeds its limits. An agent that rewrites itself
// may break itself: the next start is from main, or from the last commit of main that held (BOOT-1..5).
//
// This package decides what runs next and what follows from each run. Its parts are statedir (paths and
// files), signals, remote (the repository), trees (work trees), supervisor (processes), journal
// (bootstrap.log) and notices (reports to the PM). All lasting state is in one small file, logs and refs, so
// that a watcher that was killed at any point continues when it is started again.
package bootstrap

import (
	"cmp"
	"context"
	"io"
	"runtime"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/rs/zerolog"

	"git-ward/bootstrap/journal"
	"git-ward/bootstrap/notices"
	"git-ward/bootstrap/remote"
	"git-ward/bootstrap/reports"
	"git-ward/bootstrap/signals"
	"git-ward/bootstrap/statedir"
	"git-ward/bootstrap/supervisor"
	"git-ward/bootstrap/trees"
	"git-ward/internal/config"
	"git-ward/internal/diag"
	"git-ward/internal/failpoint"
	"git-ward/internal/lines"
	"git-ward/protocols/comms"
)

// Options is what Run needs to know. Paths are absolute.
type Options struct {
	Bare, State, Config string
	Door                string // the agent's socket; "" pushes straight into the repository
	ReportDoor          string // the watcher's own socket; "" is Door
	Model               string
	Reset               bool   // first delete the state that is not in refs
	Once                bool   // end when the agent ends by itself
	Directive           string // the only directive to work on, after which the watcher ends; "" is any
	Settings            *config.Config
	Agent               string // the agent that ships with Ward
	AgentUser           int    // 0: the watcher's own
	Self                string // path of this program, which has the verb supervisor.Verb
	Stdout, Stderr      io.Writer
	Live                io.Writer        // gets the agents' live events (internal/live); may be nil
	Beat                io.Writer        // gets the watcher's signs of life; may be nil
	Now                 func() time.Time // the wall clock, for logs; nothing is computed from it, because it may jump
}

// ends reports whether the watcher ends when the agent ends by itself.
func (o *Options) ends() bool { return o.Once || o.Directive != "" }

// watcher is one run of the watcher: its parts and its state.
type watcher struct {
	opts       Options
	dir        *statedir.Dir
	remote     *remote.Remote
	signals    *signals.Box
	journal    *journal.Journal
	supervisor *supervisor.Supervisor
	trees      *trees.Trees
	notices    *notices.Notices
	state      *stateFile
	restarts   restarts
	log        zerolog.Logger
	tee        *supervisor.Tee // for the agents' output
	errors     io.Writer       // errors.log
	notify     <-chan fsnotify.Event
}

// Run watches until ctx ends or, with Once or Directive, until the agent ends by itself. Then code is the
// agent's exit code.
func Run(ctx context.Context, o Options) (code int, err error) {
	// Children die with the thread that started them (PDEATHSIG), so all are started from this
	// one.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	w := &watcher{opts: o, remote: remote.Open(o.Bare, o.Settings.Control), dir: &statedir.Dir{Path: o.State, Separate: o.AgentUser != 0}}
	if w.supervisor, err = supervisor.Become(o.Self, o.AgentUser); err != nil {
		return 0, err
	}
	living, enough := context.WithCancel(ctx)
	defer enough()
	beat(living, o.Beat, o.Settings.Launch.Silence.Duration/beats)
	w.dir.Rename = func(from, to string) error {
		return w.supervisor.Run(ctx, supervisor.Command{Dir: "/", Time: time.Minute, Args: []string{"mv", "-T", "--", from, to}})
	}
	if err := w.dir.Prepare(); err != nil {
		return 0, err
	}
	lock, err := w.dir.Lock(ctx)
	if err != nil {
		return 0, err
	}
	defer lock.Close()
	closeLogs, err := w.openLogs()
	if err != nil {
		return 0, err
	}
	defer closeLogs()
	w.dir.Reserve()
	w.assemble()
	if err := w.trees.WriteGitConfig(); err != nil {
		return 0, err
	}
	notify, err := w.listen()
	if err != nil {
		w.log.Warn().Err(err).Msg("no notifications of signals; looking instead")
	} else {
		defer notify.Close()
	}
	w.recover(ctx)
	return w.loop(ctx)
}

const (
	// errorLogSize and ownLogSize are the sizes, in bytes, at which errors.log and watcher.log
	// are rotated; one old file is kept.
	errorLogSize = 16 << 20
	ownLogSize   = 4 << 20
	// maxEvents bounds the bytes of events that wait for a launcher that does not read, and
	// eventsPatience how long the end waits for it.
	maxEvents      = 256 << 10
	eventsPatience = time.Second
)

func (w *watcher) openLogs() (closeAll func(), err error) {
	own, err := w.dir.OpenLog(w.dir.WatcherLog(), ownLogSize)
	if err != nil {
		return nil, err
	}
	errs, err := w.dir.OpenLog(w.dir.ErrorLog(), errorLogSize)
	if err != nil {
		own.Close()
		return nil, err
	}
	w.errors = diag.NewScreen(errs) // the agent writes it, and people read it
	if w.opts.Live == nil {
		w.opts.Live = io.Discard
	}
	events := lines.NewQueue(w.opts.Live, maxEvents)
	w.tee = supervisor.NewTee(w.errors, w.opts.Stderr, events)
	text := zerolog.ConsoleWriter{Out: diag.NewScreen(w.opts.Stderr), NoColor: true, TimeFormat: time.RFC3339, TimeLocation: time.UTC}
	zerolog.ErrorHandler = func(error) {} // on a full disk the line is still on stderr
	w.log = zerolog.New(io.MultiWriter(bestEffort{diag.JSONLines{Out: own}}, bestEffort{text})).With().Timestamp().Str("by", "watcher").Logger()
	return func() { w.tee.Flush(); events.Close(eventsPatience); own.Close(); errs.Close() }, nil
}

// bestEffort ignores errors, so that io.MultiWriter also writes to the writers after it.
type bestEffort struct{ out io.Writer }

func (b bestEffort) Write(p []byte) (int, error) {
	b.out.Write(p)
	return len(p), nil
}

// assemble makes the parts that need the state directory and the logs.
func (w *watcher) assemble() {
	w.state = loadState(w.dir, w.log)
	w.journal = &journal.Journal{Dir: w.dir, Now: w.opts.Now}
	w.signals = &signals.Box{Dir: w.dir, Log: w.log, Refused: w.refused, Remove: w.removeSignal}
	program := &program{supervisor: w.supervisor, path: w.opts.Agent, dir: w.opts.State, repoArgs: w.repoArgs()}
	w.trees = &trees.Trees{
		Dir: w.dir, Bare: w.opts.Bare, Remote: w.remote, Supervisor: w.supervisor, Settings: w.opts.Settings,
		Rescue: program.rescue, Record: &w.state.Trees, Save: w.state.save, Log: w.log,
	}
	w.notices = &notices.Notices{
		Record: &w.state.Notices, Save: w.state.save, Report: w.report,
		MaxPause: w.opts.Settings.Bootstrap.Check.Duration, Now: w.opts.Now, Log: w.log,
	}
	if w.opts.Reset {
		w.reset()
	}
	w.restarts = restarts{maxPause: w.opts.Settings.Bootstrap.Check.Duration, limit: w.opts.Settings.Guard.Restarts}
}

// removeTime bounds the removal of one malformed signal, which may be a tree of millions of
// files; the rest goes later.
const removeTime = 3 * time.Second

// removeSignal removes a path with the rights of the agent's user (signals.Box). The agent
// may be running.
func (w *watcher) removeSignal(path string) error {
	return w.supervisor.Concurrently(context.Background(), supervisor.Command{Dir: "/", Time: removeTime,
		Args: []string{"sh", "-c", `chmod -R u+rwX -- "$1" 2>/dev/null; rm -rf -- "$1"`, "sh", path}})
}

// report appends a notice to COMMS.md, as the watcher (notices.Notices).
func (w *watcher) report(ctx context.Context, n notices.Notice) error {
	r := &reports.Reports{Bare: w.opts.Bare, Dir: w.dir.Private(), Remote: w.remote}
	if door := cmp.Or(w.opts.ReportDoor, w.opts.Door); door != "" {
		r.Connect = []string{w.opts.Agent, "connect", door}
	}
	err := r.Once(ctx, n.ID, comms.NewReport{Time: w.opts.Now(), Directive: n.Directive(w.opts.Directive), Status: n.Status, Text: n.Text})
	failpoint.Reach("bootstrap/told")
	return err
}

// listen is notified of signals at once. Polling remains as the backup.
func (w *watcher) listen() (io.Closer, error) {
	n, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	if err := n.Add(w.dir.Signals()); err != nil {
		n.Close()
		return nil, err
	}
	w.notify = n.Events
	go func() {
		for range n.Errors { // polling finds the signals of lost events
		}
	}()
	return n, nil
}

// repoArgs are the arguments that tell the agent's program all paths.
func (w *watcher) repoArgs() []string {
	args := []string{"--bare", w.opts.Bare, "--state", w.opts.State}
	if w.opts.Door != "" {
		args = append(args, "--door", w.opts.Door)
	}
	return append(args, "--config", w.opts.Config)
}
