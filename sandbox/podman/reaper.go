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

// reaping is what a reaper is told, as a line of JSON on its standard input.
type reaping struct {
	Podman  []string // the program with its global arguments
	Runtime string   // the OCI runtime's path
	Run     string   // the engine's name, in the names and labels of what it makes
	Dir     pointer  // to the engine's directory, which goes last
	Socket  string   // where the service is to listen; "" for none, and then only what is there is removed
	Scratch pointer  // to a directory that goes when the launcher died, if there is one
	Builds  bool     // the run may have begun an image

	guard guard    // of the reaper that serves
	lock  *os.File // of Dir, inherited
}

// pointer is what a reaper is told of a scratch directory.
type pointer struct{ Path, ID string }

func pointTo(d *scratch.Dir) pointer {
	if d == nil {
		return pointer{}
	}
	return pointer{d.Path, d.ID}
}

// reaper outlives the launcher for a moment. A container is no child of ours, so it could
// go on after a SIGKILL of the launcher: behind its rules still, but with no door, no
// gateway and nobody to end it. The reaper reads a pipe whose other end only we hold, and
// when that closes removes what the engine has made. It is the service's parent, and the
// kernel makes it that of every conmon and container that the service leaves, so it needs
// to ask no process what it is.
type reaper struct {
	cmd    *exec.Cmd
	pipe   io.WriteCloser
	guard  *os.File      // the guard reads its other end; nil for none
	told   chan struct{} // closed when the service has ended, or the reaper
	ended  chan struct{} // closed when the reaper has ended
	how    string        // how the service ended; valid after told
	err    error         // how the reaper ended; valid after ended
	child  *os.Process   // the service, by a handle of the kernel's; nil for none
	stderr said          // of the service
}

// startReaper returns when the service has started, which says nothing of its socket. lock
// is the open lock of the engine's directory, log gets what the service says.
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
	// A session of its own: what kills the launcher's group must not kill it.
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
	r.pipe = in // closed by the kernel with this process: nobody else has it
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

// serviceOf reads which process the service is: the reaper's child, or nobody's that we
// would end.
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

// stop lets the reaper end the service and do its work, which is nothing when the caller has
// removed every container itself, and waits for it. Where the reaper was killed, the service
// is ended here, and the work is done when again, which starts another one, returns.
func (r *reaper) stop(clean bool, again func() (*reaper, error)) error {
	word := all
	if clean {
		word = nothing
	}
	io.WriteString(r.pipe, word)
	r.pipe.Close()
	<-r.ended
	defer r.guard.Close() // a nil one is no matter
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

// endService ends a service that has lost its reaper, and was told so by the kernel: it
// may finish what it is making. Where nobody reaps orphans, as the first process of many a
// container, what is dead can be signalled for ever.
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
		time.Sleep(20 * time.Millisecond) // it is nobody's child here, so its end cannot be waited for
	}
}

// said is the end of what a program says, for an error. Its methods may be called at the same
// time.
type said struct {
	mu   sync.Mutex
	tail []byte
}

// maxSaid is how much of it is kept, in bytes.
const maxSaid = 8 << 10

// maxShown is how much of that an error shows: a program that panics says pages.
const maxShown = 600

func (s *said) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tail = append(s.tail, p...)
	s.tail = s.tail[max(0, len(s.tail)-maxSaid):]
	return len(p), nil
}

// text is what was said but for podman's lesser remarks, for people.
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
