package door

import (
	"context"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/rs/zerolog"

	"git-ward/internal/config"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/internal/lines"
	"git-ward/internal/token"
)

const (
	// killDelay is the time between endChildren, after which git cleans up, and SIGKILL.
	killDelay = 2 * time.Second
	// lastWords is how long receive-pack's output may stay open after its exit.
	lastWords = time.Second
)

// client is git's peer: a unix socket, or the two pipes that sshd gives a forced command.
// Deadlines hold where the kernel supports them.
type client interface {
	io.ReadWriter
	SetReadDeadline(time.Time) error
	SetWriteDeadline(time.Time) error
	CloseRead() error
	CloseWrite() error
}

// service is what a door runs for a client: one git process on one repository.
type service struct {
	bare      string
	settings  *config.Config
	log       zerolog.Logger
	verb      string // receive-pack or upload-pack
	principal string // whose pushes they are; "" is the agent's plain token
	name      string
	turn      string        // the name of the queue: over ssh the key's name, or a lease's directive
	protocol  string        // GIT_PROTOCOL
	idle      time.Duration // the client's idle time
	input     time.Duration // its whole input
	total     time.Duration // everything
	meter     *meter        // its limits; nil for people's pushes
	says      bool          // git's answer can say why a push was ended
}

// push is one git process of a service with its pipes.
type push struct {
	id     string
	began  time.Time
	cmd    *git.Child
	stdin  io.WriteCloser
	stdout *os.File
	stderr lines.Head
	list   *commandList
	words  *words // nil where git's answer passes unchanged
	// refused is why the client's input was ended; read it after feed is done.
	refused error
	// quarantines are those of the push's processes when it was ended, and who pushed.
	quarantines map[string]string
	in          int64 // bytes from the client
	out         int64 // bytes from git
}

// receive runs one push to its end and logs it.
//
// There are two deadlines: after one [door] time the client's input ends, after two the whole
// session. Both count from the start of the push, not of the connection, because waiting in
// the queue is not the client's fault.
func (d *Door) receive(ctx context.Context, conn *net.UnixConn) {
	deadline := d.config.Settings.Door.Time.Duration
	s := &service{bare: d.config.Bare, settings: d.config.Settings, log: d.config.Log, verb: "receive-pack",
		principal: d.principal, name: d.principal, idle: deadline / 4, input: deadline, total: 2 * deadline, says: true}
	if d.config.Name != nil {
		if name := d.config.Name(); name != "" {
			s.principal, s.name = Agent, name
		}
	}
	s.meter = s.newMeter(func(spent time.Duration) { d.cpu.spend(spent.Seconds()) })
	p, err := s.run(ctx, conn)
	if p == nil {
		d.config.Log.Error().Err(err).Msg("a push could not start")
		conn.SetWriteDeadline(time.Now().Add(s.idle))
		conn.Write(packet("ERR " + s.outward(err.Error()))) // gitprotocol-pack(5)
		return
	}
	d.pushes.spend(p.list.tokens(d.config.Settings.Door.Burst))
	s.record(p, err)
	if ended, ok := s.ended(p, err); ok && d.config.Ended != nil {
		if err := d.config.Ended(context.WithoutCancel(ctx), ended); err != nil {
			d.config.Log.Warn().Err(err).Str("push", p.id).Msg("a push that was ended has no record yet")
		}
	}
}

// run runs one git process to its end; push is nil if it did not start.
//
// A client that vanishes only ends its input. Before the pack is complete git then gives up,
// and refs stay as they were. After it git and the hooks finish with nobody listening, because
// a push that moves refs must also get its audit record from post-receive. (With a closed
// pipe, receive-pack would die of SIGPIPE between the two.)
func (s *service) run(ctx context.Context, conn client, held ...*os.File) (*push, error) {
	ctx, cancel := context.WithTimeout(ctx, s.total)
	defer cancel()
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	p, err := s.start(ctx, held)
	if err != nil {
		return nil, err
	}
	if s.says {
		p.words = &words{why: func() string { return s.whyEnded(context.Cause(ctx)) }}
	}
	settled := s.meter.begin(p.cmd.Process.Pid, end)
	input := inputLimit{s.idle, p.began.Add(s.input), 2 * s.settings.Limits.InputSize}
	var pumps sync.WaitGroup
	pumps.Go(func() { p.feed(conn, input) })
	pumps.Go(func() { p.answer(conn, s.idle) })
	err = p.wait(ctx)
	s.left(p)
	settled(p.cmd.ProcessState)
	conn.CloseRead() // wakes feed
	p.stdout.SetReadDeadline(time.Now().Add(lastWords))
	pumps.Wait()
	p.stdout.Close()
	if p.refused != nil {
		err = p.refused
	}
	return p, err
}

// start starts git with its limits in place. No byte of the client reaches it before, because
// feed is not running yet. held stays open as long as git or a child of it runs.
func (s *service) start(ctx context.Context, held []*os.File) (*push, error) {
	key, err := readKey(s.bare)
	if err != nil {
		return nil, err
	}
	if err := s.room(key); err != nil {
		return nil, err
	}
	p := &push{began: time.Now()}
	if s.verb == "receive-pack" && s.principal != "pm" {
		p.list = &commandList{}
	}
	p.id = token.NewID(p.began)
	repo := git.Open(s.bare)
	repo.Limits = s.settings.ReceiveLimits()
	p.cmd = repo.Serve(ctx, s.verb)
	if s.verb == "receive-pack" {
		p.cmd.Env = append(p.cmd.Env, token.Environ(key, p.id, s.principal, s.name)...)
	}
	if s.protocol != "" {
		p.cmd.Env = append(p.cmd.Env, "GIT_PROTOCOL="+s.protocol)
	}
	p.cmd.ExtraFiles = held
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	p.cmd.Cancel = func() error {
		leader := p.cmd.Process.Pid
		p.quarantines = quarantined(sessions()[leader], key)
		endChildren(leader)
		return nil
	}
	p.cmd.WaitDelay = killDelay
	p.cmd.Stderr = &p.stderr
	if err := p.pipes(); err != nil {
		return nil, err
	}
	if s.meter != nil {
		yield(p.cmd.Process.Pid)
	}
	return p, nil
}

// pipes connects and starts the child. Its output is a pipe of our own, because Wait would
// close exec's pipe with git's last output in it.
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
	}
	return err
}

// wait waits for receive-pack. If it had to be ended, wait also ends what remains of its
// session.
func (p *push) wait(ctx context.Context) error {
	err := p.cmd.Wait()
	if ctx.Err() != nil {
		killSession(p.cmd.Process.Pid)
		return context.Cause(ctx)
	}
	return err
}

// record writes the push's log line, sizes in bytes. Git's stderr outside the client's stream
// is only kept here. The memory is the largest child's, or the launcher's own if that is
// larger (Linux counts from before the exec).
func (s *service) record(p *push, err error) {
	event := s.log.Info()
	if err != nil {
		event = s.log.Warn().Err(err)
	}
	if s.name != "" {
		event = event.Str("verb", s.verb).Str("principal", s.principal).Str("name", s.name)
	}
	state := p.cmd.ProcessState
	event.Str("push", p.id).Dur("took_ms", time.Since(p.began)).
		Int64("in", p.in).Int64("out", p.out).
		Dur("cpu_ms", state.UserTime()+state.SystemTime()).
		Int64("rss", state.SysUsage().(*syscall.Rusage).Maxrss<<10). // in KiB there
		Str("stderr", diag.Clean(strings.TrimSpace(p.stderr.String()))).
		Msg("push")
}
