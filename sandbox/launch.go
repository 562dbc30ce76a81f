package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/rs/zerolog"

	"git-ward/internal/cli"
	"git-ward/internal/config"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/internal/logfile"
	"git-ward/sandbox/door"
	"git-ward/sandbox/podman"
)

// Spec is the whole wanted state of one launch. Paths are absolute.
type Spec struct {
	Bare       string         // the repository; door.Check has passed
	Settings   *config.Config // the repository's own
	Model      string         // who works
	Once       bool           // end when no directive is open
	Detach     bool           // go on in the background
	Unfenced   bool           // a plain process with the user's rights (SBX-8)
	Command    []string       // in the agent's place, fenced only
	Agent      string         // the agent's program
	Watcher    string         // the program that starts it; beside it in the fence
	Forwarder  string         // the program in front of both; beside them in the fence
	State      string         // the agent's directory; made when missing
	RuntimeDir string         // where to make a directory for sockets; empty: the temporary directory
	Storage    string         // podman's, for tests; empty: the user's own
	Getenv     func(string) string
	Stdin      io.Reader // the command's; nil for an agent
	Stdout     io.Writer // the agent's
	Stderr     io.Writer // the agent's, and the launcher's own errors
	Raw        bool      // a command may write to a terminal whatever it wants

	until time.Time // when [budget] time is spent; from clock
}

// maxLog is the size in bytes at which the door's log starts anew.
const maxLog = 4 << 20

// streams are the container's. A command's own output arrives byte for byte in a pipe
// or a file, and cleaned on a terminal unless its owner asks for all of it (GATE-7).
func (s *Spec) streams() podman.Streams {
	out, errs := s.Stdout, s.Stderr
	switch {
	case len(s.Command) == 0:
	case s.Raw:
		out, errs = cli.Raw(out), cli.Raw(errs)
	default:
		out, errs = cli.Bytes(out), cli.Bytes(errs)
	}
	return podman.Streams{Stdin: s.Stdin, Stdout: out, Stderr: errs}
}

// Launch runs the agent until it ends by itself or ctx is cancelled; what is
// left of it is then killed, and the door closed. The agent's exit code comes
// back as a cli.ExitCode.
//
// One launcher works on a repository at a time; a second one is refused.
func Launch(ctx context.Context, s *Spec) error {
	lock, err := acquire(s.Bare)
	if err != nil {
		return err
	}
	defer lock.Close()
	if s.RuntimeDir, err = scratch(lock, s.RuntimeDir); err != nil {
		return err
	}
	defer os.RemoveAll(s.RuntimeDir)
	if err := s.prepareState(); err != nil {
		return err
	}
	log, err := logfile.Open(filepath.Join(s.Bare, "ward/door.log"), maxLog, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	console := zerolog.ConsoleWriter{Out: diag.NewScreen(s.Stderr), NoColor: true}
	if len(s.Command) == 0 {
		// What an agent prints is untrusted wherever it ends, the launch log too (GATE-7).
		s.Stdout, s.Stderr = diag.NewScreen(s.Stdout), diag.NewScreen(s.Stderr)
		s.Stdout = &bootedLines{out: s.Stdout, move: func(commit string) error { return moveLastGood(context.WithoutCancel(ctx), s.Bare, commit) }}
	}
	logger := zerolog.New(zerolog.MultiLevelWriter(diag.JSONLines{Out: log},
		&zerolog.FilteredLevelWriter{Writer: zerolog.LevelWriterAdapter{Writer: console}, Level: zerolog.ErrorLevel})).With().Timestamp().Logger()
	ctx, cancel := s.clock(ctx, logger)
	defer cancel()
	d, err := door.Listen(ctx, door.Config{Bare: s.Bare, Dir: s.RuntimeDir, Settings: s.Settings, Log: logger})
	if err != nil {
		return err
	}
	return beside(ctx, "the git door", d.Serve, func(ctx context.Context) error {
		return s.behindGateway(ctx, logger, d.Socket())
	})
}

// clock ends a launch after [budget] time and grace. When the time is spent the
// gateway pays for no more calls, and who works inside knows it by a variable: the
// grace is for reports, evidence and closing steps (UOW-3).
func (s *Spec) clock(ctx context.Context, log zerolog.Logger) (context.Context, context.CancelFunc) {
	b := s.Settings.Budget
	s.until = time.Now().Add(b.Time.Duration)
	spent := time.AfterFunc(b.Time.Duration, func() {
		log.Warn().Str("time", b.Time.String()).Str("grace", b.Grace.String()).Msg("[budget] time is spent; what is left is [budget] grace")
	})
	ctx, cancel := context.WithTimeoutCause(ctx, b.Time.Duration+b.Grace.Duration,
		fmt.Errorf("[budget] time, %s, and grace, %s, are spent", b.Time.Duration, b.Grace.Duration))
	return ctx, func() { spent.Stop(); cancel() }
}

// behindGateway opens the gateway and runs the fence, or the plain process,
// beside it.
func (s *Spec) behindGateway(ctx context.Context, log zerolog.Logger, door string) error {
	policy, err := s.firewallPolicy(ctx)
	if err != nil {
		return err
	}
	g, err := s.openGateway(policy, log)
	if err != nil {
		return err
	}
	j := &judge{s, log, policy, git.Open(s.Bare)}
	return beside(ctx, "the gateway", g.Serve, func(ctx context.Context) error {
		return beside(ctx, "the verifier", j.serve, func(ctx context.Context) error {
			return s.again(ctx, log, func(ctx context.Context) error {
				if s.Unfenced {
					return s.runAgent(ctx, door, g.Socket())
				}
				return s.runFenced(ctx, log, policy, door, g.Socket())
			})
		})
	})
}

// The pauses before a new container, doubled from the first to the longest; one
// that ran for steady was no failure to start.
const (
	firstPause   = time.Second
	longestPause = time.Minute
	steady       = 10 * time.Minute
)

// again runs a watcher that is to stay in a new container, fenced anew, after
// every end that nobody asked for (SBX-1); unfenced, as a new process. One run is all for --once and for a
// command, and trouble with the fence itself is the admin's.
func (s *Spec) again(ctx context.Context, log zerolog.Logger, run func(context.Context) error) error {
	pause := firstPause
	for {
		start := time.Now()
		err := run(ctx)
		var ended cli.ExitCode
		var killed death
		if s.Once || len(s.Command) > 0 || ctx.Err() != nil || !errors.As(err, &ended) && !errors.As(err, &killed) {
			return err
		}
		if time.Since(start) > steady {
			pause = firstPause
		}
		log.Error().Err(err).Str("pause", pause.String()).Msg("the watcher ended unasked; a new one follows")
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause):
		}
		pause = min(2*pause, longestPause)
	}
}

// beside runs f while serve serves. The server ends after f, not with ctx: an
// agent that is told to end may still push what it has. A server that breaks ends
// f, because an agent without it is of no use.
func beside(ctx context.Context, name string, serve, f func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	open, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	served := make(chan error, 1)
	go func() {
		err := serve(open)
		cancel()
		served <- err
	}()
	err := f(ctx)
	end()
	if serveErr := <-served; serveErr != nil {
		return fmt.Errorf("%s: %w", name, serveErr)
	}
	return err
}
