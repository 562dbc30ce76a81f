package inside

import (
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

// maxConns is below the gateway's own limit, so that a flood through the forwarder leaves
// connections for others. Further ones wait.
const maxConns = 200

const noGateway = "HTTP/1.1 502 Bad Gateway\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n" +
	"ward: the gateway does not answer; is `git ward launch` still running?\n"

// forward joins every connection with one to the socket, byte for byte, until
// the listener is closed.
func forward(listener net.Listener, socket string) {
	open := make(chan struct{}, maxConns)
	for {
		open <- struct{}{}
		near, err := listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // out of descriptors or memory: they will be freed
			<-open
			time.Sleep(100 * time.Millisecond) // the kernel does not announce that some are free
			continue
		}
		go func() {
			defer func() { <-open }()
			join(near, socket)
		}()
	}
}

func join(near net.Conn, socket string) {
	defer near.Close()
	far, err := net.DialTimeout("unix", socket, 10*time.Second)
	if err != nil {
		unavailable(near)
		return
	}
	defer far.Close()
	var both sync.WaitGroup
	both.Go(func() { pump(&rest{Conn: far}, near) })
	both.Go(func() { pump(near, far) })
	both.Wait()
}

// unavailable answers in place of an unreachable gateway. It reads the request first, because
// closing with unread input resets the connection and loses the answer.
func unavailable(near net.Conn) {
	near.SetDeadline(time.Now().Add(2 * time.Second))
	io.WriteString(near, noGateway)
	if half, ok := near.(*net.TCPConn); ok {
		half.CloseWrite()
	}
	io.Copy(io.Discard, near)
}

// rest is a gateway that may read less than a whole request. It refuses some requests before
// their bodies, and closes; what it does not read is dropped, and its answer still arrives.
type rest struct {
	net.Conn
	closed bool
}

func (r *rest) Write(b []byte) (int, error) {
	if !r.closed {
		_, err := r.Conn.Write(b)
		r.closed = err != nil
	}
	return len(b), nil
}

func (r *rest) CloseWrite() error { return r.Conn.(*net.UnixConn).CloseWrite() }

// pump copies one direction and passes its end on. When the receiver is gone
// the sender is told by closing both.
func pump(to, from net.Conn) {
	if _, err := io.Copy(to, from); err != nil {
		to.Close()
		from.Close()
		return
	}
	if half, ok := to.(interface{ CloseWrite() error }); ok {
		half.CloseWrite()
	}
}
