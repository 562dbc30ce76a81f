package door

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sys/unix"

	"git-ward/internal/cli"
	"git-ward/internal/config"
	"git-ward/internal/diag"
	"git-ward/internal/logfile"
	"git-ward/internal/token"
)

const stdioUsage = "door --stdio --bare DIR (--agent NAME | --pm NAME | --member NAME)"

// What a connection over the network may take: silence, input, and all in all. A
// slow line is not the client's fault.
const (
	stdioIdle  = time.Minute
	stdioInput = 15 * time.Minute
	stdioTotal = time.Hour
)

// maxLog bounds ward/door.log, in bytes.
const maxLog = 16 << 20

// Stdio is `git ward door --stdio`: the door as a forced command of ssh (ID-4).
// The name comes from authorized_keys(5), where the client cannot write; what the
// client asks for, in SSH_ORIGINAL_COMMAND, chooses between git's two services and
// nothing else: the repository is --bare, whatever path was asked for, and no shell
// sees a word of it.
func Stdio(ctx context.Context, env *cli.Env) error {
	var bare string
	var stdio bool
	names := map[string]*string{}
	rest, err := env.Flags("door", stdioUsage, func(fs *flag.FlagSet) {
		fs.BoolVar(&stdio, "stdio", false, "serve one connection on standard input and output, as a forced command of ssh")
		fs.StringVar(&bare, "bare", "", "the bare repository, a `DIR`")
		for _, p := range []string{"agent", "pm", "member"} {
			names[p] = fs.String(p, "", "who has the key: `NAME`, as "+p)
		}
	})
	if err != nil {
		return err
	}
	s := &service{idle: stdioIdle, input: stdioInput, total: stdioTotal}
	for principal, name := range names {
		if *name == "" {
			continue
		}
		if s.principal != "" {
			return env.Usage(stdioUsage, "one of --agent, --pm and --member")
		}
		s.principal, s.name = principal, *name
	}
	switch {
	case !stdio || len(rest) > 0:
		return env.Usage(stdioUsage, "door takes --stdio and no other words")
	case bare == "":
		return env.Usage(stdioUsage, "--bare is missing")
	case s.principal == "":
		return env.Usage(stdioUsage, "who has the key is missing: --agent, --pm or --member with a name")
	}
	if err := token.CheckName(s.name); err != nil {
		return env.Usage(stdioUsage, "--%s: %v", s.principal, err)
	}
	if s.verb, err = asked(env.Getenv("SSH_ORIGINAL_COMMAND")); err != nil {
		return err
	}
	if v := env.Getenv("GIT_PROTOCOL"); protocolVersion.MatchString(v) {
		s.protocol = v
	}
	if s.bare, err = filepath.EvalSymlinks(env.Path(bare)); err != nil {
		return diag.Hint(err, "`git ward init --bare DIR` makes a repository")
	}
	return s.stdio(ctx, env)
}

// protocolVersion is what a client may say of git's protocol (git(1)); anything
// else is ignored, as git does.
var protocolVersion = regexp.MustCompile(`^version=[012]$`)

// request is what git sends: a service and one path, quoted for a shell.
var request = regexp.MustCompile(`^git[ -](receive-pack|upload-pack) ('([^'\x00-\x1f\x7f]|'\\['!]')*'|[A-Za-z0-9._/~+:@%-]+)$`)

// asked is the service that a client's command chooses; its path counts for
// nothing.
func asked(command string) (string, error) {
	if m := request.FindStringSubmatch(command); m != nil && len(command) <= 4096 {
		return m[1], nil
	}
	what := "no command was asked for"
	if command != "" {
		what = fmt.Sprintf("%q is not git's", diag.Clean(command[:min(len(command), 80)]))
	}
	return "", diag.Hint(fmt.Errorf("this key is for git clone, fetch and push: %s", what), "git clone ssh://HOST/PATH")
}

// stdio serves the one connection.
func (s *service) stdio(ctx context.Context, env *cli.Env) error {
	if err := Check(ctx, s.bare); err != nil {
		return err
	}
	var err error
	if s.settings, err = config.Load(s.bare); err != nil {
		return err
	}
	log, err := logfile.Open(filepath.Join(s.bare, "ward/door.log"), maxLog, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	s.log = zerolog.New(log).With().Timestamp().Logger()
	// A client that goes must not take us along: git's last words are read in any
	// case. Both signals have their default again in git.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE, syscall.SIGHUP)
	conn := newEnds()
	defer conn.restore()
	turns, err := newShared(s.bare, s.verb, s.principal, s.name)
	if err != nil {
		return err
	}
	slot, err := turns.turn(ctx, s.settings.Door.Burst, s.settings.Door.PerMinute, conn.gone)
	if err != nil {
		return err
	}
	defer slot.Close()
	// Git has the slot, too, and keeps it when we are killed.
	running, kill := context.WithCancel(context.WithoutCancel(ctx))
	defer kill()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(grace, kill) })()
	p, err := s.run(running, conn, slot)
	if p == nil {
		s.log.Error().Err(err).Msg("a push could not start")
		return err
	}
	s.record(p, err)
	return s.end(env, p, err)
}

// end tells the client how git ended, without naming the host's directories.
func (s *service) end(env *cli.Env, p *push, err error) error {
	for line := range strings.SplitSeq(strings.TrimSpace(string(p.stderr)), "\n") {
		if line != "" {
			fmt.Fprintf(env.Stderr, "%s\n", diag.Clean(strings.ReplaceAll(line, s.bare, "the repository")))
		}
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() > 0 {
		return cli.ExitCode(exit.ExitCode())
	}
	if err != nil {
		return fmt.Errorf("git %s: %w", s.verb, err)
	}
	return nil
}

// ends are the standard input and output of this process as one client.
type ends struct{ in, out *os.File }

// newEnds makes the ends such that deadlines hold, where they are pipes or
// sockets.
func newEnds() *ends {
	open := func(fd int, name string) *os.File {
		unix.SetNonblock(fd, true)
		return os.NewFile(uintptr(fd), name)
	}
	return &ends{open(0, "stdin"), open(1, "stdout")}
}

// restore leaves a terminal as it was.
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

// CloseRead wakes a reader, and lets what still comes be read by nobody.
func (e *ends) CloseRead() error {
	if e.in.SetReadDeadline(time.Now()) == nil {
		return nil
	}
	return e.in.Close()
}

// gone reports whether nobody reads us any more. That the client has no more to
// say would not mean that.
func (e *ends) gone() bool {
	fds := []unix.PollFd{{Fd: 1}}
	n, err := unix.Poll(fds, 0)
	return err == nil && n > 0 && fds[0].Revents&(unix.POLLERR|unix.POLLHUP|unix.POLLNVAL) != 0
}
