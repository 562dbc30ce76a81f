package supervisor

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"git-ward/internal/diag"
)

// Verb is ward-watcher's hidden verb, through which all of the agent's commands start. It sets limits that
// a process can only set for itself, and then executes the command.
const Verb = "limited"

// The agent's priority: it yields processor time to the watcher, and is killed first if memory is short.
const (
	niceness = 5
	oomScore = 500
)

// limitedArgs returns the arguments before a command: the program, the verb, the watcher's process id, and
// the limit of the user's processes.
func (s *Supervisor) limitedArgs() []string {
	return []string{s.program, Verb, strconv.Itoa(os.Getpid()), strconv.FormatUint(s.processes, 10)}
}

// ErrWords means that Limited has wrong arguments, so that no supervisor called it.
var ErrWords = errors.New("two numbers and a command are needed")

// Limited executes the command in its arguments: WATCHER PROCESSES CMD [ARG ...]. WATCHER is the watcher's
// process id, which must be the parent's, and PROCESSES the limit of the user's processes, 0 for none. It
// returns only with an error.
func Limited(words []string) error {
	if len(words) < 3 {
		return ErrWords
	}
	watcher, err := strconv.Atoi(words[0])
	if err != nil {
		return fmt.Errorf("%w: %w", ErrWords, err)
	}
	processes, err := strconv.ParseUint(words[1], 10, 32)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrWords, err)
	}
	// The death signal is set for the thread that executes the command (prctl(2)).
	runtime.LockOSThread()
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(syscall.SIGKILL), 0, 0, 0); err != nil {
		return err
	}
	if os.Getppid() != watcher {
		return errors.New("the watcher is gone")
	}
	if err := limit(processes); err != nil {
		return err
	}
	path, err := exec.LookPath(words[2])
	if err == nil {
		err = syscall.Exec(path, words[2:], os.Environ())
	}
	return diag.Hint(err, "the command must be there where the agent runs")
}

// limit sets the limits of this process.
func limit(processes uint64) error {
	// Errors are ignored: the agent may start on a machine that does not permit these limits.
	unix.Setpriority(unix.PRIO_PROCESS, 0, niceness)
	os.WriteFile("/proc/self/oom_score_adj", []byte(strconv.Itoa(oomScore)), 0)
	if processes > 0 {
		if err := unix.Setrlimit(unix.RLIMIT_NPROC, &unix.Rlimit{Cur: processes, Max: processes}); err != nil {
			return err
		}
	}
	return unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
}

// processesFor returns the limit of the agent's processes, 0 for none. It is below the watcher's own, so
// that a fork bomb leaves processes for the watcher. RLIMIT_NPROC counts all of a user's processes, so it
// is useful only if the agent has a user of its own.
func processesFor(user int) uint64 {
	var have unix.Rlimit
	if user == 0 || unix.Getrlimit(unix.RLIMIT_NPROC, &have) != nil || have.Cur == unix.RLIM_INFINITY || have.Cur < 64 {
		return 0
	}
	return have.Cur - min(have.Cur/4, 64)
}
