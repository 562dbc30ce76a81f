package lines

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// Queue buffers output for a reader that may stop reading. A write to a full queue waits
// for the reader, at most for the time stalls; after that, writes do not wait until it has read
// again. Output that does not fit is dropped, and a line says so once there is room. It is safe for concurrent use.
type Queue struct {
	out   io.Writer
	limit int

	mu    sync.Mutex
	more  *sync.Cond
	room  *sync.Cond
	data  []byte
	left  int  // dropped bytes that no line has reported yet
	still bool // the reader has not read for stalls: writes do not wait
	over  bool
	ended chan struct{}
}

// stalls is how long a write waits for a reader that reads nothing. A reader that is merely
// slower than the writer gets all output.
const stalls = time.Second

// NewQueue passes writes on to out and buffers up to limit bytes. The caller must close it.
func NewQueue(out io.Writer, limit int) *Queue {
	q := &Queue{out: out, limit: limit, ended: make(chan struct{})}
	q.more, q.room = sync.NewCond(&q.mu), sync.NewCond(&q.mu)
	go q.pass()
	return q
}

// Write takes p, or leaves all of it out. It never fails.
func (q *Queue) Write(p []byte) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.await(len(p))
	if q.over || len(q.data)+len(p) > q.limit {
		q.left += len(p)
	} else {
		q.data = append(q.data, p...)
		q.more.Signal()
	}
	return len(p), nil
}

// await waits for room for n bytes, as long as who reads can be waited for.
func (q *Queue) await(n int) {
	if len(q.data)+n <= q.limit || len(q.data) == 0 {
		return
	}
	enough := time.AfterFunc(stalls, func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.still = true
		q.room.Broadcast()
	})
	defer enough.Stop()
	for len(q.data) > 0 && len(q.data)+n > q.limit && !q.still && !q.over {
		q.room.Wait()
	}
}

func (q *Queue) pass() {
	defer close(q.ended)
	defer func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.over = true // nobody waits for who is not there any more
		q.room.Broadcast()
	}()
	for {
		data, ok := q.next()
		if !ok {
			return
		}
		if _, err := q.out.Write(data); err != nil {
			return // nobody is there any more; the rest fills the queue, and no more
		}
	}
}

// next waits for something to pass on; not ok is the end.
func (q *Queue) next() (data []byte, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.data) == 0 && q.left == 0 && !q.over {
		q.more.Wait()
	}
	data, q.data, q.still = q.data, nil, false
	q.room.Broadcast()
	if q.left > 0 {
		data = fmt.Appendf(data, "\n(%d bytes left out: nobody read them)\n", q.left)
		q.left = 0
	}
	return data, len(data) > 0
}

// Close passes on what is buffered, for at most patience.
func (q *Queue) Close(patience time.Duration) {
	q.mu.Lock()
	q.over = true
	q.more.Signal()
	q.room.Broadcast()
	q.mu.Unlock()
	select {
	case <-q.ended:
	case <-time.After(patience): // somebody has stopped reading
	}
}
