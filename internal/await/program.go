package await

import (
	"bytes"
	"fmt"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"
)

// work is how long a program that ends by itself may run. It may build an image or run a
// project's tests, so its bound is larger.
const work = bound

// lastWords is how long a program that is ended here may take to print its goroutines. Its own
// test sets less.
var lastWords = 5 * time.Second

// Exit waits for a program that was started and is about to end. If it does not end, it is
// killed and the test fails.
func Exit(t testing.TB, cmd *exec.Cmd) error {
	t.Helper()
	defer begin(t)()
	return exit(t, cmd, Deadline(t))
}

// Run runs a program to its end. One that never ends fails the test, and its package goes
// on.
func Run(t testing.TB, cmd *exec.Cmd) error {
	t.Helper()
	if err := cmd.Start(); err != nil {
		return err
	}
	return exit(t, cmd, before(t, time.Now().Add(work)))
}

// Output is Run and returns the program's combined output, as CombinedOutput does.
func Output(t testing.TB, cmd *exec.Cmd) (string, error) {
	t.Helper()
	var said buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	err := Run(t, cmd)
	return said.String(), err
}

// exit waits for the end of a program. At the deadline it fails the test and ends the program,
// first by SIGQUIT, on which a Go program prints its goroutines.
func exit(t testing.TB, cmd *exec.Cmd, deadline time.Time) error {
	t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	over := time.NewTimer(time.Until(deadline))
	defer over.Stop()
	select {
	case err := <-ended:
		return err
	case <-over.C:
	}
	err := fmt.Errorf("never: the end of %s", cmd)
	t.Error(err)
	cmd.Process.Signal(syscall.SIGQUIT)
	over.Reset(lastWords)
	select {
	case <-ended:
	case <-over.C: // its children may have its output
		cmd.Process.Kill()
	}
	return err
}

// buffer is written while it is read.
type buffer struct {
	sync.Mutex
	bytes.Buffer
}

func (b *buffer) Write(data []byte) (int, error) {
	b.Lock()
	defer b.Unlock()
	return b.Buffer.Write(data)
}

func (b *buffer) String() string {
	b.Lock()
	defer b.Unlock()
	return b.Buffer.String()
}
