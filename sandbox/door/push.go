package door

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"git-ward/internal/diag"
	"git-ward/internal/git"
)

const (
	// dying is the time between endChildren, on which git cleans up, and SIGKILL.
	dying = 2 * time.Second
	// lastWords is how long receive-pack's output may stay open after its end.
	lastWords = time.Second
)

// push is one receive-pack and the ends of its pipes.
type push struct {
	id     string
	began  time.Time
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout *os.File
	stderr head
	in     int64 // bytes from the client
	out    int64 // bytes from git
}

// receive runs one push to its end and logs it.
//
// A client that vanishes ends its input and nothing else. Before the pack is
// whole that makes git give up, with the refs where they were; after it, git
// and the hooks go on to their end with nobody listening, because a push that
// moves refs must also get its audit record from post-receive. (Left alone with
// a closed pipe, receive-pack would die of SIGPIPE between the two.)
//
// Time has two ends: after one [door] time the client's input is over,
// after two the whole process group is ended. What counts is the time from the
// start, not from the connection: waiting for a turn is not the client's doing.
func (d *Door) receive(ctx context.Context, conn *net.UnixConn) {
	deadline := d.config.Settings.Door.Time.Duration
	ctx, cancel := context.WithTimeout(ctx, 2*deadline)
	defer cancel()
	p, err := d.start(ctx)
	if err != nil {
		d.config.Log.Error().Err(err).Msg("a push could not start")
		return
	}
	idle := deadline / 4
	input := patience{idle, p.began.Add(deadline), 2 * d.config.Settings.Limits.InputSize}
	var pumps sync.WaitGroup
	pumps.Go(func() { p.feed(conn, input) })
	pumps.Go(func() { p.answer(conn, idle) })
	err = p.wait(ctx)
	conn.CloseRead() // wakes feed
	p.stdout.SetReadDeadline(time.Now().Add(lastWords))
	pumps.Wait()
	p.stdout.Close()
	d.record(p, err)
}

// start starts receive-pack with its limits on. No byte of the client's reaches
// it before, because feed is not running yet.
func (d *Door) start(ctx context.Context) (*push, error) {
	p := &push{began: time.Now()}
	p.id = newPushID(p.began)
	key, err := readKey(d.config.Bare)
	if err != nil {
		return nil, err
	}
	limits := d.limits()
	p.cmd = exec.CommandContext(ctx, "git", "receive-pack", d.config.Bare)
	p.cmd.Dir = d.config.Bare
	p.cmd.Env = append(environ(d.config.Bare, limits), "WARD_PUSH_ID="+p.id, "WARD_PUSH_TOKEN="+token(key, p.id))
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p.cmd.Cancel = func() error { endChildren(p.cmd.Process.Pid); return nil }
	p.cmd.WaitDelay = dying
	p.cmd.Stderr = &p.stderr
	if err := p.pipes(); err != nil {
		return nil, err
	}
	if err := limits.Apply(p.cmd.Process.Pid); err != nil {
		p.cmd.Process.Kill()
		p.cmd.Wait()
		p.stdout.Close()
		return nil, err
	}
	return p, nil
}

// pipes connects and starts the child. Its output is a pipe of our own, because
// exec's would be closed by Wait with git's last words in it.
func (p *push) pipes() (err error) {
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return err
	}
	read, write, err := os.Pipe()
	if err != nil {
		p.stdin.Close()
		return err
	}
	p.cmd.Stdout, p.stdout = write, read
	err = p.cmd.Start()
	write.Close()
	if err != nil {
		read.Close()
		return fmt.Errorf("git does not start: %w", err)
	}
	return nil
}

// wait waits for receive-pack. When it had to be ended, what is left of its
// group is ended too.
func (p *push) wait(ctx context.Context) error {
	err := p.cmd.Wait()
	if ctx.Err() != nil {
		killGroup(p.cmd.Process.Pid)
	}
	return err
}

// limits are GIT-6's for git and, by inheritance, for the hooks. A file may be
// twice the pack's size on the wire: a thin pack is completed by its bases, and
// loose objects are packed less tightly than they came.
func (d *Door) limits() git.Limits {
	l := d.config.Settings.Limits
	return git.Limits{Memory: l.Memory, Alloc: l.Alloc, CPU: l.CPU.Duration, File: 2 * l.InputSize}
}

// environ is the scrubbed environment without GIT_DIR: receive-pack takes the
// repository as its argument and sets GIT_DIR for the hooks itself.
func environ(bare string, limits git.Limits) []string {
	repo := git.Open(bare)
	repo.Limits = limits
	return repo.Server()
}

// record writes the push's line in the log, sizes in bytes. What git said outside
// the client's stream goes nowhere else. The memory is the largest child's, or
// the launcher's own where that is larger (Linux counts from before the exec).
func (d *Door) record(p *push, err error) {
	event := d.config.Log.Info()
	if err != nil {
		event = d.config.Log.Warn().Err(err)
	}
	state := p.cmd.ProcessState
	event.Str("push", p.id).Dur("took_ms", time.Since(p.began)).
		Int64("in", p.in).Int64("out", p.out).
		Dur("cpu_ms", state.UserTime()+state.SystemTime()).
		Int64("rss", state.SysUsage().(*syscall.Rusage).Maxrss<<10). // in KiB there
		Str("stderr", diag.Clean(strings.TrimSpace(string(p.stderr)))).
		Msg("push")
}
