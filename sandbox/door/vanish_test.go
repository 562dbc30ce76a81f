package door

import (
	"errors"
	"net"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"git-ward/internal/await"
	"git-ward/internal/config"
	"git-ward/internal/tier"
)

// held is what this process, the door, holds: descriptors, goroutines, bytes of heap.
func held() (fds, goroutines int, heap uint64) {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	list, _ := os.ReadDir("/proc/self/fd")
	return len(list), runtime.NumGoroutine(), m.HeapAlloc
}

// TestConnectAndVanish: 10,000 clients that connect and go start no git, cost the door
// nothing that stays, and take no token from the one that comes after them.
func TestConnectAndVanish(t *testing.T) {
	tier.Full(t, "10,000 connections")
	const knocks = 10_000
	f := newFixture(t, func(c *config.Config) { c.Door.Burst, c.Door.PerMinute = 20, 60 })
	if out, err := f.push("HEAD:refs/heads/before"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	fds, goroutines, heap := held()
	began := time.Now()
	for range knocks {
		conn, err := net.Dial("unix", f.socket)
		for errors.Is(err, syscall.EAGAIN) { // the kernel's queue is full: the door has not had its turn
			runtime.Gosched()
			conn, err = net.Dial("unix", f.socket)
		}
		if err != nil {
			t.Fatal(err)
		}
		conn.Close()
	}
	if out, err := f.push("HEAD:refs/heads/after"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%d knocks and a push took %v", knocks, time.Since(began))
	// Who goes in the moment between the door's look and git's start is not seen.
	if n := strings.Count(f.log.String(), `"message":"push"`); n > 100 {
		t.Errorf("%d pushes were started for clients that had gone", n-2)
	}
	await.True(t, "the door holds what it held", func() bool {
		nowFDs, nowGoroutines, nowHeap := held()
		t.Logf("descriptors %d, then %d; goroutines %d, then %d; heap %d, then %d", fds, nowFDs, goroutines, nowGoroutines, heap, nowHeap)
		return nowFDs <= fds+2 && nowGoroutines <= goroutines+2 && nowHeap < heap+4<<20
	})
}

// TestManyConnections: 200 clients that stay and say nothing hold a bounded part of the
// door, and none is refused: when they go, the next is served at once.
func TestManyConnections(t *testing.T) {
	tier.Full(t, "200 clients")
	t.Parallel()
	f := newFixture(t, func(c *config.Config) { c.Door.Burst = 1000 })
	var clients []net.Conn
	for range 200 {
		clients = append(clients, f.dial())
	}
	await.True(t, "pushes run", func() bool { return len(running(f.bare)) == atOnce })
	for _, c := range clients {
		c.Close()
	}
	if out, err := f.push("HEAD:refs/heads/after"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	await.True(t, "nothing runs", func() bool { return len(running(f.bare)) == 0 })
	f.clean()
}

// running are the receive-packs of a repository.
func running(bare string) (pids []int) {
	for _, session := range sessions() {
		for _, m := range session {
			line, _ := os.ReadFile("/proc/" + strconv.Itoa(m.PID) + "/cmdline")
			if strings.Contains(string(line), "receive-pack\x00"+bare+"\x00") {
				pids = append(pids, m.PID)
			}
		}
	}
	return pids
}

// TestStallAtEachByte: a client that stops after any number of bytes of its push, and
// then goes, leaves nothing.
func TestStallAtEachByte(t *testing.T) {
	tier.Full(t, "a push for each place in it")
	t.Parallel()
	f := newFixture(t, func(c *config.Config) { c.Door.Burst = 1000 })
	commands, pack := f.pushed("refs/heads/part")
	whole := append(commands, pack...)
	n := 0
	for cut := 0; cut < len(whole); cut += 7 {
		n++
		conn := f.served()
		conn.Write(whole[:cut])
		conn.Close()
	}
	f.records(n)
	if f.hasRef("refs/heads/part") {
		t.Error("a part of a push moved the ref")
	}
	await.True(t, "nothing runs", func() bool { return len(running(f.bare)) == 0 })
	f.clean()
}
