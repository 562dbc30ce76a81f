package serve

import (
	"fmt"
	"net"
	"sync"
	"syscall"
	"time"
)

// limited is a listener that accepts a limited number of connections in total and per peer, so
// that one peer cannot use all of them. A refused client gets an answer.
type limited struct {
	net.Listener
	most, share int
	secure      bool
	say         *teller
	telling     chan struct{} // limits the refusals that are answered at a time; others are just closed

	mu    sync.Mutex
	open  int
	peers map[peer]int
}

func limit(l net.Listener, most, share int, secure bool, say *teller) *limited {
	var files syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files) == nil && files.Cur < 2*uint64(most) {
		// git's children need files, too.
		most = max(int(files.Cur/2), 16)
		share = max(most/2, 8)
	}
	return &limited{Listener: l, most: most, share: share, secure: secure, say: say, telling: make(chan struct{}, 64), peers: map[peer]int{}}
}

func (l *limited) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if who := peerOf(c); l.take(who) {
			return &connection{Conn: c, peer: who, free: sync.OnceFunc(func() { l.leave(who) })}, nil
		}
		l.say.line("full", fmt.Sprintf("no more than %d connections are held, %d of one user: others are refused", l.most, l.share))
		l.refuse(c)
	}
}

func (l *limited) take(who peer) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open >= l.most || l.peers[who] >= l.share {
		return false
	}
	l.open++
	l.peers[who]++
	return true
}

func (l *limited) leave(who peer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open--
	if l.peers[who]--; l.peers[who] == 0 {
		delete(l.peers, who)
	}
}

const full = "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 10\r\nConnection: close\r\nContent-Type: text/plain\r\nContent-Length: 53\r\n\r\n" +
	"Too many connections are open. Try again in a while.\n"

// refuse tells a client that there are too many. It reads the request first, because closing a
// connection with unread bytes resets it and loses the answer.
func (l *limited) refuse(c net.Conn) {
	select {
	case l.telling <- struct{}{}:
	default:
		c.Close()
		return
	}
	go func() {
		defer func() { c.Close(); <-l.telling }()
		if l.secure {
			return // with TLS the client sends a handshake, so it cannot read a plain answer
		}
		c.SetDeadline(time.Now().Add(300 * time.Millisecond))
		c.Read(make([]byte, maxHeader))
		c.Write([]byte(full))
	}()
}

// connection is one that counts until it is closed.
type connection struct {
	net.Conn
	peer peer
	free func()
}

func (c *connection) Close() error {
	defer c.free()
	return c.Conn.Close()
}
