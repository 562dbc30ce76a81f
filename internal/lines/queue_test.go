package lines

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestQueue: everything comes in its order, and the end waits for it.
func TestQueue(t *testing.T) {
	var out bytes.Buffer
	q := NewQueue(&out, 1<<20)
	for range 1000 {
		q.Write([]byte("a line\n"))
	}
	q.Close(time.Minute)
	if want := strings.Repeat("a line\n", 1000); out.String() != want {
		t.Errorf("%d bytes, want %d", out.Len(), len(want))
	}
}

// TestQueueSlow: who reads slowly gets all of it.
func TestQueueSlow(t *testing.T) { synctest.Test(t, queueSlow) }

func queueSlow(t *testing.T) {
	read, write := io.Pipe()
	q := NewQueue(write, 100)
	rest := make(chan int)
	go func() {
		n, buffer := 0, make([]byte, 1000)
		for {
			k, err := read.Read(buffer)
			n += k
			if err != nil {
				rest <- n
				return
			}
			time.Sleep(time.Millisecond) // slower than who writes
		}
	}()
	for range 1000 {
		q.Write([]byte("0123456789"))
	}
	q.Close(time.Minute)
	write.Close()
	if n := <-rest; n != 10_000 {
		t.Errorf("%d bytes", n)
	}
}

// TestQueueStops: nobody reads, and who writes goes on after a while; what was too much is told when
// somebody reads again.
func TestQueueStops(t *testing.T) { synctest.Test(t, queueStops) }

func queueStops(t *testing.T) {
	read, write := io.Pipe()
	q := NewQueue(write, 100)
	written := make(chan bool)
	go func() {
		for range 1 << 20 {
			q.Write([]byte("0123456789"))
		}
		q.Close(time.Millisecond)
		close(written)
	}()
	<-written
	rest := make(chan string)
	go func() {
		data, _ := io.ReadAll(read)
		rest <- string(data)
	}()
	<-q.ended
	write.Close()
	if got := <-rest; !strings.HasPrefix(got, "0123456789") || !strings.Contains(got, "bytes left out") || len(got) > 400 {
		t.Errorf("%d bytes: %.200q", len(got), got)
	}
}
