package verifier

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
)

// Companion is a Runner that can run two commands concurrently: neither can reach the other's processes,
// network or files.
type Companion interface {
	// Company reserves room for a second run, if there is any; leave gives it back.
	Company() (leave func(), ok bool)
}

// forControls returns the verification with a runner for the controls: it runs a command once on a tree,
// and two commands at a time where the runner and the directive allow it. The runs that decide are each
// made, and alone.
func (t *trying) forControls() *trying {
	c := *t
	o := &once{Runner: t.runner, lines: map[string]bool{}}
	for _, cmd := range t.claim.Commands {
		o.lines[cmd.Line] = true
	}
	for _, cmd := range t.claim.Commands {
		if cmd.Residual || cmd.Held { // a residual's end is what it prints, and nothing tells of what is held out
			delete(o.lines, cmd.Line)
		}
	}
	c.runner, c.once = o, o
	if with, ok := t.runner.(Companion); ok && !t.claim.Alone {
		c.company = with.Company
	}
	return &c
}

// inParallel calls run for each of n runs, two at a time where there is room. One that was late beside
// another may have had too little of the machine: it runs again alone, and only that counts.
func (t *trying) inParallel(ctx context.Context, n int, run func(ctx context.Context, i int) (late bool, err error)) error {
	leave, ok := func() {}, false
	if t.company != nil && n > 1 {
		leave, ok = t.company()
	}
	if !ok {
		for i := range n {
			if _, err := run(ctx, i); err != nil {
				return err
			}
		}
		return nil
	}
	both, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	late := make([]bool, n)
	var next atomic.Int64
	work := func() {
		for i := next.Add(1) - 1; int(i) < n && both.Err() == nil; i = next.Add(1) - 1 {
			var err error
			if late[i], err = run(both, int(i)); err != nil {
				cancel(err)
			}
		}
	}
	var second sync.WaitGroup
	second.Go(work)
	work()
	second.Wait()
	leave()
	if both.Err() != nil {
		return context.Cause(both)
	}
	for i := range n {
		if !late[i] {
			continue
		}
		if _, err := run(ctx, i); err != nil {
			return err
		}
	}
	return nil
}

// once is a Runner that runs no command twice on the same tree in the same environment.
type once struct {
	Runner
	ends  *Ends           // nil: none are kept
	base  string          // the project's own tree, whose ends are kept
	lines map[string]bool // of the commands whose ends are
	mu    sync.Mutex
	runs  []*kept
}

// kept is a run. Its result is valid once done is closed.
type kept struct {
	job     Job
	done    chan struct{}
	ok      bool
	outcome Outcome
}

// maxRuns bounds how many runs are kept, each with at most 1 MiB of what it printed.
const maxRuns = 64

// serves reports whether a run shows all that another run of the job would: the commit was made for its
// tree, and contains nothing else.
func (k *kept) serves(job *Job) bool {
	covers := func(have, want []string) bool { return len(want) == 0 || slices.Equal(have, want) }
	return k.job.Commit == job.Commit && k.job.Line == job.Line && maps.Equal(k.job.Env, job.Env) && (k.job.Keep || !job.Keep) &&
		covers(k.job.Watch, job.Watch) && covers(k.job.Guard, job.Guard) && covers(k.job.Checks, job.Checks)
}

// Run runs a job, or returns its earlier result. A run that did not end by itself is not kept.
func (o *once) Run(ctx context.Context, job Job) (Outcome, error) {
	if job.Anew {
		return o.Runner.Run(ctx, job)
	}
	o.mu.Lock()
	for {
		i := slices.IndexFunc(o.runs, func(k *kept) bool { return k.serves(&job) })
		if i < 0 {
			break
		}
		k := o.runs[i]
		o.mu.Unlock()
		if <-k.done; k.ok {
			return k.outcome, nil
		}
		o.mu.Lock()
	}
	k := &kept{job: job, done: make(chan struct{})}
	o.runs = append(o.runs[max(0, len(o.runs)-maxRuns+1):], k)
	o.mu.Unlock()
	outcome, err := o.run(ctx, job)
	o.mu.Lock()
	defer o.mu.Unlock()
	if k.outcome, k.ok = outcome, err == nil && outcome.End == Exited; !k.ok {
		o.runs = slices.DeleteFunc(o.runs, func(other *kept) bool { return other == k })
	}
	k.job.Live = nil
	close(k.done)
	return outcome, err
}

// run runs a job, or returns the end that Ends keeps for it.
func (o *once) run(ctx context.Context, job Job) (Outcome, error) {
	if o.ends == nil || job.Tree != o.base || !o.lines[job.Line] || job.Keep || len(job.Watch)+len(job.Guard)+len(job.Env) > 0 {
		return o.Runner.Run(ctx, job)
	}
	if outcome, ok := o.ends.find(ctx, &job); ok {
		return outcome, nil
	}
	outcome, err := o.Runner.Run(ctx, job)
	if err != nil || !o.ends.keeps(&outcome) {
		return outcome, err
	}
	if !outcome.OK() { // by chance, perhaps: for all verdicts to come it has to do so twice
		again, err := o.Runner.Run(ctx, job)
		if err != nil || again.End != Exited || again.Exit != outcome.Exit {
			return again, err
		}
	}
	o.ends.keep(ctx, &job, &outcome)
	return outcome, nil
}
