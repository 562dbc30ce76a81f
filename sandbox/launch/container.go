package launch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"git-ward/internal/atomicfile"
	"git-ward/internal/config"
	"git-ward/internal/diag"
	"git-ward/internal/runstate"
	"git-ward/protocols/boot"
	"git-ward/sandbox/fence"
	"git-ward/sandbox/firewall"
	"git-ward/sandbox/image"
	"git-ward/sandbox/inside"
	"git-ward/sandbox/podman"
	"git-ward/sandbox/verifier/local"
)

// containers is the engine of podman's containers on this host.
type containers struct {
	fenced
	here
	podman *fence.Shared
	warm   *warm      // nil: none are
	opened chan error // by open
	judges sync.Once
	judge  *local.Verifier // what verdicts made
}

// linger is how long podman's processes stay without containers or verdicts, so that
// consecutive directives reuse them.
const linger = 30 * time.Second

func (*containers) where(string) string { return "podman" }

// visible says first what a person mends first: without podman the rest does not matter.
func (c *containers) visible(ctx context.Context) error {
	if err := podman.Installed(); err != nil {
		return err
	}
	return c.fenced.visible(ctx)
}

// open connects to podman, which takes as long as everything else before the first container,
// and runs concurrently with it.
func (c *containers) open(ctx context.Context) (end func() error, err error) {
	c.podman = fence.Share(ctx, linger, c.launch.log, func(ctx context.Context) (*fence.Connection, error) {
		return fence.Connect(ctx, fence.OwnerOf(c.launch.spec.Bare), c.launch.spec.Podman, c.launch.spec.Settings)
	})
	c.opened = make(chan error, 1)
	go func() {
		_, release, err := c.podman.Use()
		if err == nil {
			release()
		}
		c.opened <- err
	}()
	c.warm = c.newWarm(ctx)
	return func() error {
		c.warm.close()
		if c.judge != nil {
			c.judge.Close()
		}
		return c.podman.Close()
	}, nil
}

func (c *containers) ready() error { return <-c.opened }

// verdicts judges over the launch's connection once it is open, because one connection counts
// all containers. findPolicy comes before.
func (c *containers) verdicts() *local.Verifier {
	c.judges.Do(func() {
		c.judge = &local.Verifier{Bare: c.launch.spec.Bare, Settings: c.launch.spec.Settings, Podman: c.launch.spec.Podman, Policy: c.launch.policy, Log: c.launch.log, Shared: c.podman,
			AtOnce: c.launch.spec.Settings.Verdicts(c.launch.spec.agents())}
	})
	return c.judge
}

func (c *containers) runner() local.Runner { return c.verdicts() }

// egressMeans describes the egress mode in one line (SBX-2).
var egressMeans = map[string]string{
	"public":    "fenced: the public internet is open to the agent, private networks and this host are not; [egress] mode = \"allowlist\" closes it",
	"allowlist": "fenced: no route out; the gateway opens the names of [egress] allow only",
}

// made is a worker's container whose payload has not begun.
type made struct {
	*fence.Prepared
	conn    *fence.Connection
	fence   *fence.Fence
	id      string
	release func()
}

// close removes the container and everything made for it.
func (m *made) close(ctx context.Context) error {
	var err error
	if m.Prepared != nil {
		err = m.Close(ctx)
	}
	if m.fence != nil {
		err = errors.Join(err, m.fence.Close())
	}
	m.release()
	return err
}

