package fence

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"git-ward/internal/diag"
	"git-ward/internal/live"
	"git-ward/internal/runstate"
	protocol "git-ward/protocols/lease"
	"git-ward/sandbox/lease"
)

// worker is one of those who work for a launch, each behind a door and a gateway of its own,
// each on a directive of its own (MANY-1). What breaks of one touches no other.
type worker struct {
	*launch
	number  int
	holder  string        // its name, of which its leases are
	only    string        // the directive that it is there for, where it works elsewhere
	engine  Engine        // where that is; nil: here
	state   string        // the agent's directory
	payload Payload       // with the worker's own output
	lease   *lease.Worker // nil with a command
	ear     *ear          // nil with a command
	door    string        // socket
	watcher *watcherDoor
	gateway string // socket

	mu     sync.Mutex
	said   runstate.Worker
	cancel context.CancelCauseFunc // ends the present run
	ran    bool                    // its payload has
	held   bool                    // it has held a lease
	gone   bool                    // it has ended
	ended  chan struct{}           // closed when the present run has ended; nil before the first
}

// newWorker is a worker of this launch, from 1, for only one directive where it works
// elsewhere.
func (l *launch) newWorker(number int, only string) *worker {
	w := &worker{launch: l, number: number, only: only, engine: l.spec.Engine, state: l.spec.workerState(number), payload: l.spec.Payload}
	w.holder = fmt.Sprintf("%s.%d", l.name, number)
	w.said = runstate.Worker{Holder: w.holder, Where: w.where(), PID: os.Getpid(), State: w.state}
	if l.book != nil {
		w.lease = l.book.Worker(w.holder, w.said.Where)
	}
	return w
}

// where the worker works, for people.
func (w *worker) where() string {
	switch {
	case w.engine != nil:
		return w.engine.Where(w.work())
	case w.spec.Unfenced:
		return "process"
	}
	return "podman"
}

// run serves the worker and runs its payload until it ends, or ctx does. Its lease is free
// then.
func (w *worker) run(ctx context.Context) (err error) {
	w.control.enter(w)
	defer w.control.leave(w)
	defer w.forget()
	if w.lives != nil {
		w.ear = w.lives.listen(w.payer)
		defer w.ear.close()
		defer w.screen(ctx)()
	}
	if w.lease != nil {
		keeping, enough := context.WithCancel(context.WithoutCancel(ctx))
		go w.lease.Keep(keeping, w.lost)
		defer func() {
			enough()
			err = errors.Join(err, w.lease.Close(context.WithoutCancel(ctx)))
		}()
	}
	if w.engine != nil {
		return w.runElsewhere(ctx)
	}
	if err := os.MkdirAll(home(w.state), 0o700); err != nil {
		return err
	}
	return whileServing(ctx, []opener{w.openDoor, w.openWatcherDoor, w.openGateway}, w.keepRunning)
}

// forget ends what the worker says of itself.
func (w *worker) forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.gone = true
	w.said.Forget(w.spec.Bare)
}

// lost ends what runs for a lease that is not the worker's any more.
func (w *worker) lost(l protocol.Lease, why error) {
	w.log.Error().Err(why).Str("worker", w.holder).Str("directive", l.Directive).Msg("the lease is lost; what works on it ends")
	w.tellLease(protocol.Lease{})
	w.interrupt(diag.Hint(fmt.Errorf("the lease of %s is lost: %w", l.Directive, why), "git ward lease says who has it"))
}

// token is the name that the worker pushes under now, "" for the agent's own.
func (w *worker) token() string {
	if w.lease == nil {
		return ""
	}
	return w.lease.Token(context.Background())
}

// payer names who pays for what the worker does now.
func (w *worker) payer() string {
	if w.lease == nil {
		return w.launch.payer()
	}
	now, _ := w.lease.Current(context.Background())
	return now.Directive
}

// up is told that the payload runs.
func (w *worker) up() {
	w.tell(func(now *runstate.Worker) { now.Doing, now.Why = runstate.Works, "" })
	w.mu.Lock()
	w.ran = true
	w.mu.Unlock()
	w.tellUp()
}

// did says whether the worker's payload has run, and whether it has held a lease.
func (w *worker) did() (ran, held bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ran, w.held
}

// now is what the worker says of itself.
func (w *worker) now() runstate.Worker {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.said
}

// tell changes what the worker says of itself, and writes it down.
func (w *worker) tell(change func(*runstate.Worker)) {
	if w.book == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	before := w.said
	change(&w.said)
	if w.said == before || w.gone {
		return
	}
	if w.said.Doing != before.Doing || w.said.Directive != before.Directive {
		w.said.Since = time.Now().UTC().Truncate(time.Second)
	}
	if err := w.said.Tell(w.spec.Bare); err != nil {
		w.log.Warn().Err(err).Msg("what a worker does is not written down")
	}
}

// tellLease tells what the worker holds.
func (w *worker) tellLease(l protocol.Lease) {
	w.tell(func(now *runstate.Worker) { now.Directive, now.Lease = l.Directive, l.ID })
	w.mu.Lock()
	defer w.mu.Unlock()
	w.held = w.held || l.Directive != ""
}

// tellEnd tells how what worked has ended.
func (w *worker) tellEnd(err error) {
	words := "it ended in good order"
	if err != nil {
		words = firstLine(err)
	}
	if w.ear != nil {
		w.ear.tell(live.Event{Kind: live.Ended, Text: words})
	}
}

// firstLine is an error in one line, cleaned, with what can be done.
func firstLine(err error) string {
	words, _, _ := strings.Cut(diag.Clean(err.Error()), "\n")
	if hints := diag.Hints(err); len(hints) > 0 {
		words += ": " + diag.Clean(hints[0])
	}
	return words
}
