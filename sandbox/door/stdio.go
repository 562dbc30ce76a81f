package door

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sys/unix"

	"git-ward/internal/config"
	"git-ward/internal/diag"
	"git-ward/internal/pattern"
)

// The limits of a connection over the network: idle time, input, and total time. They are
// generous, because a slow line is not the client's fault.
const (
	stdioIdle  = time.Minute
	stdioInput = 15 * time.Minute
	stdioTotal = time.Hour
)

// Session is one connection over ssh: the door as a forced command (ID-4). The name comes from the key's
// line in authorized_keys(5), which the client cannot change. The client's command only chooses between
// git's two services. Its path is ignored, because the repository is always Bare, and no shell parses it.
type Session struct {
	Bare            string // the repository, absolute
	Principal, Name string // the key's principal (agent, pm or member) and its name, as token.CheckName wants it
	Command         string // what the client asked for (SSH_ORIGINAL_COMMAND)
	Protocol        string // GIT_PROTOCOL, as the client sent it
	Stderr          io.Writer
	// Lease, if set, is the name of the key's lease, such as D-3.<id>. The key works while the
	// lease is live, and serves what a worker elsewhere needs besides git (MANY-3).
	Lease string
	// Gateway is the socket of the launcher's gateway for the lease holder, "" if there is
	// none now.
	Gateway func(lease string) string
	// Verdict, if set, is the socket for a verification's result; the key works while it
	// exists.
	Verdict string
	// Hand, if set, is the name of a launcher on another machine, whose key may only ask for
	// Work. holder is Hand, a dot, and a worker's number.
	Hand string
	Work func(ctx context.Context, holder string, once bool) (Conn, error)
	// Ended, if set, records a push that was ended at a limit (GATE-6).
	Ended func(context.Context, Ended) error
}

// Serve serves the connection on this process's standard input and output, and
// returns git's exit code; an error is trouble before or beside git.
func (s *Session) Serve(ctx context.Context) (code int, err error) {
	bare, err := filepath.EvalSymlinks(s.Bare)
	if err != nil {
		return 0, diag.Hint(err, "`git ward init --bare DIR` makes a repository")
	}
	switch {
	case s.Lease != "":
		return s.serveLeased(ctx, bare)
	case s.Verdict != "":
		return s.serveVerdict(ctx, bare)
	case s.Hand != "":
		return 0, s.serveHand(ctx)
	}
	verb, err := requestedService(s.Command)
	if err != nil {
		return 0, err
	}
	return s.git(bare, verb).stdio(ctx, s, ctx)
}

// git is one of git's services for this session.
func (s *Session) git(bare, verb string) *service {
	git := &service{bare: bare, verb: verb, principal: s.Principal, name: s.Name, turn: s.Name, idle: stdioIdle, input: stdioInput, total: stdioTotal}
	if protocolVersion.MatchString(s.Protocol) {
		git.protocol = s.Protocol
	}
	return git
}

// protocolVersion passes git's protocol versions (git(1)); anything else is ignored, as git
// does.
var protocolVersion = pattern.New(`^version=[012]$`)

// request is git's command line: a service and one path, quoted for a shell.
var request = pattern.New(`^git[ -](receive-pack|upload-pack) ('([^'\x00-\x1f\x7f]|'\\['!]')*'|[A-Za-z0-9._/~+:@%-]+)$`)

// requestedService is the service that a client asks for; its path is ignored.
func requestedService(command string) (string, error) {
	if m := request.FindStringSubmatch(command); m != nil && len(command) <= 4096 {
		return m[1], nil
	}
	what := "no command was asked for"
	if command != "" {
		what = fmt.Sprintf("%q is not git's", diag.Clean(command[:min(len(command), 80)]))
	}
	return "", diag.Hint(fmt.Errorf("this key is for git clone, fetch and push: %s", what), "git clone ssh://HOST/PATH")
}

