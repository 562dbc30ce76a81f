package launch

import (
	"context"
	"os"

	"git-ward/internal/runstate"
)

// site is where a worker works. It is decided once, and all that differs by it is here.
type site struct {
	where func(directive string) string // for people, and for the lease
	run   func(w *worker, ctx context.Context) error
	// away is a site on no directory and behind no door of this host's.
	away bool
}

// site is where the launch's own workers work.
func (l *launch) site() site {
	switch {
	case l.engine != nil:
		return elsewhere(l.engine.Where, l.engine.Run)
	case l.spec.Unfenced:
		return site{where: called("process"), run: (*worker).runProcesses}
	}
	return site{where: called("podman"), run: (*worker).runFenced}
}

// elsewhere is a site that run has the work sent to: an engine's, or another machine.
func elsewhere(where func(directive string) string, run func(context.Context, Work) error) site {
	return site{where: where, away: true, run: func(w *worker, ctx context.Context) error { return run(ctx, w.work()) }}
}

// called is one name for all directives.
func called(name string) func(string) string { return func(string) string { return name } }

// open makes what a worker there needs of this host.
func (s site) open(w *worker) ([]opener, error) {
	if s.away {
		return []opener{w.openGateway}, nil
	}
	return []opener{w.openDoor, w.openWatcherDoor, w.openGateway}, os.MkdirAll(home(w.state), 0o700)
}

// work is the worker's lease as another place is told of it, with a gateway of the worker's
// own here.
func (w *worker) work() Work {
	return Work{Holder: w.job.Holder, Directive: w.only, Lease: w.job.Hold.Lease(), Model: w.payload.Model, Until: w.launch.until, Gateway: w.gateway,
		Stdout: w.payload.Stdout, Stderr: w.payload.Stderr, Up: w.up,
		Why: func(line string) {
			line = w.launch.spec.words(line)
			w.tell(func(now *runstate.Worker) { now.Why = line })
		}}
}
