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

// Verb is ward-watcher's hidden verb by which everything of the agent's is started:
// it takes bounds that only a process can put on itself, and becomes the command.
const Verb = "limited"

// What an agent gives way with: processor time to its watcher, and its life when
// memory is short.
const (
	niceness = 5
	oomScore = 500
)

// limitedArgs are the words before a command: the program, the verb, the process id
// of the watcher, and a bound on the user's processes.
func (s *Supervisor) limitedArgs() []string {
	return []string{s.program, Verb, strconv.Itoa(os.Getpid()), strconv.FormatUint(s.processes, 10)}
}

// ErrWords says that Limited was not called by a supervisor.
var ErrWords = errors.New("two numbers and a command are needed")

// Limited becomes the command in its words: WATCHER PROCESSES CMD [ARG ...], with the
// process id of the watcher, which must be the parent, and a bound on the user's
// processes, 0 for none. It returns only with an error.
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
	// The death signal belongs to the thread that becomes the command (prctl(2)).
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
	// A machine that does not permit these limits is no reason not to start.
	unix.Setpriority(unix.PRIO_PROCESS, 0, niceness)
	os.WriteFile("/proc/self/oom_score_adj", []byte(strconv.Itoa(oomScore)), 0)
	if processes > 0 {
		if err := unix.Setrlimit(unix.RLIMIT_NPROC, &unix.Rlimit{Cur: processes, Max: processes}); err != nil {
			return err
		}
	}
	return unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
}

// processesFor is the bound on the agent's processes: below the watcher's own, so
// that a fork bomb leaves it some. RLIMIT_NPROC counts a user's processes, so it
// says something only when the agent is a user of its own.
func processesFor(user int) uint64 {
	var have unix.Rlimit
	if user == 0 || unix.Getrlimit(unix.RLIMIT_NPROC, &have) != nil || have.Cur == unix.RLIM_INFINITY || have.Cur < 64 {
		return 0
	}
	return have.Cur - min(have.Cur/4, 64)
}
