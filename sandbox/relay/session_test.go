package relay

import (
	"crypto/ed25519"
	"crypto/rand"
	"io"
	"net"
	"testing"

	"golang.org/x/crypto/ssh"

	"git-ward/internal/await"
)

// TestOpenOnEndingLine: a session that is asked for while the line ends fails; it does not
// hang, and the next one has a line of its own. Each round's connection ends at a command, and
// who has seen that asks again at once: some of the rounds meet the moment in which the
// library has let go of its channels and still writes.
func TestOpenOnEndingLine(t *testing.T) {
	t.Parallel()
	g := &gate{address: endingHost(t), config: ssh.ClientConfig{HostKeyCallback: ssh.InsecureIgnoreHostKey()}}
	t.Cleanup(g.close)
	for range 300 {
		s := openAgain(t, g)
		io.Copy(io.Discard, s.out)
		s.close()
	}
}

// openAgain asks for sessions until there is one.
func openAgain(t *testing.T, g *gate) *session {
	t.Helper()
	for {
		opened := make(chan *session, 1)
		go func() {
			s, _ := g.open(t.Context(), watchCommand)
			opened <- s
		}()
		if s := await.Value(t, "an answer of open", opened); s != nil {
			return s
		}
	}
}

// endingHost is the address of an ssh server that closes each connection at its first command.
func endingHost(t *testing.T) string {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(key)
	if err != nil {
		t.Fatal(err)
	}
	config := &ssh.ServerConfig{NoClientAuth: true}
	config.AddHostKey(signer)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go endAtCommand(conn, config)
		}
	}()
	return l.Addr().String()
}

func endAtCommand(conn net.Conn, config *ssh.ServerConfig) {
	defer conn.Close()
	_, channels, requests, err := ssh.NewServerConn(conn, config)
	if err != nil {
		return
	}
	go ssh.DiscardRequests(requests)
	for asked := range channels {
		_, asks, err := asked.Accept()
		if err != nil {
			return
		}
		for ask := range asks {
			ask.Reply(true, nil)
			if ask.Type == "exec" {
				return
			}
		}
	}
}