// stdio serves the one connection while the client may use it. When that ends, a push sees the
// end of its input and git finishes by itself, as if the client had gone.
func (s *service) stdio(ctx context.Context, session *Session, may context.Context) (code int, err error) {
	if err := Check(ctx, s.bare); err != nil {
		return 0, err
	}
	if s.settings, err = config.Load(s.bare); err != nil {
		return 0, err
	}
	log, err := OpenLog(s.bare)
	if err != nil {
		return 0, err
	}
	defer log.Close()
	s.log = zerolog.New(log).With().Timestamp().Logger()
	// SIGPIPE and SIGHUP must not end this process when the client goes, because git's last
	// output must be read. Git's child process has the default handling again.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE, syscall.SIGHUP)
	conn := newEnds()
	defer conn.restore()
	turns, err := newShared(s)
	if err != nil {
		return 0, err
	}
	if turns.metered {
		s.meter = s.newMeter(func(spent time.Duration) {
			if err := turns.spendTime(spent); err != nil {
				s.log.Warn().Err(err).Msg("processor time of a push is not charged")
			}
		})
	}
	slot, err := turns.turn(may, conn.gone)
	if err != nil {
		return 0, err
	}
	defer slot.Close()
	// Git inherits the slot's lock, and holds it if we are killed.
	running, kill := context.WithCancel(context.WithoutCancel(ctx))
	defer kill()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(grace, kill) })()
	defer context.AfterFunc(may, func() {
		if conn.in.Close(); s.verb != "receive-pack" {
			kill()
		}
	})()
	p, err := s.run(running, conn, slot)
	if p == nil {
		s.log.Error().Err(err).Msg("a push could not start")
		return 0, err
	}
	if turns.metered {
		err = errors.Join(err, turns.spendTokens(p.list.tokens(s.settings.Door.Burst)))
	}
	s.record(p, err)
	if ended, ok := s.ended(p, err); ok && session.Ended != nil {
		problem := session.Ended(context.WithoutCancel(ctx), ended)
		err = errors.Join(err, problem)
	}
	return s.end(session.Stderr, p, err)
}

// end tells the client git's exit, without naming the host's directories.
func (s *service) end(stderr io.Writer, p *push, err error) (code int, _ error) {
	for line := range strings.SplitSeq(strings.TrimSpace(p.stderr.String()), "\n") {
		if line != "" {
			fmt.Fprintf(stderr, "%s\n", s.outward(line))
		}
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() > 0 {
		return exit.ExitCode(), nil
	}
	if err != nil {
		return 0, fmt.Errorf("git %s: %w", s.verb, err)
	}
	return 0, nil
}

// ends makes one client of this process's standard input and output.
type ends struct{ in, out *os.File }

// newEnds makes deadlines work on them where they are pipes or sockets.
func newEnds() *ends {
	open := func(fd int, name string) *os.File {
		unix.SetNonblock(fd, true)
		return os.NewFile(uintptr(fd), name)
	}
	return &ends{open(0, "stdin"), open(1, "stdout")}
}

// restore resets a terminal's mode.
func (e *ends) restore() {
	for fd := range 2 {
		unix.SetNonblock(fd, false)
	}
}

func (e *ends) Read(p []byte) (int, error)         { return e.in.Read(p) }
func (e *ends) Write(p []byte) (int, error)        { return e.out.Write(p) }
func (e *ends) SetReadDeadline(t time.Time) error  { return e.in.SetReadDeadline(t) }
func (e *ends) SetWriteDeadline(t time.Time) error { return e.out.SetWriteDeadline(t) }
func (e *ends) CloseWrite() error                  { return e.out.Close() }

// CloseRead wakes a reader. Further input is discarded.
func (e *ends) CloseRead() error {
	if e.in.SetReadDeadline(time.Now()) == nil {
		return nil
	}
	return e.in.Close()
}

// gone reports whether nobody reads our output any more. The end of the client's input would
// not mean that.
func (e *ends) gone() bool { return hungUp(1) }
