package verifier

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"git-ward/sandbox/podman"
)

// hold delays a container's command until it is known and its checkout is watched (PROOF-2).
type hold struct {
	dir    string        // of the checkout, inside
	word   string        // which nothing has printed before the command starts
	ready  chan struct{} // closed at the word
	in     *io.PipeReader
	answer *io.PipeWriter

	mu   sync.Mutex
	said []byte         // that may be the beginning of the word
	to   podman.Streams // the command's; none: it is not known yet, and nothing has anything to say
}

func newHold(dir string) *hold {
	h := &hold{dir: dir, word: rand.Text(), ready: make(chan struct{})}
	h.in, h.answer = io.Pipe()
	return h
}

// streams returns the container's streams, with the word filtered out.
func (h *hold) streams() podman.Streams {
	return podman.Streams{Stdin: h.in, Stdout: h, Stderr: heldBack{h}}
}

// heldBack is the container's standard error with the word in it.
type heldBack struct{ h *hold }

func (b heldBack) Write(p []byte) (int, error) {
	b.h.mu.Lock()
	defer b.h.mu.Unlock()
	if b.h.to.Stderr == nil {
		return len(p), nil
	}
	return b.h.to.Stderr.Write(p)
}

// Write passes everything but the word on.
func (h *hold) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.to.Stdout == nil {
		return len(p), nil
	}
	if h.began() {
		return h.to.Stdout.Write(p)
	}
	h.said = append(h.said, p...)
	passes, after, said := bytes.Cut(h.said, []byte(h.word+"\n"))
	if said {
		passes = append(passes, after...)
		close(h.ready)
	} else {
		passes = passes[:max(0, len(passes)-len(h.word))]
		h.said = h.said[len(passes):]
	}
	if _, err := h.to.Stdout.Write(passes); err != nil {
		return 0, err
	}
	return len(p), nil
}

// began reports whether the word came: the command has its checkout, and begins.
func (h *hold) began() bool {
	select {
	case <-h.ready:
		return true
	default:
		return false
	}
}

// request is what waitScript reads: the word, the commit, the number of line ends in the command, and
// the command.
func (h *hold) request(job *Job) string {
	return fmt.Sprintf("%s\n%s\n%d\n%s\n", h.word, job.Commit, strings.Count(job.Line, "\n"), job.Line)
}

// release sends a job, watches its checkout in a process's root, and lets the command begin, watched or
// not. observed may be called after over is closed, which says that the container has ended.
func (h *hold) release(job Job, to podman.Streams, pid int, over <-chan struct{}) (observed func() *Watched) {
	h.mu.Lock()
	h.to = to
	h.mu.Unlock()
	end := func() *Watched { return unobserved(job, errors.New("the command did not start")) }
	released := make(chan struct{})
	go func() {
		<-over
		h.close() // which a request that nobody reads waits for
	}()
	go func() {
		defer close(released)
		io.WriteString(h.answer, h.request(&job))
		select {
		case <-h.ready:
		case <-over:
			return
		}
		if job.watched() {
			if root, err := inRoot(pid, h.dir); err == nil {
				end = watch(root, job)
			} else {
				end = func() *Watched { return unobserved(job, err) }
			}
		}
		h.answer.Write([]byte("\n"))
		h.answer.Close()
	}()
	return func() *Watched {
		<-released
		return end()
	}
}

// close ends the container's input, or what waits for it.
func (h *hold) close() {
	h.in.Close()
	h.answer.Close()
}

// inRoot opens a directory in a process's root, without leaving that root.
func inRoot(pid int, dir string) (*os.File, error) {
	root, err := os.OpenFile(fmt.Sprintf("/proc/%d/root", pid), unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	fd, err := unix.Openat2(int(root.Fd()), strings.TrimPrefix(dir, "/"), &unix.OpenHow{Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS})
	if err != nil {
		return nil, fmt.Errorf("the checkout is not seen from outside: %w", err)
	}
	return os.NewFile(uintptr(fd), dir), nil
}
