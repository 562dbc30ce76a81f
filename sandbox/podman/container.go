package podman

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"git-ward/internal/diag"
	"git-ward/internal/process"
)

// Container is one container, from Create to Remove. It is started once: podman
// would give a second start a fresh network namespace, without rules.
type Container struct {
	ID       string
	Warnings []string // parts of the Spec that the machine cannot enforce

	engine  *Engine
	volumes []string
	life    *life        // nil without Spec.First
	pid     int          // of Init; 0 before
	netns   string       // its network namespace
	conmon  string       // the file in which podman records its conmon's process
	joined  func() error // waits for Attach's streams; nil if there are none

	mu      sync.Mutex
	started bool
	removed bool
}

// errOnce is the error of a second start.
var errOnce = errors.New("a container is started once: a second start has a network namespace without rules; create a new one")

// Create makes a container and starts nothing.
func (e *Engine) Create(ctx context.Context, s *Spec) (*Container, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	r, err := e.newRequest(s)
	if err != nil {
		return nil, err
	}
	c := &Container{engine: e}
	c.mu.Lock() // the remover waits for everything to be removed
	e.mu.Lock()
	e.containers[c] = true
	e.made++
	r.name = fmt.Sprintf("%s%s-%d", namePrefix, e.run, e.made)
	e.mu.Unlock()
	r.conmon = filepath.Join(e.service.dir.Path, r.name+".pid")
	c.conmon = r.conmon
	doing, err := c.make(ctx, r)
	c.mu.Unlock()
	if err != nil {
		return nil, c.fail(doing, err)
	}
	return c, nil
}

// make makes what a container consists of, and says what failed.
func (c *Container) make(ctx context.Context, r *request) (doing string, err error) {
	e := c.engine
	if c.life, err = e.giveLife(r); err != nil {
		return "hold", err
	}
	for _, d := range r.disks {
		if err := e.makeDisk(ctx, &d); err != nil {
			return "make " + d.mount.Target + " for", err
		}
		c.volumes = append(c.volumes, d.volume)
	}
	// Podman completes a request even if the caller has gone; without the answer nothing could
	// remove the result.
	making, cancel := context.WithTimeout(context.WithoutCancel(ctx), removal)
	defer cancel()
	var warnings []string
	if c.ID, warnings, err = e.api.create(making, r); err == nil {
		err = context.Cause(ctx)
	}
	c.Warnings = append(r.warnings, warnings...)
	return "create", err
}

// Init makes the namespaces and returns the process that holds them, which runs
// nothing of the container's before Start.
func (c *Container) Init(ctx context.Context) (pid int, err error) {
	defer busy(ctx)()
	if err := c.engine.api.init(ctx, c.ID); err != nil {
		return 0, c.fail("init", err)
	}
	if pid, err = c.first(ctx); err == nil {
		c.netns, err = netns(pid)
	}
	if err != nil {
		return 0, c.fail("init", err)
	}
	c.pid = pid
	return c.pid, nil
}

// first is an initialized container's first process: conmon's only child with the default
// runtime, which podman takes some milliseconds to report.
func (c *Container) first(ctx context.Context) (pid int, err error) {
	if data, err := os.ReadFile(c.conmon); err == nil && c.engine.Runtime() == DefaultRuntime {
		conmon, _ := strconv.Atoi(strings.TrimSpace(string(data)))
		if all := process.ChildrenOf(conmon); len(all) == 1 && !all[0].Dead && elsewhere(all[0].PID) {
			return all[0].PID, nil
		}
	}
	state, err := c.Inspect(ctx)
	if err == nil && (state.Status != "initialized" || state.PID <= 0) {
		err = fmt.Errorf("it is %s, with process %d", state.Status, state.PID)
	}
	return state.PID, err
}

// netns names the network namespace of a process.
func netns(pid int) (string, error) {
	return os.Readlink(fmt.Sprintf("/proc/%d/ns/net", pid))
}

// Start runs the container's command in the namespaces that Init made. Were
// their process gone, podman would quietly make fresh ones, without rules, so
// that is looked at before and after.
func (c *Container) Start(ctx context.Context) error {
	c.mu.Lock()
	second := c.started
	c.started = true
	c.mu.Unlock()
	if second {
		return errOnce
	}
	if c.pid == 0 {
		return c.fail("start", errors.New("it is not initialized"))
	}
	if c.joined != nil {
		if err := c.joined(); err != nil {
			return c.fail("attach", err)
		}
	}
	if now, err := netns(c.pid); err != nil || now != c.netns {
		return c.fail("start", fmt.Errorf("its process %d is gone", c.pid))
	}
	if err := c.engine.api.start(ctx, c.ID); err != nil {
		return c.fail("start", err)
	}
	err := c.verify(ctx)
	if err == nil {
		err = c.proved(ctx, proofPatience)
	}
	if err != nil {
		return c.fail("start", err)
	}
	return nil
}

// verify reports whether the command runs, or ran, as the process that Init made.
func (c *Container) verify(ctx context.Context) error {
	if now, err := netns(c.pid); err == nil && now == c.netns {
		return nil
	}
	// It has ended already, or is another one. podman cannot inspect a container whose command
	// is just ending.
	var state State
	var err error
	for range 10 {
		if state, err = c.Inspect(ctx); err == nil {
			break
		}
		time.Sleep(20 * time.Millisecond) // podman does not announce that it can inspect again
	}
	if err == nil && state.PID != 0 && state.PID != c.pid {
		err = fmt.Errorf("it runs as process %d, not %d, outside its rules", state.PID, c.pid)
	}
	return err
}