// run runs the payload in a prepared or a new container: it is created, initialized, its
// network namespace gets its rules, which are read back, and only then it is started (SBX-1).
// After any error the container is removed. It starts only once: after an unexpected end a new
// launch makes a new fence.
func (c *containers) run(ctx context.Context, w *worker) (err error) {
	var m *made
	err = w.ownDisk()
	if w.ahead != nil {
		if m = w.ahead.made; err == nil {
			err = w.ahead.giveDisk()
		}
	} else if err == nil {
		p := &w.payload
		m, err = c.make(ctx, w, podman.Streams{Stdin: p.Stdin, Stdout: p.Stdout, Stderr: p.Stderr})
	}
	if m == nil {
		return err
	}
	defer func() { err = errors.Join(err, m.close(ctx)) }()
	if err == nil && len(w.payload.Command) == 0 {
		err = w.assignment().Write(filepath.Join(filepath.Dir(w.door), assigned))
	}
	if err != nil {
		return err
	}
	enough := func() {}
	defer func() { enough() }()
	m.fence.Up = func() {
		w.up()
		if w.job != nil { // it will claim something
			c.launch.log.Info().Str("directive", w.only).Bool("prepared", w.ahead != nil).Dur("ms", time.Since(w.began)).Msg("its payload has begun")
			enough = c.verdicts().Ahead(ctx)
		}
		c.warm.fill()
	}
	if meter := w.launch.meter; meter != nil { // of another machine's launch the gate has it
		m.fence.Refused = func(at []netip.Addr) { meter.Unreached(w.only, at) }
	}
	w.tell(func(now *runstate.Worker) { now.Container = m.id })
	defer w.tell(func(now *runstate.Worker) { now.Container = "" })
	return m.Run(ctx)
}

// make makes a worker's container up to the point where its payload could begin.
func (c *containers) make(ctx context.Context, w *worker, streams podman.Streams) (_ *made, err error) {
	m := &made{release: func() {}}
	defer func() {
		if err != nil {
			err = errors.Join(err, m.close(ctx))
		}
	}()
	if m.conn, m.release, err = c.podman.Use(); err != nil {
		m.release = func() {}
		return nil, err
	}
	if m.fence, err = m.conn.New(w.launch.scratch.Path, w.launch.policy, w.launch.log); err != nil {
		return nil, err
	}
	spec := w.container(m.fence)
	if err := fence.CheckReadable(spec.Mounts); err != nil {
		return nil, err
	}
	if len(w.payload.Command) == 0 && w.watcher != nil && knowsWatcher(w.launch.spec.Settings) { // the only mount that not everybody inside may read
		m.fence.Initialized = func(pid int) error { return w.watcher.admit(pid, w.launch.spec.Settings.Sandbox.Runtime) }
		spec.Mounts = append(spec.Mounts, fence.ReadOnly(w.watcher.dir(), fence.InsideWatcherDir))
	}
	container, err := m.fence.Engine.Create(ctx, spec)
	if err != nil {
		return nil, err
	}
	for _, warning := range container.Warnings {
		fmt.Fprintf(w.launch.spec.Messages, "warning: %s\n", warning)
	}
	m.id = container.ID
	if m.Prepared, err = m.fence.Prepare(ctx, container, streams); err != nil {
		return nil, err
	}
	return m, nil
}

// container is the complete container of a launch (SBX-3, SBX-4).
func (w *worker) container(f *fence.Fence) *podman.Spec {
	size := w.launch.spec.Settings.Sandbox.StateSize
	state := podman.Mount{Kind: podman.Disk, Source: w.disk(), Target: fence.InsideState, Size: size, Owner: image.WatcherID}
	if f.Engine.Rootless() { // ordinary users cannot mount a file system
		state = podman.Mount{Kind: podman.Tmpfs, Target: fence.InsideState, Size: sizeInMemory(w.launch.spec.Settings)}
	}
	user := image.AgentID
	if len(w.payload.Command) == 0 {
		user = image.WatcherID
	}
	s := f.Container(w.launch.spec.Bare, w.launch.spec.Settings, user)
	s.Command, s.Stdin = w.commandLine(), w.payload.Stdin != nil
	s.First = append(s.First, w.gatewayFlags()...)
	s.Timeout = time.Until(w.launch.until) + w.launch.spec.Settings.Budget.Grace.Duration + fence.KillGrace
	s.Env[boot.UntilVar] = w.launch.untilText()
	if len(w.payload.Command) == 0 {
		s.Env[boot.LiveVar] = "1"
		s.First = append(s.First, "--assigned", fence.InsideDoorDir+"/"+assigned)
	}
	s.Mounts = append(s.Mounts,
		fence.ReadOnly(filepath.Dir(w.door), fence.InsideDoorDir),
		fence.ReadOnly(filepath.Dir(w.gateway), fence.InsideGatewayDir),
		fence.ReadOnly(filepath.Dir(configCopy(w.launch.spec.State)), fence.InsideConfigDir),
		state)
	if m, ok := f.Std(); ok {
		s.Mounts = append(s.Mounts, m)
		s.Env[boot.StdVar] = m.Target
	}
	return s
}

