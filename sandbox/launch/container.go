package launch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
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
	"git-ward/sandbox/podman"
)

// podman is where this launch makes containers and sockets.
func (l *launch) podman() fence.Podman {
	at := l.spec.Podman
	at.Scratch, at.Own = l.scratch.Path, l.scratch
	return at
}

// runFenced runs the payload in a new container: created, initialized, its
// network namespace given its rules and read back, and only then started
// (SBX-1). Whatever fails, the container is removed. It is started once: an end
// that nobody asked for needs a new launch, fenced anew.
func (w *worker) runFenced(ctx context.Context) (err error) {
	f, err := w.launch.conn.New(w.launch.scratch.Path, w.launch.policy, w.launch.log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	f.Up = w.up
	if err := w.ownDisk(); err != nil {
		return err
	}
	spec := w.container(f)
	if err := fence.CheckReadable(spec.Mounts); err != nil {
		return err
	}
	if len(w.payload.Command) == 0 && w.watcher != nil && knowsWatcher(w.launch.spec.Settings) { // the one mount that not everybody inside may read
		f.Initialized = func(pid int) error { return w.watcher.admit(pid, w.launch.spec.Settings.Sandbox.Runtime) }
		spec.Mounts = append(spec.Mounts, fence.ReadOnly(w.watcher.dir(), fence.InsideWatcherDir))
	}
	container, err := f.Engine.Create(ctx, spec)
	if err != nil {
		return err
	}
	for _, warning := range container.Warnings {
		fmt.Fprintf(w.launch.spec.Messages, "warning: %s\n", warning)
	}
	w.tell(func(now *runstate.Worker) { now.Container = container.ID })
	defer w.tell(func(now *runstate.Worker) { now.Container = "" })
	p := &w.payload
	return f.Run(ctx, container, podman.Streams{Stdin: p.Stdin, Stdout: p.Stdout, Stderr: p.Stderr})
}

// container is the whole of the container that a launch wants (SBX-3, SBX-4).
func (w *worker) container(f *fence.Fence) *podman.Spec {
	size := w.launch.spec.Settings.Sandbox.StateSize
	state := podman.Mount{Kind: podman.Disk, Source: w.launch.spec.disk(w.state), Target: fence.InsideState, Size: size, Owner: image.WatcherID}
	if f.Engine.Rootless() { // an ordinary user cannot mount a file system
		state = podman.Mount{Kind: podman.Tmpfs, Target: fence.InsideState, Size: StateInMemory(w.launch.spec.Settings)}
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
		s.Env[boot.LiveVar], s.Env[boot.LeaseVar] = "1", w.only
	}
	s.Mounts = append(s.Mounts,
		fence.ReadOnly(filepath.Dir(w.door), fence.InsideDoorDir),
		fence.ReadOnly(filepath.Dir(w.gateway), fence.InsideGatewayDir),
		fence.ReadOnly(filepath.Dir(configCopy(w.launch.spec.State)), fence.InsideConfigDir),
		state)
	return s
}

// ownDisk removes the disk that another directive's worker left in this place: what lies in its
// HOME would run for the next one, behind that one's door. Beside the disk stands whose it is; one
// without that, of an earlier Ward or of a person, is moved aside.
func (w *worker) ownDisk() error {
	if len(w.payload.Command) > 0 { // it has its own
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
			return diag.Hint(fmt.Errorf("%s says of no directive that it is its own, and %s is there already", disk, aside), "look at both, and remove what you do not need")
		}
		if err == nil {
			fmt.Fprintf(w.launch.spec.Messages, "warning: %s says of no directive that it is its own; it is %s now, and nothing uses it: look, and remove it\n", disk, aside)
		}
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the worker's disk: %w", err)
	}
	return atomicfile.Write(of, []byte(w.only+"\n"), 0o600)
}

// StateInMemory is how large /bot may be, in bytes, where it is in the container's memory: at
// most half of that memory. A process that fills /bot then meets a full file system. It does not
// end the container, and with it the watcher and all that the watcher knows.
func StateInMemory(s *config.Config) int64 {
	return min(s.Sandbox.StateSize, s.Sandbox.Memory/2)
}

// gatewayFlags lead the first process to the gateway.
func (w *worker) gatewayFlags() []string {
	flags := []string{"--gateway", fence.InsideGateway}
	if w.launch.policy.Mode == firewall.Allowlist {
		flags = append(flags, "--proxy")
	}
	return flags
}

// commandLine is what runs inside: the watcher or the user's own command.
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
	return append(args, w.whatFor()...)
}

// whatFor is what the watcher is told of how long it works, and on what.
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
