package gateway

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// tunnel joins two connections until both directions have ended, or neither has moved for the
// idle time.
type tunnel struct {
	near     net.Conn
	nearRead io.Reader // with what the server had read ahead
	far      net.Conn
	idle     time.Duration
	alarm    *time.Timer
	up, down atomic.Int64 // bytes to and from the target
}

func newTunnel(near net.Conn, nearRead io.Reader, far net.Conn, idle time.Duration) *tunnel {
	t := &tunnel{near: near, nearRead: nearRead, far: far, idle: idle}
	t.alarm = time.AfterFunc(idle, t.close)
	return t
}

func (t *tunnel) close() {
	t.near.Close()
	t.far.Close()
}

func (t *tunnel) run() {
	defer t.alarm.Stop()
	var both sync.WaitGroup
	both.Go(func() { t.pump(t.far, t.nearRead, &t.up) })
	both.Go(func() { t.pump(t.near, t.far, &t.down) })
	both.Wait()
}

// pump copies one direction and passes its end on, because a client may half-close and still
// wait for the answer.
func (t *tunnel) pump(to net.Conn, from io.Reader, count *atomic.Int64) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		t.alarm.Reset(t.idle)
		if n > 0 {
			if _, e := to.Write(buffer[:n]); e != nil {
				t.close()
				return
			}
			count.Add(int64(n))
			t.alarm.Reset(t.idle)
		}
		if err != nil {
			closeWrite(to)
			return
		}
	}
}

// idler is a connection whose every read and write has the idle time as deadline.
type idler struct {
	net.Conn
	idle time.Duration
}

func (c *idler) Read(p []byte) (int, error) {
	c.SetReadDeadline(time.Now().Add(c.idle))
	return c.Conn.Read(p)
}

func (c *idler) Write(p []byte) (int, error) {
	c.SetWriteDeadline(time.Now().Add(c.idle))
	return c.Conn.Write(p)
}
