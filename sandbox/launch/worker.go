package launch

import (
	"context"
	"errors"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"git-ward/internal/diag"
	"git-ward/internal/live"
	"git-ward/internal/runstate"
	"git-ward/sandbox/host"
	"git-ward/sandbox/lastgood"
)

// worker is one of a launch's workers, with its own door and gateway, for one directive's
// lease (ONE-2) or a user's command. Its failure affects no other worker.
type worker struct {
	launch   *launch
	number   int
	only     string    // the directive that it is there for; "" with a command
	job      *host.Job // nil with a command, and for another machine's gate
	state    string    // the agent's directory; "" on another machine
	payload  Payload   // includes the worker's own output
	receiver *receiver // nil with a command
	door     string    // socket
	watcher  *watcherDoor
	gateway  string // socket
	site     site
	ahead    *ahead // its prepared container; nil: none
	began    time.Time

	mu   sync.Mutex
	said runstate.Worker
	gone bool // it has ended
}

// openHost has directives worked on by the launch's own workers and by other machines'.
func (l *launch) openHost() {
	l.host = host.New(host.Spec{
		Book: l.book, Settings: l.spec.Settings, Log: l.log, Name: l.name,
		Slots: l.spec.agents(), Only: l.spec.Payload.Directive, Once: l.spec.Payload.Once, Until: l.until,
		Where: l.engine.where, Run: l.work,
		Worked: l.worked, Ends: l.lastGood(), Idle: l.rest, More: l.more,
	})
}

// work runs one of the launch's own workers for a job.
func (l *launch) work(ctx context.Context, j *host.Job) error {
	began := time.Now()
	w := l.engine.prepared(ctx, j)
	if w == nil {
		w = &worker{launch: l, site: l.engine, payload: l.spec.Payload}
	}
	w.assign(j)
	w.began = began
	w.payload.Reset = w.payload.Reset && j.First
	defer func() {
		l.log.Info().Str("directive", j.Directive).Dur("ms", time.Since(began)).Msg("its worker has ended")
	}()
	return w.run(ctx)
}

// more reports whether claims wait for a verdict, or reports of units that are put away for the fold.
func (l *launch) more(ctx context.Context) bool {
	return l.judge().Asked(ctx) || l.fold != nil && l.fold.Pending(ctx)
}

// rest runs when nobody works: the launch reports itself up and returns memory.
func (l *launch) rest() {
	l.tellUp()
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(100) // from now on there is time for garbage collection
	}
	debug.FreeOSMemory()
}

// maxIdle is how many consecutive workers may answer with a program but make no progress
// before the program is given up.
const maxIdle = 3

// lastGood is the list of programs that held.
func (l *launch) lastGood() lastgood.Book {
	return lastgood.Book{Bare: l.spec.Bare, Control: l.spec.Settings.Control}
}

// worked counts workers that end without progress by their program. Its answer made a program
// the last good one; after some such workers, also under a killed launch before, it is given
// up again (BOOT-2).
func (l *launch) worked(ctx context.Context, commit string, moved bool) {
	book, idle := l.lastGood(), 0
	var err error
	if moved {
		err = book.Works(ctx, commit)
	} else {
		idle, err = book.Idle(ctx, commit)
	}
	if idle < maxIdle {
		if err != nil {
			l.log.Error().Err(err).Str("commit", commit).Msg("whether its program works is not counted")
		}
		return
	}
	counted, unpinned, earlier := book.Works(ctx, commit), book.Unpinned(ctx, commit), false
	program, err := book.Program(ctx, commit)
	if err == nil {
		earlier, err = book.Earlier(ctx, program)
	}
	if earlier {
		err = book.FellBack(ctx, commit)
	}
	err = errors.Join(err, counted, unpinned)
	l.log.Error().Err(err).Str("commit", commit).Int("workers", maxIdle).Bool("an earlier one takes its place", earlier).Msg("the program of main answers, but no directive makes progress with it")
}

// runWorkers has the launch's directives worked on, or runs the user's command.
func (l *launch) runWorkers(ctx context.Context) error {
	if l.host != nil {
		defer runstate.ForgetWorkers(l.spec.Bare)
		if l.spec.Payload.Reset {
			if err := l.lastGood().Forget(ctx); err != nil {
				return err
			}
		}
		l.engine.prepare()
		return l.host.Serve(ctx)
	}
	w := &worker{launch: l, number: 1, site: l.engine, payload: l.spec.Payload}
	return w.run(ctx)
}

