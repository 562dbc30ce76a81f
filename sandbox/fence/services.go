package fence

import (
	"context"
	"fmt"

	"git-ward/sandbox/door"
	"git-ward/sandbox/judge"
	"git-ward/sandbox/verifier"
)

// serve opens the door and the gateway, starts the judge, and runs the payload while
// all three serve it.
func (l *launch) serve(ctx context.Context) error {
	if err := l.findPolicy(ctx); err != nil {
		return err
	}
	d, err := door.Listen(door.Config{Bare: l.spec.Bare, Dir: l.scratch, Settings: l.spec.Settings, Log: l.logOf("door"), Ended: l.recordEnded})
	if err != nil {
		return err
	}
	l.door = d.Socket()
	return whileServing(ctx, service{"the git door", d.Serve}, func(ctx context.Context) error {
		return l.serveWatcher(ctx)
	})
}

// serveWatcher opens the rest, the watcher's door first.
func (l *launch) serveWatcher(ctx context.Context) (err error) {
	if l.watcher, err = l.openWatcherDoor(); err != nil {
		return err
	}
	return whileServing(ctx, service{"the watcher's door", l.watcher.serve}, func(ctx context.Context) error {
		g, err := l.openGateway()
		if err != nil {
			return err
		}
		l.gateway = g.Socket()
		return whileServing(ctx, service{"the gateway", g.Serve}, func(ctx context.Context) (err error) {
			if l.opening != nil {
				if l.conn, err = l.opening.wait(); err != nil {
					return err
				}
			}
			return whileServing(ctx, service{"the judge", l.judge().Serve}, func(ctx context.Context) error {
				return whileServing(ctx, service{"the project's branch", l.followMain}, l.keepRunning)
			})
		})
	})
}

func (l *launch) findPolicy(ctx context.Context) (err error) {
	if l.spec.Unfenced {
		l.policy, err = hostPolicy(ctx, l.spec.Settings)
	} else {
		l.policy, err = Policy(ctx, l.spec.Settings, l.spec.Messages)
	}
	return err
}

// verifier runs what is judged on this launch's host.
func (l *launch) verifier() *Verifier {
	return &Verifier{Bare: l.spec.Bare, Settings: l.spec.Settings, Podman: l.podman(), Unfenced: l.spec.Unfenced, Policy: l.policy, Log: l.log, conn: l.conn}
}

// judge writes the verdicts on what this launch's agent claims.
func (l *launch) judge() *judge.Judge {
	v := l.verifier()
	t := &teller{bare: l.spec.Bare, messages: l.words()}
	return &judge.Judge{Repo: limited(l.spec.Bare, l.spec.Settings), Settings: l.spec.Settings, Log: l.logOf("judge"), Progress: t.tell,
		Verify: func(ctx context.Context, c verifier.Claim) (*verifier.Facts, error) {
			defer t.forget()
			return v.Verify(ctx, c)
		}}
}

// service is one of the programs on the host's side of a fence.
type service struct {
	name  string
	serve func(context.Context) error
}

// whileServing runs f while a service serves it. The service ends after f, not with
// ctx: an agent that is told to end may still push what it has. A service that
// breaks ends f, because an agent without it is of no use.
func whileServing(ctx context.Context, s service, f func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	open, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	served := make(chan error, 1)
	go func() {
		err := s.serve(open)
		cancel()
		served <- err
	}()
	err := f(ctx)
	end()
	if serveErr := <-served; serveErr != nil {
		return fmt.Errorf("%s: %w", s.name, serveErr)
	}
	return err
}
