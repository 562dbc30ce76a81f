package launch

import (
	"context"
	"fmt"

	"git-ward/sandbox/door"
	"git-ward/sandbox/judge"
	"git-ward/sandbox/verifier/local"
)

// serve starts the judge and the launch's other services, and runs the workers while all of
// them serve.
func (l *launch) serve(ctx context.Context) error {
	var err error
	if l.policy, err = l.engine.findPolicy(ctx); err != nil {
		return err
	}
	return whileServing(ctx, []opener{l.openPlace, l.openFold, l.openMeter, l.openJudge, l.openBranch, l.openNotifier, l.openControl}, l.runWorkers)
}

// openPlace checks that the repository stays at its path.
func (l *launch) openPlace() (service, error) {
	return service{"the repository", func(ctx context.Context) error { return stays(ctx, l.gate) }}, nil
}

// openDoor opens a worker's door, which pushes under the name of its current lease.
func (w *worker) openDoor() (service, error) {
	d, err := door.Listen(door.Config{Bare: w.launch.spec.Bare, Dir: w.launch.scratch.Path, Settings: w.launch.spec.Settings, Log: w.launch.logOf("door"), Ended: w.launch.recordEnded, Name: w.token})
	if err != nil {
		return service{}, err
	}
	w.door = d.Socket()
	return service{"the git door", d.Serve}, nil
}

// openJudge waits for the engine, which runs what is judged.
func (l *launch) openJudge() (service, error) {
	return service{"the judge", l.judge().Serve}, l.engine.ready()
}

func (l *launch) openBranch() (service, error) {
	return service{"the project's branch", l.followMain}, nil
}

// judge writes verdicts on what this launch's agents claim.
func (l *launch) judge() *judge.Judge {
	t := &teller{bare: l.spec.Bare, messages: l.words(), live: l.tellLive}
	return &judge.Judge{Repo: local.Repo(l.spec.Bare, l.spec.Settings), Settings: l.spec.Settings, Log: l.logOf("judge"),
		AtOnce: l.spec.Settings.Verdicts(l.spec.agents()), Verify: l.engine.runner().Verify, Progress: t.tell, Judged: t.forget, Redact: l.spec.Redact, Assisted: l.meter.Assisted}
}

// service is one of the programs on the host's side of a fence, and opener opens one.
type (
	service struct {
		name  string
		serve func(context.Context) error
	}
	opener func() (service, error)
)

// whileServing opens services in order, each while the earlier ones serve, and runs f while
// all of them serve. They close after f, last first, not with ctx, so that a terminated agent
// may still push. A service that fails ends f, because an agent without it is useless.
func whileServing(ctx context.Context, open []opener, f func(context.Context) error) error {
	if len(open) == 0 {
		return f(ctx)
	}
	s, err := open[0]()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	serving, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	served := make(chan error, 1)
	go func() {
		err := s.serve(serving)
		cancel()
		served <- err
	}()
	err = whileServing(ctx, open[1:], f)
	end()
	if serveErr := <-served; serveErr != nil {
		return fmt.Errorf("%s: %w", s.name, serveErr)
	}
	return err
}
