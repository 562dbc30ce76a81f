// Package host runs the workers of one launch (ONE-1): it follows the refs, asks
// protocols/schedule who is to work on what, writes that as a lease, and runs a worker for
// exactly that lease, which ends with it. It makes no choices of its own and knows nothing of
// containers: a worker is a function that the launch passes in.
package host

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"git-ward/internal/config"
	"git-ward/internal/failpoint"
	"git-ward/internal/logfile"
	"git-ward/protocols/schedule"
	"git-ward/sandbox/lease"
)

// Spec is what a host works for.
type Spec struct {
	Book     *lease.Book
	Settings *config.Config
	Log      zerolog.Logger
	Name     string // the launcher's name, the prefix of its workers' names
	Slots    int    // the most workers at once, besides those of Offers
	Only     string // the only directive to work on; "" is any
	Once     bool   // end when nothing is left to do
	Until    time.Time
	Now      func() time.Time // the wall clock; nil: this host's
	// Where describes where a directive would be worked on.
	Where func(directive string) string
	// Run runs a worker to its end, or until ctx ends. When it returns, nothing of the worker
	// runs any more.
	Run func(ctx context.Context, j *Job) error
	// Worked gets the commit of main that a worker's agent ran: with true when the directive
	// has moved by it, and with false when the worker ended without progress. It may be nil.
	Worked func(ctx context.Context, commit string, moved bool)
	// Ends stores workers' failures for the next launch; nil: they are not stored.
	Ends Ends
	// Idle is called when the last worker has ended, and when there is nobody to start; it may
	// be nil.
	Idle func()
	// More reports whether a launch with Once still has something else to do; nil: no.
	More func(context.Context) bool
}

// Host is the host of one launch.
type Host struct {
	spec  Spec
	moved chan struct{} // something other than a ref has moved
	ended chan *Job

	mu       sync.Mutex      // of what follows, up to refs
	running  map[string]*Job // by directive
	offers   map[int]*offer  // by slot number
	stops    map[string]string
	closed   bool
	unfolded unfolded
	refs     refs

	told     logfile.Causes
	backoffs map[string]*backoff
	began    map[int]bool // slots that have had a worker
	everUp   bool         // a worker of this launch has run
	planned  planned
}

// New is a host that has not begun.
func New(spec Spec) *Host {
	h := &Host{spec: spec, moved: make(chan struct{}, 1), ended: make(chan *Job), running: map[string]*Job{}, offers: map[int]*offer{}, stops: map[string]string{},
		unfolded: unfolded{patience: muteTime}, told: logfile.Causes{}, backoffs: map[string]*backoff{}, began: map[int]bool{}}
	h.refs.known.Clock = h.now
	return h
}

// pollInterval is how often refs are checked for moves, which nothing announces.
const pollInterval = 500 * time.Millisecond

// Serve runs workers until ctx ends or, with Once, nothing is left. It returns after all
// workers have ended. If the very first worker cannot be made, Serve returns that error.
func (h *Host) Serve(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	h.takeBackoffs(ctx)
	err := h.loop(ctx)
	cancel()
	h.mu.Lock()
	h.closed = true
	left := len(h.running)
	for _, o := range h.offers {
		o.dismiss()
	}
	h.mu.Unlock()
	for range left {
		j := <-h.ended
		h.unregister(j)
		h.attend(context.WithoutCancel(ctx), j) // an unreadable ref says nothing against its program
		if j.Number == 1 {                      // counts as the only one
			err = errors.Join(err, j.err)
		}
	}
	return err
}