// ownDisk removes another directive's disk from this slot, because the files in its HOME would
// run for the next directive, behind that one's door. A file next to the disk names its owner.
// A disk without one, from an earlier Ward or a person, is moved aside.
func (w *worker) ownDisk() error {
	if len(w.payload.Command) > 0 { // the disk is its own
		return nil
	}
	disk := w.launch.spec.disk(w.state)
	of := disk + ".directive"
	was, err := os.ReadFile(of)
	switch {
	case err == nil && string(was) == w.only+"\n":
		return nil
	case err == nil:
		err = os.Remove(disk)
	case errors.Is(err, fs.ErrNotExist):
		aside := disk + ".before"
		err = unix.Renameat2(unix.AT_FDCWD, disk, unix.AT_FDCWD, aside, unix.RENAME_NOREPLACE)
		if errors.Is(err, fs.ErrExist) {
			return diag.Hint(fmt.Errorf("%s belongs to no directive, and %s is there already", disk, aside), "look at both, and remove what you do not need")
		}
		if err == nil {
			fmt.Fprintf(w.launch.spec.Messages, "warning: %s belongs to no directive; it is %s now, and nothing uses it: check it, and remove it\n", disk, aside)
		}
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the worker's disk: %w", err)
	}
	return atomicfile.Write(of, []byte(w.only+"\n"), 0o600)
}

// ownsDisk reports whether a disk exists and belongs to a directive.
func (s *Spec) ownsDisk(disk, directive string) bool {
	was, err := os.ReadFile(disk + ".directive")
	_, there := os.Stat(disk)
	return err == nil && there == nil && string(was) == directive+"\n"
}

// stateInMemory says where an ordinary user's /bot is: a size-limited file system needs root,
// to mount it or to set a directory quota.
func stateInMemory(size int64) string {
	return fmt.Sprintf("rootless: /bot is in memory, up to %.1f GiB ([sandbox] state_size, and half of memory), and goes with the container; what is pushed stays", float64(size)/(1<<30))
}

// sizeInMemory is the size in bytes of a /bot in the container's memory: at most half of that
// memory. So a process that fills /bot gets ENOSPC, instead of ending the container with the
// watcher and its state.
func sizeInMemory(s *config.Config) int64 {
	return min(s.Sandbox.StateSize, s.Sandbox.Memory/2)
}

// gatewayFlags tell the first process where the gateway is.
func (w *worker) gatewayFlags() []string {
	flags := []string{"--gateway", fence.InsideGateway}
	if w.launch.policy.Mode == firewall.Allowlist {
		flags = append(flags, "--proxy")
	}
	return flags
}

// commandLine runs inside: the watcher or the user's command.
func (w *worker) commandLine() []string {
	if command := w.payload.Command; len(command) > 0 {
		return command
	}
	args := []string{fence.InsideBin + "/" + fence.WatcherProgram, "--agent", fence.InsideBin + "/" + fence.AgentProgram, "--agent-user", strconv.Itoa(image.AgentID),
		"--bare", fence.InsideBare, "--state", fence.InsideState, "--door", fence.InsideDoor,
		"--config", fence.InsideConfigDir + "/" + filepath.Base(configCopy(w.launch.spec.State)), "--model", w.payload.Model}
	if w.watcher != nil && knowsWatcher(w.launch.spec.Settings) {
		args = append(args, "--report-door", fence.InsideWatcherDir+"/"+fence.SocketName)
	}
	return args
}

// assigned is the path of a worker's assignment, in its door socket's directory.
const assigned = "assigned"

// assignment tells the watcher its directive once its container exists.
func (w *worker) assignment() *inside.Assignment {
	return &inside.Assignment{Args: w.whatFor(), Env: []string{boot.LeaseVar + "=" + w.only}}
}

// whatFor tells the watcher its directive and its time.
func (w *worker) whatFor() (args []string) {
	if w.payload.Once {
		args = append(args, "--once")
	}
	if w.payload.Reset {
		args = append(args, "--reset")
	}
	if w.only != "" {
		args = append(args, "--directive", w.only)
	}
	return args
}
