package fence

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"git-ward/internal/git"
	"git-ward/protocols/lease"
	"git-ward/protocols/uow"
)

const (
	// poolInterval is the time between two looks at what there is to do for more workers.
	poolInterval = 500 * time.Millisecond
	// anewAfter is how long nothing moves until what is free is read again: a lease that
	// nobody renews ends without a ref that moves.
	anewAfter = 15 * time.Second
	// overdue is how long a directive may be free, and a worker without one, until another
	// worker begins: the one that is there may have reasons of its own.
	overdue = 15 * time.Second
)

// runWorkers runs one worker as long as the launch, and more of them while there is more to
// do than those who are there can take up (MANY-1).
func (l *launch) runWorkers(ctx context.Context) error {
	if l.spec.Engine == nil && l.spec.agents() == 1 {
		return l.newWorker(1, "").run(ctx)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p := &pool{launch: l, running: map[int]*worker{}, rest: map[string]*recess{}, ended: make(chan ending)}
	err := p.run(ctx)
	cancel()
	for len(p.running) > 0 {
		e := <-p.ended
		delete(p.running, e.worker.number)
		if e.worker.number == 1 { // as where it is the only one
			err = errors.Join(err, e.err)
		}
	}
	return err
}

// pool is the workers of a launch that may have several.
type pool struct {
	*launch
	running map[int]*worker
	rest    map[string]*recess // by worker.task
	ended   chan ending

	marks [3]git.Mark
	asked time.Time
	free  []string  // directives, when refs were at marks
	blind error     // why that is not known
	since time.Time // there is more free than the workers can take; zero where not
	quiet *recess   // of workers that found nothing to do for them
}

// recess is the pause before the next start after bad ends.
type recess struct {
	pause time.Duration
	until time.Time
	times int
	last  error
}

// tries is how often a worker that ends badly is followed by another one where the launch is
// to end by itself.
const tries = 3

// longer doubles the pause.
func (r *recess) longer(why error) {
	r.times, r.last = r.times+1, why
	r.pause = min(max(2*r.pause, firstPause), longestPause)
	r.until = time.Now().Add(r.pause)
}

// ending is how a worker has ended.
type ending struct {
	worker *worker
	began  time.Time
	err    error
}

// run keeps workers running until ctx ends, the first of them has ended for good, or, with
// --once, nothing is left for any.
func (p *pool) run(ctx context.Context) error {
	p.quiet = &recess{}
	if p.spec.Engine == nil {
		p.start(ctx, 1, "")
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case e := <-p.ended:
			if over, err := p.took(e); over {
				return err
			}
			p.asked = time.Time{}
		case <-time.After(poolInterval): // a ref tells nobody that it moves
		}
		if ctx.Err() == nil {
			p.grow(ctx)
		}
		if over, err := p.done(); over {
			return err
		}
	}
}

// done reports whether a launch that is to end by itself does, and how.
func (p *pool) done() (over bool, err error) {
	if !p.spec.Payload.Once || len(p.running) > 0 {
		return false, nil
	}
	spent := 0
	for _, r := range p.rest {
		if r.times >= tries {
			spent++
			err = errors.Join(err, r.last)
		}
	}
	left := p.spec.agents() - spent
	if p.spec.Engine != nil {
		left = len(p.free) - spent
	}
	over = len(p.free) == 0 || left <= 0 || time.Now().Before(p.quiet.until)
	return over, errors.Join(err, p.blind)
}

