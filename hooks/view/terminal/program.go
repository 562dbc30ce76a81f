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

// framesASecond is how often the screen may change: enough for words, and cheap while nothing
// changes, because the library draws by a timer.
const framesASecond = 8

// Watch runs the terminal program until the reader leaves it, or until the context ends, whose error it then
// returns. For ctrl-c the error is context.Canceled. It always restores the terminal.
func Watch(ctx context.Context, looker *Looker, in, out *os.File, environ []string, getenv func(string) string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stops := &stops{}
	program := tea.NewProgram(
		model{scene: looker.scene, glyphs: glyphsFor(getenv), looker: looker, halt: stops.disarm, again: stops.arm},
		tea.WithContext(ctx), tea.WithInput(in), tea.WithOutput(out), tea.WithEnvironment(environ),
		tea.WithFilter(sized), tea.WithFPS(framesASecond), tea.WithoutSignalHandler())
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

// sized replaces the size of a terminal that does not know it, such as a serial line, by the usual one,
// because otherwise nothing would be shown.
func sized(_ tea.Model, msg tea.Msg) tea.Msg {
	if size, ok := msg.(tea.WindowSizeMsg); ok {
		if size.Width <= 0 || size.Height <= 0 {
			size.Width, size.Height = 80, 24
		}
		return size
	}
	return msg
}

// stops handles SIGTSTP from outside the keyboard, so that the terminal is restored before the
// process stops, and redraws when it continues.
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

// disarm restores the signals' default handling, because the library stops the process by a
// signal.
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
