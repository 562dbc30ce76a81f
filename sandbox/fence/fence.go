// Package fence makes Ward's containers: it turns a Spec into a container whose network has
// its rules before anything runs in it, and runs that to its end (SBX-1). It knows nothing of
// launches or of a repository's content.
package fence

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"time"

	"github.com/rs/zerolog"

	"git-ward/sandbox/firewall"
	"git-ward/sandbox/podman"
	"git-ward/sandbox/verifier/cache"
)

// FirewallChild is the hidden verb by which an ordinary user's launcher starts
// itself again inside its container's namespaces.
const FirewallChild = "firewall-child"

// Fence makes containers whose network has its rules before anything runs in them, for agents
// and for verifications.
type Fence struct {
	Engine *podman.Engine
	Policy firewall.Policy // for containers made from now on
	// Initialized, if set, is called before a start, when the container's first process has a
	// process id on the host.
	Initialized func(pid int) error
	Up          func() // called when the payload runs; may be nil
	// Refused, if set, is told at the container's end what its programs asked for in vain; not
	// of a runtime whose fence is tried inside first, because the trial asks as they do.
	Refused func([]netip.Addr)

	image  string
	inside string       // the first program in every container
	goRoot string       // the host's Go toolchain; "" for none
	prove  bool         // in every container, before anything else runs there
	cover  string       // an empty directory, to cover others with
	std    *cache.Entry // the compiled standard library of the image's Go; nil: none
	log    zerolog.Logger
}

// New makes a Fence on a connection, with its own directory below scratch. Close does not
// close the connection.
func (c *Connection) New(scratch string, policy firewall.Policy, log zerolog.Logger) (*Fence, error) {
	cover, err := os.MkdirTemp(scratch, "ward-empty-")
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(cover, 0o555); err != nil {
		return nil, errors.Join(err, os.Remove(cover))
	}
	f := &Fence{Engine: c.Engine, Policy: policy, image: c.Image, inside: c.inside, goRoot: c.GoRoot, cover: cover, std: c.holdStd(), log: log}
	// The default runtime's network is known to obey the rules. Another runtime may bypass
	// them unnoticed.
	f.prove = c.Engine.Runtime() != podman.DefaultRuntime
	return f, nil
}

// Close removes the cover, if it is there still, and lets go of the compiled standard library.
func (f *Fence) Close() error {
	err := f.std.Close()
	if removed := os.Remove(f.cover); !errors.Is(removed, fs.ErrNotExist) {
		err = errors.Join(err, removed)
	}
	return err
}

// Prepared is a container whose network has its rules, and whose payload has not begun.
type Prepared struct {
	fence     *Fence
	container *podman.Container
	output    func() error       // for podman.Drain
	rules     *firewall.Follower // kept until they are closed
	pid       int
}

// Prepare initializes a created container, and gives its network namespace the rules. On an
// error it removes the container.
func (f *Fence) Prepare(ctx context.Context, c *podman.Container, streams podman.Streams) (_ *Prepared, err error) {
	p := &Prepared{fence: f, container: c}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.Close(ctx))
		}
	}()
	if p.pid, err = c.Init(ctx); err != nil {
		return nil, err
	}
	p.output = c.Attach(context.WithoutCancel(ctx), streams) // runs while the rules are made; Start waits for both
	if p.rules, err = f.Enforce(ctx, p.pid); err != nil {
		return nil, err
	}
	if f.Initialized != nil {
		if err = f.Initialized(p.pid); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// Close removes the container.
func (p *Prepared) Close(ctx context.Context) error {
	err := p.container.Remove(context.WithoutCancel(ctx))
	p.rules.Close() // closed last, so that what still runs after a failed wait stays fenced
	return err
}

// Holds returns an error if a waiting container must not start: its process is gone, or its
// rules, read back, are no longer those of the policy.
func (p *Prepared) Holds(ctx context.Context) error {
	select {
	case err := <-p.rules.Broken():
		return err
	default:
	}
	if !p.container.Alive() {
		return errors.New("its first process is gone")
	}
	var err error
	for range holdTries {
		var policy firewall.Policy
		if policy, err = Follow(p.fence.Policy)(ctx, false); err == nil {
			err = target(p.pid).ReadBack(ctx, policy)
		}
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(holdPause):
		}
	}
	return err
}