// Alive reports whether the process that Init made still exists.
func (c *Container) Alive() bool {
	now, err := netns(c.pid)
	return err == nil && now == c.netns
}

// Attach begins to join the container's streams, between Init and Start, which waits
// until they are joined so that nothing is lost. wait returns when the output ends.
// Cancelling ctx lets go of the streams, not of the container.
func (c *Container) Attach(ctx context.Context, s Streams) (wait func() error) {
	ready, done := make(chan struct{}), make(chan struct{})
	var err error
	go func() {
		defer close(done)
		err = c.engine.api.attach(ctx, c.ID, s, func() { close(ready) })
	}()
	wait = func() error { <-done; return err }
	c.joined = func() error {
		select {
		case <-ready:
			return nil
		case <-done:
			return cmp.Or(err, errors.New("its input and output ended before they were connected"))
		}
	}
	return wait
}

// Drain waits for the last output of a container that has ended; wait is Attach's.
func Drain(wait func() error) {
	done := make(chan struct{})
	go func() { wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(2 * time.Second): // a terminal's stdin is still being read
	}
}

// Wait returns the exit code once the command has ended, by the first process's own word, or else
// by podman's. That has the time of removal, since one that has lost a container's state never
// answers.
func (c *Container) Wait(ctx context.Context) (int, error) {
	if c.awaitProcess(ctx) {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, removal)
		defer cancel()
		if code, ok := c.life.told(ctx); ok {
			return code, nil
		}
	}
	code, err := c.engine.api.wait(ctx, c.ID)
	if err != nil {
		return 0, fmt.Errorf("podman does not tell how the container ended: %w", c.engine.explain(err))
	}
	return code, nil
}

// awaitProcess returns when the first process has ended, which the kernel reports; podman
// would poll a hundred times a second for the whole launch. It also returns when nothing is
// left that could end the process. It returns false if the process cannot be watched, on an
// old kernel or without a free descriptor: it may still run.
func (c *Container) awaitProcess(ctx context.Context) bool {
	fd, err := unix.PidfdOpen(c.pid, 0)
	if err != nil {
		return errors.Is(err, unix.ESRCH)
	}
	if now, err := netns(c.pid); err != nil || now != c.netns {
		unix.Close(fd)
		return err == nil || errors.Is(err, fs.ErrNotExist) // its number was reused, or is free
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer unix.Close(fd)
		for {
			if _, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, -1); err != unix.EINTR {
				return
			}
		}
	}()
	select {
	case <-ended:
	case <-ctx.Done():
	case <-c.engine.Done():
	}
	return true
}

// Stop asks the command to end with SIGTERM, and after grace, rounded up to
// seconds, makes it. The container stays until Remove. What podman answers is no proof: of
// a container whose state was reset, by a podman that has the same storage and another
// /run, it says that it is stopped, and it runs on. So it loses its life as well.
func (c *Container) Stop(ctx context.Context, grace time.Duration) error {
	seconds := uint((grace + time.Second - 1) / time.Second)
	defer c.life.end()
	return c.engine.api.stop(ctx, c.ID, seconds)
}

// Inspect returns the container's present state.
func (c *Container) Inspect(ctx context.Context) (State, error) {
	return c.engine.api.inspect(ctx, c.ID)
}

// removal is how long removing a container may take: killing it, and removing its network and
// mounts.
const removal = 30 * time.Second

// Remove kills and removes the container, even when ctx is cancelled, so that nothing outlives
// its fence. A second call does nothing.
func (c *Container) Remove(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.removed {
		return nil
	}
	if s := c.engine.service; s != nil && s.ended() != nil {
		c.life.end()
		return nil // no service answers; the reaper removes it when the engine closes
	}
	defer c.life.end()
	defer os.Remove(c.conmon)
	defer busy(ctx)()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removal)
	defer cancel()
	var errs []error
	if c.ID != "" {
		err := c.engine.api.remove(ctx, c.ID)
		if err != nil { // it may have ended between podman's look and its signal: "container state improper"
			err = c.engine.api.remove(ctx, c.ID)
		}
		errs = append(errs, err)
	}
	for _, v := range c.volumes {
		errs = append(errs, c.engine.api.removeVolume(ctx, v))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("container %.12s is not removed: %w", c.ID, err)
	}
	c.removed, c.started = true, true
	c.engine.mu.Lock()
	delete(c.engine.containers, c)
	c.engine.mu.Unlock()
	return nil
}

// fail removes the container, because one that may be unfenced must not stay.
func (c *Container) fail(doing string, err error) error {
	err = fmt.Errorf("podman cannot %s the container: %w", doing, c.engine.explain(err))
	err = c.engine.blame(err)
	return errors.Join(err, c.Remove(context.Background()))
}

// blame suggests a remedy where another runtime starts nothing but the default one would.
func (e *Engine) blame(err error) error {
	if e.service == nil || e.opts.Runtime == DefaultRuntime {
		return err
	}
	if old := RuntimeTooOld(context.Background(), e.opts.Runtime, e.service.what.Runtime); old != nil {
		return errors.Join(old, err)
	}
	if _, hinted := errors.AsType[*diag.Hinted](err); hinted {
		return err
	}
	return diag.Hint(err, "`git ward doctor --bare DIR` says what %s needs; or set [sandbox] runtime to another, such as %s", e.opts.Runtime, DefaultRuntime)
}
