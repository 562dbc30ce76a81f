package relay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"

	"git-ward/internal/diag"
)

// maxWords is how much stderr of a gate program is kept, in bytes.
const maxWords = 2 << 10

// refusedCode is the exit code of a refusal by the gate's forced command: its lease has ended,
// or the key is for something else. Any other code is trouble, which may pass.
const refusedCode = 1

// session is one command running at the gate.
type session struct {
	command string
	session *ssh.Session
	in      io.WriteCloser
	out     io.Reader
	words   words
	release func()
}

// open starts a command at the gate, once; it ends with ctx.
func (g *gate) open(ctx context.Context, command string) (*session, error) {
	l, release, err := g.take(ctx)
	if err != nil {
		return nil, err
	}
	s := &session{command: command, release: release}
	// A request on a hanging connection ends with ctx or the dial timeout.
	late, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	stop := context.AfterFunc(late, func() { l.client.Close() })
	if s.session, err = l.newSession(); err == nil {
		err = s.start()
	}
	if !stop() && err == nil {
		err = context.Cause(late)
	}
	if err != nil {
		s.close()
		return nil, fmt.Errorf("the gate opens no session: %w", err)
	}
	return s, nil
}

// errGone means that a connection ended while a session was requested.
var errGone = errors.New("the connection to the gate has ended")

// newSession requests a session. A closing ssh.Client drops its channels before it closes the
// connection: a request in between gets no answer, and NewSession waits for ever. So the
// connection's end is watched as well.
func (l *line) newSession() (*ssh.Session, error) {
	type answer struct {
		session *ssh.Session
		err     error
	}
	opened := make(chan answer, 1)
	go func() {
		session, err := l.client.NewSession()
		opened <- answer{session, err}
	}()
	select {
	case a := <-opened:
		return a.session, a.err
	case <-l.gone:
		return nil, errGone
	}
}

// start starts the command. A gate that refuses the variable answers in git's old protocol.
func (s *session) start() (err error) {
	s.session.Stderr = &s.words
	if s.in, err = s.session.StdinPipe(); err != nil {
		return err
	}
	if s.out, err = s.session.StdoutPipe(); err != nil {
		return err
	}
	if s.command == fetchCommand {
		s.session.Setenv("GIT_PROTOCOL", "version=2")
	}
	return s.session.Start(s.command)
}

func (s *session) close() {
	if s.session != nil {
		s.session.Close()
	}
	s.release()
}

// wait waits for the command's end, after its output was read. A refusal is a *Refused.
func (s *session) wait() error {
	err := s.session.Wait()
	var exit *ssh.ExitError
	if err == nil {
		return nil
	}
	if errors.As(err, &exit) {
		said := s.words.String()
		if said == "" {
			said = fmt.Sprintf("exit %d", exit.ExitStatus())
		}
		err = fmt.Errorf("the gate's %s: %s", diag.Cut(s.command, 20), said)
		if exit.ExitStatus() == refusedCode {
			return &Refused{err}
		}
		return err
	}
	return fmt.Errorf("the connection to the gate broke: %w", err)
}

// reach is open with retries while the network is down, for as long as patience.
func (g *gate) reach(ctx context.Context, command string, patience time.Duration) (s *session, err error) {
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for n := 0; ; n++ {
		s, err = g.open(ctx, command)
		if _, ok := errors.AsType[*Refused](err); err == nil || ok || pause(waiting, n) != nil {
			return s, err
		}
	}
}

// words keeps the beginning of what is written.
type words struct {
	mu   sync.Mutex
	data []byte
}

func (w *words) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.data = append(w.data, p[:min(len(p), maxWords-len(w.data))]...)
	return len(p), nil
}

func (w *words) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return oneLine(string(w.data))
}