// The end of another container changes the host's addresses, which the rules follow a moment later.
const (
	holdTries = 4
	holdPause = 50 * time.Millisecond
)

// Run starts the payload, waits for the container's end, and removes it in any case. A
// container is started only once: after an unexpected end, a new one must be fenced. An end
// with an exit code is an Exit.
func (p *Prepared) Run(ctx context.Context) (err error) {
	defer func() { err = errors.Join(err, p.Close(ctx)) }()
	f, c := p.fence, p.container
	if err := p.start(ctx); err != nil {
		return err
	}
	if f.Up != nil {
		f.Up()
	}
	ended := make(chan struct{})
	broken := make(chan error, 1)
	go func() { broken <- f.stopWith(ctx, c, p.rules, ended) }()
	code, err := c.Wait(context.WithoutCancel(ctx))
	close(ended)
	if err := errors.Join(<-broken, err); err != nil {
		return err
	}
	if f.Refused != nil && !f.prove {
		at, err := p.rules.Refused(context.WithoutCancel(ctx))
		if err != nil { // the work stands without it
			f.log.Error().Err(err).Msg("a review will not say what the fence refused")
		}
		f.Refused(at)
	}
	podman.Drain(p.output)
	if code != 0 {
		return Exit(code)
	}
	// Podman reports 0 for a container that was removed while it waits.
	if _, err := c.Inspect(context.WithoutCancel(ctx)); err != nil {
		return fmt.Errorf("the container is gone before its end was seen: %w", err)
	}
	return nil
}

// start starts the container.
func (p *Prepared) start(ctx context.Context) error {
	if err := p.container.Start(ctx); err != nil {
		return err
	}
	// A second start would have a network without rules. Removing a mount's source makes it
	// fail.
	if err := os.Remove(p.fence.cover); err != nil {
		return err
	}
	p.fence.log.Info().Str("container", p.container.ID[:12]).Int("pid", p.pid).Str("egress", string(p.fence.Policy.Mode)).Msg("fenced")
	return nil
}

// target is the network namespace of a container's first process.
func target(pid int) firewall.Target {
	return firewall.Target{NetNS: fmt.Sprintf("/proc/%d/ns/net", pid), Child: []string{FirewallChild}}
}

// Enforce puts the rules into the network namespace of a container's first process,
// reads them back, and keeps them to what the host becomes (its bridge may be new since
// Init, too). It is the process's own namespace, which Start looks at again: the path that
// podman has for it is a mount that an ordinary user's launcher does not see.
func (f *Fence) Enforce(ctx context.Context, pid int) (*firewall.Follower, error) {
	rules, err := firewall.Follow(ctx, target(pid), Follow(f.Policy))
	if err != nil {
		return nil, fmt.Errorf("the firewall is not in place, so the container does not start: %w", err)
	}
	return rules, nil
}

// stopWith terminates the container when the launch's context ends. If podman's service has
// ended, nothing can terminate it; the wait ends as well, and closing the connection removes
// the container.
//
// Rules that no longer match the host end it at once, and are the returned error.
func (f *Fence) stopWith(ctx context.Context, c *podman.Container, rules *firewall.Follower, ended <-chan struct{}) (broken error) {
	grace := StopGrace
	select {
	case <-ended:
		return nil
	case <-f.Engine.Done():
		return nil
	case broken = <-rules.Broken():
		grace = 0
	case <-ctx.Done():
	}
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	if err := c.Stop(late, grace); err != nil {
		f.log.Error().Err(err).Msg("the container does not stop")
	}
	return broken
}
