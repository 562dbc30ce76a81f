package sandbox

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/rs/zerolog"

	"git-ward/internal/cli"
	"git-ward/internal/diag"
	"git-ward/sandbox/firewall"
	"git-ward/sandbox/image"
	"git-ward/sandbox/podman"
)

// FirewallChild is the hidden verb by which an ordinary user's launcher starts
// itself again inside its container's namespaces.
const FirewallChild = "firewall-child"

// fence is one container and what stands beside it.
type fence struct {
	*Spec
	log     zerolog.Logger
	engine  *podman.Engine
	door    string // socket, on the host
	gateway string // socket, on the host
	image   string
	empty   string // an empty directory, to cover others with
	policy  firewall.Policy
}

// runFenced runs the payload in a new container: created, initialized, its
// network namespace given its rules and read back, and only then started
// (SBX-1). Whatever fails, the container is removed. It is started once: an end
// that nobody asked for needs a new launch, fenced anew.
func (s *Spec) runFenced(ctx context.Context, log zerolog.Logger, policy firewall.Policy, door, gateway string) (err error) {
	f := &fence{Spec: s, log: log, policy: policy, door: door, gateway: gateway}
	if err := f.open(ctx, owner(s.Bare)); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	spec := f.container()
	if err := readable(spec.Mounts); err != nil {
		return err
	}
	container, err := f.engine.Create(ctx, spec)
	if err != nil {
		return err
	}
	for _, warning := range container.Warnings {
		fmt.Fprintf(s.Stderr, "warning: %s\n", warning)
	}
	return f.run(ctx, container)
}

// open connects to podman, removes what an earlier launcher left under the same
// name, and finds the image. Close what it opened.
func (f *fence) open(ctx context.Context, owner string) (err error) {
	if f.engine, err = podman.Connect(ctx, podman.Options{Owner: owner, Storage: f.Storage, Scratch: f.RuntimeDir}); err != nil {
		return diag.Hint(err, "`git ward doctor` says what this machine lacks")
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.close())
		}
	}()
	if _, err := f.engine.Sweep(ctx); err != nil {
		return err
	}
	if err := f.findImage(ctx); err != nil {
		return err
	}
	if f.empty, err = os.MkdirTemp(f.RuntimeDir, "ward-empty-"); err != nil {
		return err
	}
	return os.Chmod(f.empty, 0o555)
}

func (f *fence) close() error {
	err := f.engine.Close()
	if f.empty != "" {
		err = errors.Join(err, os.RemoveAll(f.empty))
	}
	return err
}

// findImage settles which image runs, and that it is there: launch pulls and
// builds nothing.
func (f *fence) findImage(ctx context.Context) error {
	if f.image = f.Settings.Sandbox.Image; f.image == "" {
		var recipe image.Recipe
		if err := recipe.Complete(); err != nil {
			return err
		}
		f.image = recipe.Name()
	}
	there, err := f.engine.HasImage(ctx, f.image)
	if err == nil && !there {
		err = diag.Hint(fmt.Errorf("the image %s is not there", f.image), "`git ward image build` makes it, once")
	}
	return err
}

// owner names a repository's containers over restarts of its launcher.
func owner(bare string) string {
	sum := sha256.Sum256([]byte(bare))
	return fmt.Sprintf("%x", sum[:8])
}

// run takes a created container to its end.
func (f *fence) run(ctx context.Context, c *podman.Container) (err error) {
	defer func() { err = errors.Join(err, c.Remove(context.WithoutCancel(ctx))) }()
	pid, err := c.Init(ctx)
	if err != nil {
		return err
	}
	// The container's bridge may be new: since Init its addresses and routes are
	// the host's, too.
	if f.policy.HostAddrs, f.policy.HostRoutes, err = firewall.HostFacts(ctx); err != nil {
		return fmt.Errorf("the host's own addresses cannot be read: %w", err)
	}
	if err := f.enforce(ctx, pid); err != nil {
		return err
	}
	detached, err := c.Attach(context.WithoutCancel(ctx), f.streams())
	if err != nil {
		return err
	}
	if err := c.Start(ctx); err != nil {
		return err
	}
	// A second start, by whomever, would have a network without rules. Now it has
	// a mount without a source, and fails.
	if err := os.Remove(f.empty); err != nil {
		return err
	}
	f.log.Info().Str("container", c.ID[:12]).Int("pid", pid).Str("egress", string(f.policy.Mode)).Msg("fenced")
	stopped := make(chan struct{})
	defer close(stopped)
	go f.stopWith(ctx, c, stopped)
	code, err := c.Wait(context.WithoutCancel(ctx))
	if err != nil {
		return err
	}
	podman.Drain(detached)
	if code != 0 {
		return cli.ExitCode(code)
	}
	// podman says 0 of a container that somebody removes while it waits.
	if _, err := c.Inspect(context.WithoutCancel(ctx)); err != nil {
		return fmt.Errorf("the container is gone before its end was seen: %w", err)
	}
	return nil
}

// enforce puts the rules into the network namespace of a container's first
// process and reads them back. The process's own namespace, which Start looks at
// again: the path that podman has for it is a mount that an ordinary user's
// launcher does not see.
func (f *fence) enforce(ctx context.Context, pid int) error {
	target := firewall.Target{NetNS: fmt.Sprintf("/proc/%d/ns/net", pid), Child: []string{FirewallChild}}
	if err := firewall.Apply(ctx, f.policy, target); err != nil {
		return fmt.Errorf("the firewall is not in place, so the container does not start: %w", err)
	}
	return nil
}

// stopWith ends the container when the launch is over. When podman's service is,
// nobody could: then the wait for the container ends, and its engine's Close
// removes it.
func (f *fence) stopWith(ctx context.Context, c *podman.Container, over <-chan struct{}) {
	select {
	case <-over:
		return
	case <-f.engine.Done():
		return
	case <-ctx.Done():
	}
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	if err := c.Stop(late, leave); err != nil {
		f.log.Error().Err(err).Msg("the container does not stop")
	}
}
