package launch

import (
	"context"
	"fmt"
	"os"
	"os/user"
	"strconv"
	"syscall"
	"time"

	"git-ward/internal/process"
	"git-ward/protocols/boot"
	"git-ward/sandbox/fence"
	"git-ward/sandbox/firewall"
	"git-ward/sandbox/verifier/local"
)

// processes is the engine of an unfenced launch, which contains nothing (SBX-8).
type processes struct {
	*launch
	here
}

func (processes) where(string) string              { return "process" }
func (processes) only() string                     { return Script }
func (processes) means() []string                  { return []string{UnfencedMeans()} }
func (processes) visible(context.Context) error    { return nil }
func (processes) room(int, func(int) string) error { return nil }
func (processes) bound() (words string, leave func()) {
	return "unfenced: nothing is bounded", func() {}
}
func (processes) open(context.Context) (func() error, error) { return func() error { return nil }, nil }
func (processes) ready() error                               { return nil }

func (p processes) findPolicy(ctx context.Context) (firewall.Policy, error) {
	return fence.HostPolicy(ctx, p.spec.Settings)
}

func (p processes) runner() local.Runner {
	return &local.Processes{Bare: p.spec.Bare, Settings: p.spec.Settings, Mark: p.tag}
}

// UnfencedMeans says what contains an unfenced agent.
func UnfencedMeans() string {
	name := strconv.Itoa(os.Getuid())
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	return fmt.Sprintf("unfenced: the agent runs as you (user %s) with your rights; nothing is contained", name)
}

// run runs the watcher, and by it the agent, as processes of their own and
// waits for their end. When ctx is cancelled first they get SIGTERM and, after
// fence.StopGrace, SIGKILL. They do not outlive a launcher that is killed itself.
//
// The forwarder to the gateway runs in front of them, as in the fence (SBX-8).
func (processes) run(ctx context.Context, w *worker) error {
	s, p := &w.launch.spec, &w.payload
	args := []string{s.Programs.Forwarder, "--gateway", w.gateway, "--", s.Programs.Watcher, "--agent", s.Programs.Agent,
		"--bare", s.Bare, "--state", w.state, "--door", w.door, "--config", configCopy(s.State), "--model", p.Model}
	if w.watcher != nil {
		w.watcher.user.Store(int64(os.Geteuid())) // the watcher is the launcher's own user
		args = append(args, "--report-door", w.watcher.socket())
	}
	args = append(args, w.whatFor()...)
	c := process.Command{
		Args: args, Dir: w.state, Env: w.processEnv(), Stdout: p.Stdout, Stderr: p.Stderr,
		DieWithThread: true, Grace: fence.StopGrace,
	}
	w.up()
	status, _, err := c.Run(ctx)
	switch {
	case err != nil && ctx.Err() != nil:
		return fence.Exit(128 + int(syscall.SIGTERM))
	case err != nil:
		return fmt.Errorf("the agent does not start: %w", err)
	}
	return processEnd(syscall.WaitStatus(status), ctx.Err() != nil)
}

// processEnv is all that an unfenced agent sees of the launcher's environment: keys
// and tokens of the user's session are not its business.
func (w *worker) processEnv() []string {
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home(w.state), "LANG=C.UTF-8", boot.UntilVar + "=" + w.launch.untilText(), boot.LiveVar + "=1", boot.LeaseVar + "=" + w.only}
	if w.launch.tag != "" {
		env = append(env, w.launch.tag)
	}
	if tmp := os.Getenv("TMPDIR"); tmp != "" {
		env = append(env, "TMPDIR="+tmp)
	}
	return env
}

// launchVar is in the environment of all that an unfenced launch starts, and inherited.
const launchVar = "WARD_LAUNCH"

// tagOf marks the processes of unfenced launches by what they have for themselves alone: a
// repository's gate, or the state of a machine that works for one, by inode and path. A copy has
// another of both, and whoever holds it knows that what carries its mark is nobody's.
func tagOf(held *os.File, path string) (string, error) {
	var stat syscall.Stat_t
	if err := syscall.Fstat(int(held.Fd()), &stat); err != nil {
		return "", err
	}
	return launchVar + "=" + strconv.FormatUint(stat.Dev, 16) + "." + strconv.FormatUint(stat.Ino, 16) + ":" + path, nil
}

// endLeft ends what an unfenced launch that was killed left running, or one that ends by itself,
// as far as it kept the mark: nothing contains it.
func endLeft(tag string) int { return process.EndTagged(tag, time.Second) }

// processEnd is a launch's end for its processes'. Death by a signal that nobody
// here sent is trouble; where it was asked for, the shell's code for it is enough.
func processEnd(status syscall.WaitStatus, asked bool) error {
	switch {
	case status.Signaled() && asked:
		return fence.Exit(128 + int(status.Signal()))
	case status.Signaled():
		return fence.KilledBy(status.Signal())
	case status.ExitStatus() > 128 && !asked: // how the forwarder says that a signal ended the watcher
		return fence.KilledBy(syscall.Signal(status.ExitStatus() - 128))
	case status.ExitStatus() != 0:
		return fence.Exit(status.ExitStatus())
	}
	return nil
}
