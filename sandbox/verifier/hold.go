package verifier

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"git-ward/sandbox/podman"
)

// holdScript waits, where there is a word to say, until its checkout is watched: it says the
// word, and reads a line.
const holdScript = `if [ -n "$5" ]; then printf '%s\n' "$5"; read -r watched; fi; `

// hold keeps a container's command back until its checkout is watched (PROOF-2).
type hold struct {
	job    Job
	dir    string // of the checkout, inside
	word   string // which nothing has printed before the command starts
	said   []byte // that may be the beginning of the word
	stdout io.Writer
	ready  chan struct{} // closed at the word
	in     *io.PipeReader
	answer *io.PipeWriter
}

func newHold(job Job, dir string) *hold {
	h := &hold{job: job, dir: dir, word: rand.Text(), ready: make(chan struct{})}
	h.in, h.answer = io.Pipe()
	return h
}

// around has the container's streams pass here: the word is not its command's.
func (h *hold) around(open func(func()) (*output, podman.Streams)) func(func()) (*output, podman.Streams) {
	return func(full func()) (*output, podman.Streams) {
		out, s := open(full)
		h.stdout = s.Stdout
		s.Stdout, s.Stdin = h, h.in
		return out, s
	}
}

// Write passes on what is printed, but for the word.
func (h *hold) Write(p []byte) (int, error) {
	if h.word == "" {
		return h.stdout.Write(p)
	}
	h.said = append(h.said, p...)
	passes, after, said := bytes.Cut(h.said, []byte(h.word+"\n"))
	if said {
		h.word, passes = "", append(passes, after...)
		close(h.ready)
	} else {
		passes = passes[:max(0, len(passes)-len(h.word))]
		h.said = h.said[len(passes):]
	}
	if _, err := h.stdout.Write(passes); err != nil {
		return 0, err
	}
	return len(p), nil
}

// release watches the checkout when it is there, in a process's root, and lets the command
// go, watched or not. observed is for when all of the container has ended, which over says.
func (h *hold) release(pid int, over <-chan struct{}) (observed func() *Watched) {
	if h == nil {
		return func() *Watched { return nil }
	}
	end := func() *Watched { return unobserved(h.job, errors.New("the command did not start")) }
	released := make(chan struct{})
	go func() {
		<-over
		h.close() // which an answer that nobody reads waits for
	}()
	go func() {
		defer close(released)
		select {
		case <-h.ready:
		case <-over:
			return
		}
		root, err := inRoot(pid, h.dir)
		if err == nil {
			end = watch(root, h.job)
		} else {
			end = func() *Watched { return unobserved(h.job, err) }
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
	if h != nil {
		h.in.Close()
		h.answer.Close()
	}
}

// inRoot opens a directory as a process has it, without leaving the process's root.
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
