package sandbox

import (
	"context"
	"fmt"
	"io"
	"path/filepath"

	"github.com/rs/zerolog"

	"git-ward/internal/config"
	"git-ward/sandbox/door"
)

// Spec is the whole wanted state of one launch. Paths are absolute.
type Spec struct {
	Bare       string         // the repository; door.Check has passed
	Settings   *config.Config // the repository's own
	Model      string         // who works
	Once       bool           // end when no directive is open
	Detach     bool           // go on in the background
	Agent      string         // the agent's program
	State      string         // the agent's directory; made when missing
	RuntimeDir string         // where to make the door's socket; empty: the temporary directory
	Stdout     io.Writer      // the agent's
	Stderr     io.Writer      // the agent's, and the launcher's own errors
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
	if err := s.prepareState(); err != nil {
		return err
	}
	log, err := openLog(filepath.Join(s.Bare, "ward/door.log"))
	if err != nil {
		return err
	}
	defer log.Close()
	console := zerolog.ConsoleWriter{Out: s.Stderr, NoColor: true}
	logger := zerolog.New(zerolog.MultiLevelWriter(log,
		&zerolog.FilteredLevelWriter{Writer: zerolog.LevelWriterAdapter{Writer: console}, Level: zerolog.ErrorLevel}))
	d, err := door.Listen(ctx, door.Config{
		Bare: s.Bare, Dir: s.RuntimeDir, Settings: s.Settings,
		Log: logger.With().Timestamp().Logger(),
	})
	if err != nil {
		return err
	}
	return besideDoor(ctx, d, func(ctx context.Context) error {
		return s.runAgent(ctx, d.Socket())
	})
}

// besideDoor runs f with the door open. The door closes after f, not with ctx:
// an agent that is told to end may still push what it has. A door that breaks
// ends f, because an agent that cannot push is of no use.
func besideDoor(ctx context.Context, d *door.Door, f func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	open, closeDoor := context.WithCancel(context.WithoutCancel(ctx))
	defer closeDoor()
	served := make(chan error, 1)
	go func() {
		err := d.Serve(open)
		cancel()
		served <- err
	}()
	err := f(ctx)
	closeDoor()
	if doorErr := <-served; doorErr != nil {
		return fmt.Errorf("the git door: %w", doorErr)
	}
	return err
}
