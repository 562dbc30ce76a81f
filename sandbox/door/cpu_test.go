package door

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"git-ward/internal/await"
	"git-ward/internal/config"
	"git-ward/internal/tier"
)

// deltaFlood is a pack of one base and n deltas, each of which repeats the base into a
// blob of its own of size bytes: fifty bytes cost git the hashing of them all.
func deltaFlood(n, size int) []byte {
	const base = 1 << 20
	p := newPack(uint32(n + 1))
	p.header(3, base) // blob
	p.zeros(base)
	id := sha1.Sum(append(fmt.Appendf(nil, "blob %d\x00", base), make([]byte, base)...))
	for i := range n {
		delta := append(varint(base), varint(uint64(size+4))...)
		for range size / base {
			delta = append(delta, 0x80|0x40, base>>16) // copy it from its start
		}
		delta = binary.BigEndian.AppendUint32(append(delta, 4), uint32(i)) // and 4 bytes besides
		p.header(7, int64(len(delta)))                                     // REF_DELTA
		p.Write(id[:])
		var packed bytes.Buffer
		z := zlib.NewWriter(&packed)
		z.Write(delta)
		z.Close()
		p.Write(packed.Bytes())
	}
	return p.finish()
}

// flood pushes a pack and returns the answer.
func (f *fixture) flood(pack []byte) string {
	f.t.Helper()
	conn := f.dial()
	conn.SetDeadline(await.Deadline(f.t))
	conn.Write(append(updates(strings.Repeat("1", 40), "refs/heads/bomb"), pack...))
	conn.CloseWrite()
	answer := readAll(conn)
	if !strings.Contains(answer, "ng refs/heads/bomb") {
		f.t.Errorf("answer %q", answer)
	}
	return answer
}

// endless is 6 KB that cost git the hashing of 9 GB: no machine is done with it before a
// bound of these tests, and on none does it matter how soon the bound is seen to be passed.
func endless() []byte { return deltaFlood(90, 100<<20) }

// patient gives a push all the time of the clock: what ends it here is another bound.
func patient(change func(*config.Config)) func(*config.Config) {
	return func(c *config.Config) {
		c.Door.Time.Duration, c.Door.CPU.Duration, c.Door.Memory = 24*time.Hour, 24*time.Hour, 1<<40
		change(c)
	}
}

// TestBoundsOfAPush: a pack that costs git minutes of processor, and one that costs it
// 400 MB of memory again and again, are ended at the bound, wherever it is: what they take
// beyond a bound, they take with a larger one.
func TestBoundsOfAPush(t *testing.T) {
	tier.Full(t, "pushes that cost seconds of processor and 400 MB")
	cpu := func(d time.Duration) func(*config.Config) { return func(c *config.Config) { c.Door.CPU.Duration = d } }
	memory := func(n int64) func(*config.Config) { return func(c *config.Config) { c.Door.Memory = n } }
	large := deltaFlood(90, 400<<20)
	for _, attack := range []struct {
		name    string
		pack    []byte
		bound   func(*config.Config)
		ended   string // of the door's line
		measure string
		least   float64
	}{
		{"processor", endless(), cpu(500 * time.Millisecond), "of processor time, more than 500ms", "cpu_ms", 500},
		{"more of it", endless(), cpu(2 * time.Second), "of processor time, more than 2s", "cpu_ms", 2000},
		{"memory", large, memory(100 << 20), "of memory, more than 104857600", "rss", 100 << 20},
		{"more of it", large, memory(300 << 20), "of memory, more than 314572800", "rss", 300 << 20},
	} {
		f := newFixture(t, patient(attack.bound))
		answer := f.flood(attack.pack)
		record := f.records(1)[0]
		t.Logf("%s: %d bytes: %v", attack.name, len(attack.pack), record)
		if !strings.Contains(fmt.Sprint(record["error"]), attack.ended) || record[attack.measure].(float64) < attack.least {
			t.Errorf("%s: not ended at the bound: %v", attack.name, record)
		}
		if !strings.Contains(answer, "\x02the push was ended: git and its hooks") {
			t.Errorf("%s: the client is told %q", attack.name, answer)
		}
		f.clean()
	}
}

// TestBoundOfAllPushes: a push that took more than what there is at once is followed by one
// that waits, and is not refused; with a share that owes nothing for long it does not wait.
func TestBoundOfAllPushes(t *testing.T) {
	tier.Full(t, "seconds of processor by a push")
	const most = 300 * time.Millisecond
	for _, test := range []struct {
		perMinute time.Duration
		waits     bool
	}{{time.Millisecond, true}, {24 * time.Hour, false}} { // what is owed is gone after hours, or at once
		f := newFixture(t, patient(func(c *config.Config) { c.Door.CPU.Duration, c.Door.CPUPerMinute.Duration = most, test.perMinute }))
		f.flood(endless())
		f.records(1)
		if owed := f.door.cpu.take(0); owed > 0 != test.waits {
			t.Errorf("with %v a minute: %v are owed", test.perMinute, owed)
		}
		if conn := f.dial(); test.waits {
			f.queues()
		} else if _, err := conn.Read(make([]byte, 1)); err != nil {
			t.Error(err)
		}
		f.stop()
		f.clean()
	}
}

// TestSessionOfAPush: what a hook starts in a group of its own is counted and ended with
// its push, and all of it gives way to others.
func TestSessionOfAPush(t *testing.T) {
	tier.First(t, "it pushes much, or waits for a client to be given up")
	t.Parallel()
	f := newFixture(t, patient(func(c *config.Config) { c.Door.CPU.Duration = 2 * time.Second })) // the hook's: git takes hundredths
	// timeout(1) makes a group of its own; its time is never up.
	f.hook("pre-receive", "timeout 1d sh -c 'cut -d\" \" -f5,6,19 /proc/$$/stat >ward/stat; while :; do :; done'\n")
	if out, err := f.push("HEAD:refs/heads/x"); err == nil || !strings.Contains(out, "remote: the push was ended: git and its hooks took") {
		t.Errorf("%v: the client is told %s", err, out)
	}
	stat := strings.Fields(f.read("ward/stat")) // group, session, nice
	if len(stat) != 3 || stat[0] == stat[1] || stat[2] != "5" {
		t.Fatalf("group, session and niceness, as the hook had them: %v", stat)
	}
	if record := f.records(1)[0]; !strings.Contains(fmt.Sprint(record["error"]), "of processor time, more than 2s") {
		t.Errorf("log: %v", record)
	}
	leader, _ := strconv.Atoi(stat[1])
	await.True(t, "nothing of the session runs", func() bool { return len(sessions()[leader]) == 0 })
	f.clean()
}
