package relay

import (
	"context"
	"io"
)

// Host is a connection to a gate for one command with its own key.
type Host struct{ gate *gate }

// NewHost reads the files; Gate, Key, KnownHosts and Log count.
func NewHost(c Config) (*Host, error) {
	g, err := newGate(c)
	return &Host{g}, err
}

// Close cuts all connections.
func (h *Host) Close() { h.gate.close() }

// Stream is a running command at the gate.
type Stream struct {
	io.Reader
	io.Writer
	session *session
}

// Ask starts a command. The end of ctx cuts its connection.
func (h *Host) Ask(ctx context.Context, command string) (*Stream, error) {
	s, err := h.gate.open(ctx, command)
	if err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, func() { s.session.Close() })
	return &Stream{s.out, s.in, s}, nil
}

// Wait waits until all output was read, and says how the command ended; a *Refused if the gate
// refused it.
func (s *Stream) Wait() error { return s.session.wait() }

// Close closes the connection.
func (s *Stream) Close() { s.session.close() }
