package lab

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
)

// Log is a log that a test can read while other goroutines write it.
type Log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write appends.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// String returns the text so far.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// Connect does what `ward-agent connect SOCKET` does, for tests whose own binary is git's connector.
func Connect(socket string) {
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	go func() {
		io.Copy(conn, os.Stdin)
		conn.CloseWrite()
	}()
	io.Copy(os.Stdout, conn)
}