// grow starts workers for what is free beyond those that have nothing yet.
func (p *pool) grow(ctx context.Context) {
	p.look(ctx)
	free := slices.DeleteFunc(slices.Clone(p.free), func(directive string) bool {
		return p.stopped(directive) || p.spec.Engine != nil && !p.rested(directive)
	})
	idle := 0
	for _, w := range p.running {
		if now := w.now().Directive; now == "" {
			idle++
		} else {
			free = slices.DeleteFunc(free, func(d string) bool { return d == now })
		}
	}
	more := len(free) - idle
	switch {
	case len(free) == 0:
		p.since = time.Time{}
	case p.since.IsZero():
		p.since = time.Now()
	case more <= 0 && time.Since(p.since) > overdue:
		more, p.since = 1, time.Now()
	}
	if p.standing(1) && p.running[1] == nil && p.rested(task(1, "")) {
		p.start(ctx, 1, "")
		more--
	}
	if time.Now().Before(p.quiet.until) {
		return
	}
	for number := 1; number <= p.spec.agents() && more > 0; number++ {
		if p.running[number] != nil || p.spec.Engine == nil && !p.rested(task(number, "")) {
			continue
		}
		directive := ""
		if p.spec.Engine != nil {
			directive, free = free[0], free[1:]
		}
		p.start(ctx, number, directive)
		more--
	}
}

// look reads what is free, when refs have moved since, or once in a while.
func (p *pool) look(ctx context.Context) {
	repo := git.Open(p.spec.Bare)
	marks := [3]git.Mark{repo.Mark(uow.RefPrefix), repo.Mark(p.spec.Settings.Control.Ref()), repo.Mark(lease.Prefix)}
	if marks == p.marks && time.Since(p.asked) < anewAfter {
		return
	}
	if marks[0] != p.marks[0] || marks[1] != p.marks[1] {
		p.quiet = &recess{}
	}
	p.free, p.blind = p.book.Free(ctx)
	if only := p.spec.Payload.Directive; only != "" {
		p.free = slices.DeleteFunc(p.free, func(d string) bool { return d != only })
	}
	if p.blind != nil && ctx.Err() == nil {
		p.log.Error().Err(p.blind).Msg("what there is to do cannot be read")
	}
	p.marks, p.asked = marks, time.Now()
}

// standing reports whether a worker is to stay as long as the launch.
func (p *pool) standing(number int) bool {
	return p.spec.Engine == nil && number == 1 && !p.spec.Payload.Once
}

// task is what bad ends are counted of: a directive where the host chooses it, else a
// worker's number.
func task(number int, directive string) string { return cmp.Or(directive, fmt.Sprint(number)) }

// rested reports whether a worker may begin a task.
func (p *pool) rested(task string) bool {
	r := p.rest[task]
	return r == nil || time.Now().After(r.until) && !(p.spec.Payload.Once && r.times >= tries)
}

// start starts a worker: for a directive that it has to get first, where it works elsewhere.
// The first one stays as long as the launch, unless that ends when nothing is open.
func (p *pool) start(ctx context.Context, number int, directive string) {
	w := p.newWorker(number, directive)
	w.payload.Once = w.payload.Once || number > 1
	w.payload.Reset = w.payload.Reset && p.rest[task(number, directive)] == nil // once
	p.running[number] = w
	began := time.Now()
	go func() { p.ended <- ending{w, began, w.run(ctx)} }()
}

// took takes down that a worker has ended, and whether the launch is over by it. One that
// ended badly is followed by another after a pause, and touches nobody else.
func (p *pool) took(e ending) (over bool, err error) {
	w := e.worker
	delete(p.running, w.number)
	ran, held := w.did()
	switch {
	case p.standing(w.number) && (e.err == nil || !ran): // the fence cannot be made, which is the admin's
		return true, e.err
	case e.err == nil && !held:
		p.quiet.longer(nil)
		return false, nil
	case e.err == nil:
		delete(p.rest, task(w.number, w.only))
		return false, nil
	}
	p.log.Error().Err(e.err).Str("worker", w.holder).Msg("a worker ended badly; another follows it")
	of := task(w.number, w.only)
	r := p.rest[of]
	if r == nil || time.Since(e.began) > steadyRun {
		r = &recess{}
		p.rest[of] = r
	}
	r.longer(e.err)
	return false, nil
}
