package fence

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sys/unix"

	"git-ward/internal/runstate"
	"git-ward/sandbox/firewall"
	"git-ward/sandbox/podman"
)

// FirewallChild is the hidden verb by which an ordinary user's launcher starts
// itself again inside its container's namespaces.
const FirewallChild = "firewall-child"

// fence makes containers whose network has its rules before anything runs in them:
// the agent's, and those of a verification.
type fence struct {
	engine *podman.Engine
	image  string
	inside string // the program that runs first in every container
	goRoot string // the host's Go toolchain; "" for none
	prove  bool   // in every container, before anything else runs there
	cover  string // an empty directory, to cover others with
	policy firewall.Policy
	log    zerolog.Logger
	// initialized is what else has to be done before a start, when the container's first
	// process has an id on the host; may be nil.
	initialized func(pid int) error
	up          func() // called when the payload runs; may be nil
}

// newFence makes fences of a connection. What close leaves is the connection.
func (c *connection) newFence(scratch string, policy firewall.Policy, log zerolog.Logger) (*fence, error) {
	cover, err := os.MkdirTemp(scratch, "ward-empty-")
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(cover, 0o555); err != nil {
		return nil, errors.Join(err, os.Remove(cover))
	}
	f := &fence{engine: c.engine, image: c.image, inside: c.inside, goRoot: c.goRoot, cover: cover, policy: policy, log: log}
	// What the default runtime's containers do is known; another's may go round the rules
	// and look as if it did not.
	f.prove = c.engine.Runtime() != podman.DefaultRuntime
	return f, nil
}

// close removes the cover, if it is there still.
func (f *fence) close() error {
	if err := os.Remove(f.cover); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// ownerOf names a repository's containers over restarts of its launcher. A copy in its place
// is another repository: its launcher would end those of the original's.
func ownerOf(bare string) string {
	var st unix.Stat_t
	unix.Stat(bare, &st) // one that is not there has no containers
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%d", bare, st.Ino))
	return fmt.Sprintf("%x", sum[:8])
}

// podman is where this launch makes containers and sockets.
func (l *launch) podman() Podman {
	at := l.spec.Podman
	at.Scratch, at.own = l.scratch.Path, l.scratch
	return at
}

// runFenced runs the payload in a new container: created, initialized, its
// network namespace given its rules and read back, and only then started
// (SBX-1). Whatever fails, the container is removed. It is started once: an end
// that nobody asked for needs a new launch, fenced anew.
func (w *worker) runFenced(ctx context.Context) (err error) {
	f, err := w.conn.newFence(w.scratch.Path, w.policy, w.log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	f.up = w.up
	spec := w.container(f)
	if err := checkReadable(spec.Mounts); err != nil {
		return err
	}
	if len(w.payload.Command) == 0 && w.watcher != nil && knowsWatcher(w.spec.Settings) { // the one mount that not everybody inside may read
		f.initialized = func(pid int) error { return w.watcher.admit(pid, w.spec.Settings.Sandbox.Runtime) }
		spec.Mounts = append(spec.Mounts, readOnly(w.watcher.dir(), insideWatcherDir))
	}
	container, err := f.engine.Create(ctx, spec)
	if err != nil {
		return err
	}
	for _, warning := range container.Warnings {
		fmt.Fprintf(w.spec.Messages, "warning: %s\n", warning)
	}
	w.tell(func(now *runstate.Worker) { now.Container = container.ID })
	defer w.tell(func(now *runstate.Worker) { now.Container = "" })
	p := &w.payload
	return f.run(ctx, container, podman.Streams{Stdin: p.Stdin, Stdout: p.Stdout, Stderr: p.Stderr})
}

// run takes a created container to its end.
func (f *fence) run(ctx context.Context, c *podman.Container, streams podman.Streams) (err error) {
	var rules *firewall.Follower
	defer func() {
		err = errors.Join(err, c.Remove(context.WithoutCancel(ctx)))
		rules.Close() // last: what still runs when its wait failed is fenced to its end
	}()
	output, rules, err := f.start(ctx, c, streams)
	if err != nil {
		return err
	}
	if f.up != nil {
		f.up()
	}
	ended := make(chan struct{})
	broken := make(chan error, 1)
	go func() { broken <- f.stopWith(ctx, c, rules, ended) }()
	code, err := c.Wait(context.WithoutCancel(ctx))
	close(ended)
	if err := errors.Join(<-broken, err); err != nil {
		return err
	}
	podman.Drain(output)
	if code != 0 {
		return Exit(code)
	}
	// podman says 0 of a container that somebody removes while it waits.
	if _, err := c.Inspect(context.WithoutCancel(ctx)); err != nil {
		return fmt.Errorf("the container is gone before its end was seen: %w", err)
	}
	return nil
}

// start initializes a container, gives its network namespace the rules, and only
// then starts it. The output is for podman.Drain; the rules, which an error may leave in place,
// are kept until they are closed.
func (f *fence) start(ctx context.Context, c *podman.Container, streams podman.Streams) (output func() error, rules *firewall.Follower, err error) {
	pid, err := c.Init(ctx)
	if err != nil {
		return nil, nil, err
	}
	output = c.Attach(context.WithoutCancel(ctx), streams) // beside the rules; Start waits for both
	if rules, err = f.enforce(ctx, pid); err != nil {
		return nil, nil, err
	}
	if f.initialized != nil {
		if err = f.initialized(pid); err != nil {
			return nil, rules, err
		}
	}
	if err := c.Start(ctx); err != nil {
		return nil, rules, err
	}
	// A second start, by whomever, would have a network without rules. Now it has
	// a mount without a source, and fails.
	if err := os.Remove(f.cover); err != nil {
		return nil, rules, err
	}
	f.log.Info().Str("container", c.ID[:12]).Int("pid", pid).Str("egress", string(f.policy.Mode)).Msg("fenced")
	return output, rules, nil
}

// enforce puts the rules into the network namespace of a container's first process,
// reads them back, and keeps them to what the host becomes (its bridge may be new since
// Init, too). It is the process's own namespace, which Start looks at again: the path that
// podman has for it is a mount that an ordinary user's launcher does not see.
func (f *fence) enforce(ctx context.Context, pid int) (*firewall.Follower, error) {
	target := firewall.Target{NetNS: fmt.Sprintf("/proc/%d/ns/net", pid), Child: []string{FirewallChild}}
	rules, err := firewall.Follow(ctx, target, follow(f.policy))
	if err != nil {
		return nil, fmt.Errorf("the firewall is not in place, so the container does not start: %w", err)
	}
	return rules, nil
}

// stopWith ends the container when the launch's context ends. When podman's service
// has ended, nobody could: then the wait for the container ends, too, and the
// connection's end removes it.
//
// Rules that no longer follow the host end it at once, and are what it returns.
func (f *fence) stopWith(ctx context.Context, c *podman.Container, rules *firewall.Follower, ended <-chan struct{}) (broken error) {
	grace := stopGrace
	select {
	case <-ended:
		return nil
	case <-f.engine.Done():
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
