package podman

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"git-ward/internal/diag"
	"git-ward/internal/process"
	"git-ward/internal/scratch"
)

// ReaperVerb is the hidden verb by which a launcher starts itself again as its reaper,
// which is Reap.
const ReaperVerb = "launch-reaper"

// reaping is a reaper's instructions, a line of JSON on its standard input.
type reaping struct {
	Podman  []string // the program with its global arguments
	Runtime string   // the OCI runtime's path
	Run     string   // the engine's name, in the names and labels of what it makes
	Dir     pointer  // path of the engine's directory, which is removed last
	Socket  string   // where the service is to listen; "" for none, and then only what is there is removed
	Scratch pointer  // path of a directory to remove if the launcher died; may be empty
	Builds  bool     // the run may have begun an image

	guard guard    // of the serving reaper
	lock  *os.File // of Dir, inherited
}

// pointer tells a reaper about a scratch directory.
type pointer struct{ Path, ID string }

func pointTo(d *scratch.Dir) pointer {
	if d == nil {
		return pointer{}
	}
	return pointer{d.Path, d.ID}
}

// reaper briefly outlives the launcher. A container is no child of the launcher's, so it could
// continue after a SIGKILL: behind its rules, but without door or gateway and with nothing to
// end it. The reaper reads a pipe whose other end only the launcher holds, and when that
// closes it removes what the engine has made. It is the service's parent, and the kernel makes
// it the parent of every conmon and container that the service leaves, so it knows which
// processes to end.
type reaper struct {
	cmd    *exec.Cmd
	pipe   io.WriteCloser
	guard  *os.File      // the guard reads its other end; nil for none
	told   chan struct{} // closed when the service or the reaper has ended
	ended  chan struct{} // closed when the reaper has ended
	how    string        // how the service ended; valid after told
	err    error         // how the reaper ended; valid after ended
	child  *os.Process   // pidfd of the service; nil for none
	stderr said          // of the service
}

// startReaper returns when the service process has started; its socket may not exist yet. lock
// is the engine directory's open lock; log gets the service's output.
func startReaper(what *reaping, env []string, lock *os.File, log io.Writer) (*reaper, error) {
	r := &reaper{told: make(chan struct{}), ended: make(chan struct{})}
	r.cmd = exec.Command("/proc/self/exe", ReaperVerb, what.Run)
	r.cmd.Args[0] = os.Args[0]
	r.cmd.Env, r.cmd.Dir = env, "/"
	r.cmd.ExtraFiles = []*os.File{lock}
	r.cmd.Stderr = &r.stderr
	if log != nil {
		r.cmd.Stderr = io.MultiWriter(&r.stderr, log)
	}
	r.cmd.WaitDelay = time.Second // conmons inherit its stderr
	// A session of its own, so that a kill of the launcher's group does not reach it.
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	in, err := r.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := r.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if what.Socket != "" {
		theirs, err := r.openGuard()
		if err != nil {
			return nil, err
		}
		defer theirs.Close()
	}
	if err := r.cmd.Start(); err != nil {
		r.guard.Close()
		return nil, fmt.Errorf("the reaper does not start: %w", err)
	}
	r.pipe = in // the kernel closes it with this process, the only holder
	line, err := json.Marshal(what)
	if err == nil {
		_, err = in.Write(append(line, '\n'))
	}
	answers := bufio.NewReader(out)
	if err == nil && what.Socket != "" {
		r.child, err = r.serviceOf(answers)
	}
	go r.listen(answers)
	if err != nil {
		in.Close()
		<-r.ended
		r.guard.Close()
		return nil, fmt.Errorf("podman does not start: %w: %s", err, r.stderr.text())
	}
	return r, nil
}

// serviceOf finds the service's process, which must be the reaper's child.
func (r *reaper) serviceOf(answers *bufio.Reader) (*os.Process, error) {
	line, err := answers.ReadString('\n')
	if err != nil {
		return nil, errors.New("the reaper says nothing")
	}
	pid, err := strconv.Atoi(line[:len(line)-1])
	if err != nil {
		return nil, errors.New(line[:len(line)-1])
	}
	child, err := os.FindProcess(pid) // a pidfd
	if err != nil {
		return nil, err
	}
	if p, ok := process.Read(pid); !ok || p.Parent != r.cmd.Process.Pid {
		return nil, errors.New("it ended at once")
	}
	return child, nil
}

// listen waits for the ends of the service and of the reaper.
func (r *reaper) listen(answers *bufio.Reader) {
	line, err := answers.ReadString('\n')
	if r.how = "the reaper has ended"; err == nil {
		r.how = line[:len(line)-1]
	}
	close(r.told)
	io.Copy(io.Discard, answers)
	r.err = r.cmd.Wait()
	close(r.ended)
}

// nothing is the word for a reaper whose engine has removed all of its containers, and all
// for another one.
const (
	nothing = "nothing\n"
	all     = "all\n"
)

// stop makes the reaper end the service, clean up, and exit; if the caller has removed every
// container, nothing is left to clean up. If the reaper was killed, stop ends the service
// itself, and the work is done when again, which starts another reaper, returns.
func (r *reaper) stop(clean bool, again func() (*reaper, error)) error {
	word := all
	if clean {
		word = nothing
	}
	io.WriteString(r.pipe, word)
	r.pipe.Close()
	<-r.ended
	defer r.guard.Close() // closing nil is harmless
	if r.err == nil || again == nil {
		return r.failed()
	}
	r.endService()
	next, err := again()
	if err != nil {
		return errors.Join(r.failed(), err)
	}
	return next.stop(false, nil)
}

func (r *reaper) failed() error {
	if r.err == nil {
		return nil
	}
	return fmt.Errorf("the reaper: %w: %s", r.err, r.stderr.text())
}

// endService ends a service whose reaper died; the kernel has notified the service, which may
// finish what it is making. Where no process reaps orphans, as in many containers, a zombie
// can be signalled for ever.
func (r *reaper) endService() {
	if r.child == nil {
		return
	}
	for end := time.Now().Add(making); r.child.Signal(unix.Signal(0)) == nil; {
		if p, ok := process.Read(r.child.Pid); ok && p.Dead {
			return
		}
		signal := syscall.SIGTERM
		if time.Now().After(end) {
			signal = syscall.SIGKILL
		}
		r.child.Signal(signal)
		process.AwaitEnd(20*time.Millisecond, r.child.Pid)
	}
}

// said is the end of a program's output, for an error. It is safe for concurrent use.
type said struct {
	mu   sync.Mutex
	tail []byte
}

// maxSaid is how much of it is kept, in bytes.
const maxSaid = 8 << 10

// maxShown is how much of that an error shows, because a panic prints pages.
const maxShown = 600

func (s *said) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tail = append(s.tail, p...)
	s.tail = s.tail[max(0, len(s.tail)-maxSaid):]
	return len(p), nil
}

// text is the output without podman's minor messages, for people.
func (s *said) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var kept []string
	for line := range strings.Lines(string(s.tail)) {
		if !strings.Contains(line, "level=warning") && !strings.Contains(line, "level=info") {
			kept = append(kept, strings.TrimSpace(line))
		}
	}
	return diag.Cut(strings.Join(kept, "; "), maxShown)
}
