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
	"git-ward/sandbox/verifier"
	"git-ward/sandbox/verifier/local"
)

// processes is the engine of an unfenced launch, which confines nothing (SBX-8).
type processes struct {
	launch *launch
	here
	places *verifier.Places // of its verdicts; nil before open
}

func (processes) where(string) string              { return "process" }
func (processes) only() string                     { return Script }
func (processes) means() []string                  { return []string{UnfencedMeans()} }
func (processes) visible(context.Context) error    { return nil }
func (processes) room(int, func(int) string) error { return nil }
func (processes) bound() (words string, leave func()) {
	return "unfenced: nothing is bounded", func() {}
}
func (processes) ready() error { return nil }

func (p *processes) open(context.Context) (end func() error, err error) {
	if p.places, err = verifier.NewPlaces(); err != nil {
		return nil, err
	}
	return p.places.Close, nil
}

func (p *processes) findPolicy(ctx context.Context) (firewall.Policy, error) {
	return fence.HostPolicy(ctx, p.launch.spec.Settings)
}

func (p *processes) runner() local.Runner {
	return &local.Processes{Bare: p.launch.spec.Bare, Settings: p.launch.spec.Settings, Mark: p.launch.tag, Places: p.places}
}

// UnfencedMeans says what contains an unfenced agent.
func UnfencedMeans() string {
	name := strconv.Itoa(os.Getuid())
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	return fmt.Sprintf("unfenced: the agent runs as you (user %s) with your rights; nothing confines it", name)
}

// run runs the watcher, which runs the agent, as ordinary processes, and waits for their end.
// If ctx is cancelled they get SIGTERM and, after fence.StopGrace, SIGKILL. They do not
// outlive a killed launcher.
//
// The forwarder to the gateway is their first process, as in the fence (SBX-8).
func (processes) run(ctx context.Context, w *worker) error {
	s, p := &w.launch.spec, &w.payload
	args := []string{s.Programs.Forwarder, "--gateway", w.gateway, "--", s.Programs.Watcher, "--agent", s.Programs.Agent,
		"--bare", s.Bare, "--state", w.state, "--door", w.door, "--config", configCopy(s.State), "--model", p.Model}
	if w.watcher != nil {
		w.watcher.user.Store(int64(os.Geteuid())) // the watcher runs as the launcher's user
		args = append(args, "--report-door", w.watcher.door.Socket())
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

// processEnv is the part of the launcher's environment that an unfenced agent gets, without
// the session's keys and tokens.
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

// launchVar marks all processes of an unfenced launch, which inherit it.
const launchVar = "WARD_LAUNCH"

// tagOf marks the processes of an unfenced launch by what it has locked: a repository's gate,
// or the state of a machine that works for one, by inode and path. A copy has other ones. The
// lock's holder knows that processes with its mark are orphans.
func tagOf(held *os.File, path string) (string, error) {
	var stat syscall.Stat_t
	if err := syscall.Fstat(int(held.Fd()), &stat); err != nil {
		return "", err
	}
	return launchVar + "=" + strconv.FormatUint(stat.Dev, 16) + "." + strconv.FormatUint(stat.Ino, 16) + ":" + path, nil
}

// endLeft ends processes that an unfenced launch left running, as far as they kept the mark.
func endLeft(tag string) int { return process.EndTagged(tag, time.Second) }

// processEnd is the result of a launch's processes. Death by an unrequested signal is an
// error; a requested one gets the shell's code for it.
func processEnd(status syscall.WaitStatus, asked bool) error {
	switch {
	case status.Signaled() && asked:
		return fence.Exit(128 + int(status.Signal()))
	case status.Signaled():
		return fence.KilledBy(status.Signal())
	case status.ExitStatus() > 128 && !asked: // the forwarder's code for a watcher that died of a signal
		return fence.KilledBy(syscall.Signal(status.ExitStatus() - 128))
	case status.ExitStatus() != 0:
		return fence.Exit(status.ExitStatus())
	}
	return nil
}
