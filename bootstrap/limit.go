package bootstrap

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"git-ward/internal/cli"
	"git-ward/internal/diag"
)

// limitVerb is the hidden verb by which everything of the agent's is started: it
// takes bounds that only a process can put on itself, and becomes the command.
const limitVerb = "limited"

// What an agent gives way with: processor time to its watcher, and its life when
// memory is short.
const (
	niceness = 5
	oomScore = 500
)

// limitArgs are the words before a command: `limited WATCHER PROCESSES`, with the
// process id of the watcher and a bound on the user's processes, 0 for none.
func limitArgs(processes uint64) []string {
	return []string{limitVerb, strconv.Itoa(os.Getpid()), strconv.FormatUint(processes, 10)}
}

func limit(env *cli.Env) error {
	if len(env.Args) < 4 {
		return env.Usage("ward-watcher "+limitVerb+" WATCHER PROCESSES CMD [ARG ...]", "two numbers and a command are needed")
	}
	watcher, err := strconv.Atoi(env.Args[1])
	if err != nil {
		return err
	}
	processes, err := strconv.ParseUint(env.Args[2], 10, 32)
	if err != nil {
		return err
	}
	// The death signal belongs to the thread that becomes the command (prctl(2)).
	runtime.LockOSThread()
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(syscall.SIGKILL), 0, 0, 0); err != nil {
		return err
	}
	if os.Getppid() != watcher {
		return errors.New("the watcher is gone")
	}
	// The best that can be had: a machine that does not let us is no reason not to
	// start.
	unix.Setpriority(unix.PRIO_PROCESS, 0, niceness)
	os.WriteFile("/proc/self/oom_score_adj", []byte(strconv.Itoa(oomScore)), 0)
	if processes > 0 {
		if err := unix.Setrlimit(unix.RLIMIT_NPROC, &unix.Rlimit{Cur: processes, Max: processes}); err != nil {
			return err
		}
	}
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil {
		return err
	}
	path, err := exec.LookPath(env.Args[3])
	if err == nil {
		err = syscall.Exec(path, env.Args[3:], os.Environ())
	}
	return diag.Hint(err, "the command must be there where the agent runs")
}

// processesFor is the bound on the agent's processes: below the watcher's own, so
// that a fork bomb leaves it room. RLIMIT_NPROC counts a user's processes, so it
// says something only when the agent is a user of its own.
func processesFor(agentUser int) uint64 {
	var have unix.Rlimit
	if agentUser == 0 || unix.Getrlimit(unix.RLIMIT_NPROC, &have) != nil || have.Cur == unix.RLIM_INFINITY || have.Cur < 64 {
		return 0
	}
	return have.Cur - min(have.Cur/4, 64)
}
