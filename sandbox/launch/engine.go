package launch

import (
	"context"
	"os"

	"git-ward/protocols/lease"
	"git-ward/sandbox/fence"
	"git-ward/sandbox/firewall"
	"git-ward/sandbox/host"
	"git-ward/sandbox/verifier/local"
)

// site is where a worker works.
type site interface {
	// where describes it for people and for the directive's lease.
	where(directive string) string
	// opens are the host services for a worker there; it makes the worker's directory if that
	// is on this host.
	opens(w *worker) ([]opener, error)
	// run runs the worker's payload to its end: nil is success, any error is tried again after
	// a pause. When ctx ends, so does the payload; run returns when nothing of it runs any
	// more.
	run(ctx context.Context, w *worker) error
	// steady reports whether a worker there produces output all the time, so that silence
	// means something.
	steady() bool
}

// engine is where a launch's own workers work and where claims are judged: podman's
// containers, plain processes, or a cluster's pods. All differences between them are behind
// this interface.
type engine interface {
	site
	// only is the only allowed model, "" for any.
	only() string
	// means are the lines that tell people what confines the agent.
	means() []string
	// visible says why the repository cannot be shown there.
	visible(ctx context.Context) error
	// prepare starts to make containers before there is a job for them.
	prepare()
	// prepared is a worker whose container was made in advance and fits this job; nil: none.
	prepared(ctx context.Context, j *host.Job) *worker
	// room says why the directories of so many agents do not fit on their disk.
	room(agents int, directory func(number int) string) error
	// bound limits the host's work for the launch, and says how.
	bound() (words string, leave func())
	// open starts, and returns what ends it.
	open(ctx context.Context) (end func() error, err error)
	// findPolicy is the agents' network policy.
	findPolicy(ctx context.Context) (firewall.Policy, error)
	// ready returns when work can begin, after open.
	ready() error
	// sweep ends what a dead launcher of this name left running, and releases its leases.
	sweep(ctx context.Context, held []lease.Lease) error
	// runner runs what is judged.
	runner() local.Runner
}

// engineOf is the requested engine. Nothing else decides where anything runs.
func engineOf(l *launch) engine {
	switch {
	case l.spec.Kube != nil:
		return &pods{fenced: fenced{l}}
	case l.spec.Unfenced:
		return &processes{launch: l}
	}
	return &containers{fenced: fenced{l}}
}

// newLaunch is a launch that has not started.
func newLaunch(s Spec) *launch {
	l := &launch{spec: s}
	l.engine = engineOf(l)
	return l
}

// here is what a worker on this host needs: nothing of it survives its launcher.
type here struct{}

func (here) opens(w *worker) ([]opener, error) {
	w.state = w.launch.spec.workerState(w.number)
	return []opener{w.openDoor, w.openWatcherDoor, w.openGateway}, os.MkdirAll(home(w.state), 0o700)
}

func (here) steady() bool { return true }

func (here) prepare()                                    {}
func (here) prepared(context.Context, *host.Job) *worker { return nil }

func (here) sweep(context.Context, []lease.Lease) error { return nil }

// there is what a worker on another machine needs from this one: a directory and a door of its
// own.
type there struct{}

func (there) opens(w *worker) ([]opener, error)           { return []opener{w.openGateway}, nil }
func (there) prepare()                                    {}
func (there) prepared(context.Context, *host.Job) *worker { return nil }

func (there) room(int, func(int) string) error { return nil }
func (there) ready() error                     { return nil }

// fenced is a launch whose agents are fenced, wherever they run.
type fenced struct{ launch *launch }

func (fenced) only() string                        { return "" }
func (f fenced) visible(ctx context.Context) error { return checkVisible(ctx, f.launch.spec.Bare) }

func (f fenced) findPolicy(ctx context.Context) (firewall.Policy, error) {
	return fence.Policy(ctx, f.launch.spec.Settings, f.launch.spec.Messages)
}

func (f fenced) bound() (words string, leave func()) {
	s := &f.launch.spec
	return local.Bound(fence.OwnerOf(s.Bare), s.Settings, s.agents(), s.Settings.Verdicts(s.agents()))
}

func (f fenced) means() []string {
	lines := []string{egressMeans[f.launch.spec.Settings.Egress.Mode]}
	if os.Geteuid() != 0 {
		lines = append(lines, stateInMemory(sizeInMemory(f.launch.spec.Settings)))
	}
	return lines
}
