package terminal

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"sync"

	tea "charm.land/bubbletea/v2"
	"golang.org/x/sys/unix"
)

// framesASecond is how often the screen may change: enough for words, and little to do
// while nothing changes, because the library draws by a clock.
const framesASecond = 8

// Watch is the terminal program, until its reader leaves, or the context ends, whose error
// it returns then; ctrl-c is context.Canceled. The terminal is as it was, whichever way it ends.
func Watch(ctx context.Context, looker *Looker, in, out *os.File, environ []string, getenv func(string) string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stops := &stops{}
	program := tea.NewProgram(
		model{scene: looker.scene, glyphs: glyphsFor(getenv), looker: looker, halt: stops.disarm, again: stops.arm},
		tea.WithContext(ctx), tea.WithInput(in), tea.WithOutput(out), tea.WithEnvironment(environ),
		tea.WithFPS(framesASecond), tea.WithoutSignalHandler())
	stops.send = program.Send
	stops.arm()
	defer stops.disarm()
	var looks sync.WaitGroup
	looks.Go(func() { looker.Run(ctx, func(s Scene) { program.Send(s) }) })
	_, err := program.Run()
	outer := context.Cause(ctx)
	cancel()
	looks.Wait()
	switch {
	case errors.Is(err, tea.ErrInterrupted):
		return context.Canceled
	case errors.Is(err, tea.ErrProgramKilled) && outer != nil:
		return outer
	}
	return err
}

// stops hears that the process is to stop for a while (SIGTSTP from elsewhere than the
// keys, which come as bytes), so that the terminal is given back before; and that it goes
// on after it was stopped without being asked, so that it is drawn anew.
type stops struct {
	send func(tea.Msg)
	mu   sync.Mutex
	ch   chan os.Signal
}

func (s *stops) arm() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ch != nil {
		return
	}
	ch := make(chan os.Signal, 1)
	s.ch = ch
	signal.Notify(ch, unix.SIGTSTP, unix.SIGCONT)
	go func() {
		for sig := range ch {
			if sig == unix.SIGTSTP {
				s.send(stopMsg{})
				continue
			}
			s.send(tea.ClearScreen())
		}
	}()
}

// disarm leaves the signals to the system again: the library stops the process by one.
func (s *stops) disarm() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ch == nil {
		return
	}
	signal.Stop(s.ch)
	close(s.ch)
	s.ch = nil
}
