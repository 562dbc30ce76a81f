package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"
	"time"
)

// patience is the delay before a person is told what the command waits for: the same as that
// of git's progress.
const patience = 2 * time.Second

// process is what the copies of an Env share.
type process struct {
	mu    sync.Mutex
	left  string
	timer *time.Timer
	over  bool
}

// Leaves sets what an interrupted command prints from now on: what was undone or kept, and how
// to go on, in a few words.
func (e *Env) Leaves(words string) {
	if e.process == nil {
		return
	}
	e.process.mu.Lock()
	defer e.process.mu.Unlock()
	e.process.left = words
}

// Slow prints to stderr what the command waits for, once that has taken two seconds. Call the
// returned function when the wait is over. It prints only in a command's own process, not in a
// test or a call by a tool.
func (e *Env) Slow(what string) (over func()) {
	if e.process == nil {
		return func() {}
	}
	w := Raw(e.Stderr)
	timer := time.AfterFunc(patience, func() { fmt.Fprintf(w, "git-ward: %s ...\n", what) })
	return func() { timer.Stop() }
}

// endings are the signals that end a command: ^C, a kill, and a terminal that was closed.
// One that the caller has ignored (nohup) stays so.
func endings() []os.Signal {
	all := []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}
	return slices.DeleteFunc(all, signal.Ignored)
}

// interruptible is a context that ends on the first of these signals. A command of git-ward
// that does not end within two seconds then says so, and the next ^C kills it: every command
// survives a kill.
func (p *process) interruptible(w io.Writer, program string) (ctx context.Context, end func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	if which := endings(); len(which) > 0 { // Notify takes none for all
		signal.Notify(signals, which...)
	}
	go func() {
		s := <-signals
		cancel(signalled{s.(syscall.Signal)})
		p.mu.Lock()
		defer p.mu.Unlock()
		if program != "git-ward" || p.over {
			return
		}
		p.timer = time.AfterFunc(patience, func() {
			signal.Reset(os.Interrupt)
			fmt.Fprintf(w, "%s: ending what runs; once more, and it is killed\n", program)
		})
	}()
	return ctx, func() {
		signal.Stop(signals)
		cancel(nil)
		p.mu.Lock()
		defer p.mu.Unlock()
		p.over = true
		if p.timer != nil {
			p.timer.Stop()
		}
	}
}

// signalled is why a context ended.
type signalled struct{ syscall.Signal }

func (s signalled) Error() string { return s.String() }

// interrupted is the signal that ended a command's context, 0 for none.
func interrupted(ctx context.Context) syscall.Signal {
	var s signalled
	errors.As(context.Cause(ctx), &s)
	return s.Signal
}

// end ends the process of a command of git-ward: with the exit code of its error or, if it was
// interrupted, with a shell's code (130 for ^C) and a line that says what was done.
func (p *process) end(ctx context.Context, w io.Writer, program string, err error) int {
	s := interrupted(ctx)
	if _, ok := errors.AsType[ExitCode](err); s == 0 || err == nil || program != "git-ward" || ok { // what ran for it has said how it ended
		return Report(w, program, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	left := cmp.Or(p.left, "nothing was changed by halves, and the same command can be given again")
	fmt.Fprintf(w, "%s: interrupted: %s\n", program, left)
	return 128 + int(s)
}