// newWorker is a worker for a job.
func (l *launch) newWorker(j *host.Job, at site) *worker {
	w := &worker{launch: l, site: at, payload: l.spec.Payload}
	w.assign(j)
	return w
}

// assign gives a worker its job.
func (w *worker) assign(j *host.Job) {
	w.number, w.only, w.job = j.Number, j.Directive, j
	w.said = runstate.Worker{Holder: j.Holder, Directive: j.Directive, Lease: j.Hold.Lease().ID, Where: j.Where, PID: os.Getpid()}
}

// run opens the worker's services and runs its payload until it ends or ctx does.
func (w *worker) run(ctx context.Context) (err error) {
	open, err := w.site.opens(w)
	w.said.State = w.state
	w.begins()
	defer func() { w.leaves(ctx, err) }()
	if w.launch.eventLog != nil {
		w.receiver = w.launch.eventLog.listen(w.only, w.holds, w.job.Waits)
		defer w.receiver.close()
		defer w.screen(ctx)()
	}
	if err != nil {
		return err
	}
	return whileServing(ctx, open, func(ctx context.Context) error {
		err := host.How(ctx, w.site.run(ctx, w))
		w.tellEnd(err)
		return err
	})
}

// begins replaces an idle worker's status by this one's, with its directive or name.
func (w *worker) begins() {
	if w.job == nil {
		return
	}
	for _, other := range runstate.Workers(w.launch.spec.Bare) {
		if other.Directive == w.only {
			other.Forget(w.launch.spec.Bare)
		}
	}
	w.tell(func(now *runstate.Worker) { now.Doing, now.Why = runstate.Starts, "" })
}

// leaves ends the worker's status. After a failure its text stays until another worker takes
// the slot.
func (w *worker) leaves(ctx context.Context, err error) {
	if w.job != nil && host.Followed(ctx, err) {
		w.tell(func(now *runstate.Worker) {
			now.Doing, now.Why, now.Lease, now.Gateway, now.Container = runstate.Restarts, firstLine(err, w.launch.spec.Redact), "", "", ""
		})
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.gone = true
	w.said.Forget(w.launch.spec.Bare)
}

// token is the name under which the worker pushes now, "" for the agent's own.
func (w *worker) token() string {
	if w.job == nil {
		return ""
	}
	return w.job.Hold.Token(context.Background())
}

// holds reports whether the worker still has its lease.
func (w *worker) holds() bool {
	_, ok := w.job.Hold.Current(context.Background())
	return ok
}

// up handles the payload's start.
func (w *worker) up() {
	w.tell(func(now *runstate.Worker) { now.Doing, now.Why = runstate.Works, "" })
	if w.job != nil {
		w.job.Up()
	}
	w.launch.tellUp()
}

// why reports what keeps the payload from running, with the remedy, or "" when that is over.
func (w *worker) why(line string) {
	line = w.launch.spec.words(line)
	w.tell(func(now *runstate.Worker) { now.Why = line })
}

// tell changes the worker's status and writes it.
func (w *worker) tell(change func(*runstate.Worker)) {
	if w.job == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	before := w.said
	change(&w.said)
	if w.said == before || w.gone {
		return
	}
	if w.said.Doing != before.Doing {
		w.said.Since = time.Now().UTC().Truncate(time.Second)
	}
	if err := w.said.Tell(w.launch.spec.Bare); err != nil {
		w.launch.log.Warn().Err(err).Msg("what a worker does is not written down")
	}
}

// tellEnd reports how the payload ended.
func (w *worker) tellEnd(err error) {
	words := "it ended normally"
	if err != nil {
		words = firstLine(err, w.launch.spec.Redact)
	}
	if w.receiver != nil {
		w.receiver.tell(live.Event{Kind: live.Ended, Text: words})
	}
}

// firstLine is an error in one cleaned line with its remedy. A pod's error ends with the
// agent's last output.
func firstLine(err error, redact func() func(string) string) string {
	words, _, _ := strings.Cut(diag.Clean(err.Error()), "\n")
	if hints := diag.Hints(err); len(hints) > 0 {
		words += ": " + diag.Clean(hints[0])
	}
	if redact != nil {
		words = redact()(words)
	}
	return words
}