func (h *Host) loop(ctx context.Context) error {
	rests, turn := false, time.Now() // whether nobody worked when the plan was last made, and when the last turn ended
	for {
		plan, err := h.plan(ctx)
		if ctx.Err() != nil {
			return nil
		}
		h.tell(err, "", "what there is to do cannot be read")
		if h.spec.Once && h.idle() && (err != nil || !plan.Left) {
			if err != nil || h.spec.More == nil || !h.spec.More(ctx) {
				return errors.Join(err, h.undone())
			}
			h.planned.again = time.Time{} // including what is added meanwhile
		}
		if idle := h.idle(); err == nil {
			if idle && !rests && h.spec.Idle != nil {
				h.spec.Idle()
			}
			rests = idle
		}
		select {
		case <-ctx.Done():
			return nil
		case j := <-h.ended:
			if h.workerEnded(ctx, j); h.unmade(j) { // a setting, which is the admin's to correct
				return j.err
			}
			h.planned.again = time.Time{}
		case <-h.moved:
			h.planned.again = time.Time{}
		case <-time.After(pollInterval):
		}
		h.listen(time.Since(turn))
		h.endUnsaid()
		turn = time.Now()
		h.attendAll(ctx)
	}
}

// unmade reports whether no worker at all could be made.
func (h *Host) unmade(j *Job) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return !h.everUp && j.err != nil && j.offer == nil && len(h.running) == 0
}

// idle reports whether nobody works or is about to.
func (h *Host) idle() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.running) == 0
}

func (h *Host) spent() bool { return !h.spec.Until.IsZero() && !time.Now().Before(h.spec.Until) }

// nudge causes a new plan.
func (h *Host) nudge() {
	select {
	case h.moved <- struct{}{}:
	default:
	}
}

// plan makes and executes a plan if something has moved or it is time.
func (h *Host) plan(ctx context.Context) (p schedule.Plan, err error) {
	moved, err := h.look(ctx)
	if err != nil {
		return p, err
	}
	now := h.now()
	if !moved && h.planned.again.After(now) && !h.putBack(now) {
		return schedule.Plan{Left: true}, h.refs.fault
	}
	h.planned.at, h.planned.wall = time.Now(), now.Round(0)
	held, err := h.spec.Book.Others(ctx)
	if err != nil {
		return p, err
	}
	h.refs.held = held
	state := h.state(now, held)
	p = schedule.Assign(state)
	for _, directive := range p.End {
		h.end(directive, errIdle)
	}
	if h.refs.fault == nil {
		for _, a := range p.Start {
			h.assign(ctx, a)
		}
	}
	h.refuse(state.Slots)
	if h.planned.again = p.Next; p.Next.IsZero() {
		h.planned.again = now.Add(time.Hour)
	}
	return p, h.refs.fault
}

// state is the input of a plan.
func (h *Host) state(now time.Time, held map[string]time.Time) schedule.State {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := schedule.State{Directives: h.refs.known.Directives, Held: held, Stopped: map[string]bool{}, Backoffs: map[string]schedule.Backoff{}, Rules: h.rules(now)}
	for n := range h.spec.Slots {
		s.Slots = append(s.Slots, schedule.Slot{Number: n + 1})
	}
	for n, o := range h.offers {
		s.Slots = append(s.Slots, schedule.Slot{Number: n, Of: o.machine})
	}
	for directive, text := range h.stops {
		if d := h.refs.known.Directive(directive); d == nil && text == "" || d != nil && d.Hash == text {
			s.Stopped[directive] = true
		} else {
			delete(h.stops, directive) // the PM has changed the directive
		}
	}
	h.hold(s.Stopped)
	for directive, r := range h.backoffs {
		s.Backoffs[directive] = r.Backoff
	}
	for directive, j := range h.running {
		delete(held, directive) // the worker learns it from the lost lease
		j.look(&s.Rules, h.refs.known.Directive(directive), now)
		s.Running = append(s.Running, schedule.Running{Directive: directive, Slot: j.Number, Idle: j.idle, Waits: j.waits})
	}
	return s
}

// rules are the launch's own limits.
func (h *Host) rules(now time.Time) schedule.Rules {
	a := h.spec.Settings.Agent
	r := schedule.Rules{Now: now, Only: h.spec.Only, Loop: a.Loop, Retry: a.RetryPause.Duration, Poll: a.Poll.Duration, Stop: h.refs.stop, Spent: h.spent()}
	if !h.spec.Once {
		r.Linger = h.spec.Settings.Launch.Linger.Duration
	}
	return r
}

