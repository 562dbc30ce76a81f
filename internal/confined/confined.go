// Package confined runs a command line that the host's admin allows for untrusted programs
// (UDC-3). The command has no shell, environment, terminal, input or network, its time and
// output are limited, and it runs only inside Ward's fence.
package confined

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"git-ward/internal/process"
	"git-ward/internal/scratch"
)

// Answer is the result of a call; vm.Answer has the same fields.
type Answer struct {
	Exit   int64
	Output []byte // stdout
	Late   bool
	Large  bool
	Denied string // why nothing was run, "" where it was
}

// Call runs a tool's command line with more arguments, inside the fence only.
func Call(ctx context.Context, argv, args []string, most time.Duration, output int64) Answer {
	if why := outside(); why != "" {
		return Answer{Denied: why}
	}
	if why := writable(argv[0]); why != "" {
		return Answer{Denied: why}
	}
	return run(ctx, argv, args, most, output)
}

// outside says why this process is not inside Ward's fence; "" if it is. It checks the
// properties of a fence: the system is read-only, and no privilege can be gained.
func outside() string {
	const where = "tools of the host's are run inside of the fence only"
	var root unix.Statfs_t
	if err := unix.Statfs("/", &root); err != nil || root.Flags&unix.ST_RDONLY == 0 {
		return where + ": here the file system can be written"
	}
	if n, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0); err != nil || n != 1 {
		return where + ": here a program may gain rights"
	}
	return ""
}

// writable says why a program may not be trusted: its caller could have written it.
func writable(program string) string {
	real, err := filepath.EvalSymlinks(program)
	if err != nil {
		return fmt.Sprintf("%s: %v", program, errors.Unwrap(err))
	}
	for path := real; ; path = filepath.Dir(path) {
		if unix.Access(path, unix.W_OK) == nil {
			return fmt.Sprintf("%s can be written by whoever calls it", path)
		}
		if path == "/" {
			return ""
		}
	}
}

// run runs the program on a thread of its own, because the ban of sockets applies to the
// thread.
func run(ctx context.Context, argv, args []string, most time.Duration, output int64) Answer {
	done := make(chan Answer)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		if err := denySockets(); err != nil {
			done <- Answer{Denied: fmt.Sprintf("it cannot be kept from the network here: %v", err)}
			return
		}
		done <- within(ctx, argv, args, most, output)
	}()
	return <-done
}

func within(ctx context.Context, argv, args []string, most time.Duration, output int64) Answer {
	made, err := scratch.Make("", "call-")
	if err != nil {
		return Answer{Denied: err.Error()}
	}
	defer made.Remove()
	dir := filepath.Join(made.Path, "empty") // a relative path of the plan's names nothing here
	if err := os.Mkdir(dir, 0o700); err != nil {
		return Answer{Denied: err.Error()}
	}
	var out bytes.Buffer
	c := process.Command{Args: append(append([]string{}, argv...), args...), Dir: dir, Stdout: &out, DieWithThread: true, Timeout: most, Output: output}
	status, stopped, err := c.Run(ctx)
	var late *process.TimeoutError
	var large *process.OutputError
	switch {
	case err != nil:
		return Answer{Denied: err.Error()}
	case errors.As(stopped, &late), ctx.Err() != nil:
		return Answer{Late: true}
	case errors.As(stopped, &large):
		return Answer{Large: true}
	case stopped != nil:
		return Answer{Denied: stopped.Error()}
	}
	return Answer{Exit: int64(status.Code()), Output: out.Bytes()}
}