// due reports whether a directive has work to do, by the current refs.
func (h *Host) due(ctx context.Context, directive string) (bool, error) {
	moved, err := h.look(ctx)
	if err != nil {
		return false, err
	}
	if moved { // unknown to the plan
		h.nudge()
	}
	d := h.refs.known.Directive(directive)
	if d == nil || h.refs.fault != nil {
		return false, nil
	}
	rules := h.rules(h.now())
	due, _ := rules.Due(d)
	return due == schedule.Now, nil
}

// assign writes a lease and starts its worker. If another launcher was faster, or the lease
// cannot be written, the next plan looks at the directive again.
func (h *Host) assign(ctx context.Context, a schedule.Assignment) {
	j := &Job{Directive: a.Directive, Number: a.Slot, Holder: fmt.Sprintf("%s.%d", h.spec.Name, a.Slot), Where: h.spec.Where(a.Directive),
		host: h, over: make(chan struct{}), began: time.Now(), First: !h.began[a.Slot]}
	h.mu.Lock()
	if o := h.offers[a.Slot]; o != nil {
		j.offer, j.Holder, j.Where = o, o.holder, o.where
	}
	h.mu.Unlock()
	var err error
	if j.Hold, err = h.spec.Book.Take(ctx, j.Holder, j.Where, j.Directive); err != nil {
		if taken := (*lease.Taken)(nil); !errors.As(err, &taken) && ctx.Err() == nil {
			h.spec.Log.Error().Err(err).Str("directive", j.Directive).Msg("its lease cannot be written")
			h.failed(j.Directive, fmt.Errorf("the lease of %s cannot be written: %w", j.Directive, err))
		}
		h.nudge()
		return
	}
	// Another launcher may have had the directive, and finished it, between the plan and the
	// lease.
	due, err := h.due(ctx, j.Directive)
	h.tell(err, j.Directive, "whether there is something to do on it cannot be read")
	j.before = h.refs.trace(ctx, h.spec.Book.Repo, j.Directive)
	j.text = j.before.hash
	work, cancel := context.WithCancelCause(ctx)
	j.cancel = cancel           // before it is registered: it may be stopped from then on
	if !due || !h.register(j) { // or its machine has disconnected meanwhile
		cancel(nil)
		h.giveBack(ctx, j)
		h.nudge()
		return
	}
	h.began[a.Slot] = true
	failpoint.Reach("host/assigned")
	go j.run(work)
}

// register records the start of a job; it returns false if the job's place is gone.
func (h *Host) register(j *Job) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if j.offer != nil && (h.offers[j.Number] != j.offer || j.offer.left) {
		return false
	}
	if h.running[j.Directive] = j; j.offer != nil {
		j.offer.given = true
	}
	return true
}

func (h *Host) unregister(j *Job) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.running, j.Directive)
	close(j.over)
	if j.offer != nil {
		delete(h.offers, j.Number)
		j.offer.ended <- j.err
	}
}

func (h *Host) giveBack(ctx context.Context, j *Job) error {
	failpoint.Reach("host/ended")
	return j.Hold.Release(context.WithoutCancel(ctx))
}

// end ends a directive's worker.
func (h *Host) end(directive string, why error) *Job {
	h.mu.Lock()
	defer h.mu.Unlock()
	j := h.running[directive]
	if j != nil {
		j.cancel(&Ended{why})
	}
	return j
}

// ErrNobody means that no worker of this launch works on a directive.
var ErrNobody = errors.New("nobody of this launch works on it")

// Stop ends who works on a directive, in good order, and keeps this launch from working on it
// until the PM changes its text: reports move the PM's branch, too, and begin nothing again.
// It waits for the worker's end until ctx ends, and returns its name.
func (h *Host) Stop(ctx context.Context, directive string) (holder string, err error) {
	h.mu.Lock()
	j := h.running[directive]
	if j != nil {
		h.stops[directive] = j.text
		j.cancel(&Ended{errStopped})
	}
	h.mu.Unlock()
	if j == nil {
		return "", ErrNobody
	}
	select {
	case <-j.over:
		return j.Holder, nil
	case <-ctx.Done():
		return j.Holder, context.Cause(ctx)
	}
}
