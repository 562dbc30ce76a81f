package door

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"encoding/binary"
	"fmt"
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

// TestBoundsOfAPush: 6 KB that cost git seconds of processor, and 1 KB that cost it
// 400 MB of memory, are ended at the bound; with the bound out of the way they cost that.
func TestBoundsOfAPush(t *testing.T) {
	tier.Full(t, "pushes that cost seconds of processor and 400 MB")
	for _, attack := range []struct {
		name    string
		pack    []byte
		bound   func(*config.Config)
		ended   string // of the door's line
		measure string
		harm    float64
	}{
		{"cpu", deltaFlood(90, 10<<20), func(c *config.Config) { c.Door.CPU.Duration = 500 * time.Millisecond }, "of processor time", "cpu_ms", 1000},
		{"memory", deltaFlood(1, 400<<20), func(c *config.Config) { c.Door.Memory = 100 << 20 }, "of memory", "rss", 400 << 20},
	} {
		push := func(change func(*config.Config)) map[string]any {
			f := newFixture(t, change)
			answer := f.flood(attack.pack)
			record := f.records(1)[0]
			if told := strings.Contains(answer, "\x02the push was ended: git and its hooks"); told != (record["error"] != nil) {
				t.Errorf("%s: the client is told %q", attack.name, answer)
			}
			t.Logf("%s: %d bytes: %v", attack.name, len(attack.pack), record)
			f.clean()
			return record
		}
		if with := push(attack.bound); !strings.Contains(fmt.Sprint(with["error"]), attack.ended) || with["cpu_ms"].(float64) > 1000 {
			t.Errorf("%s: with the bound %v", attack.name, with)
		}
		without := push(func(c *config.Config) { c.Door.CPU.Duration, c.Door.Memory = time.Hour, 1<<40 })
		if without["error"] != nil || without[attack.measure].(float64) < attack.harm {
			t.Errorf("%s: without the bound the attack is none: %v", attack.name, without)
		}
	}
}

// TestBoundOfAllPushes: pushes that took more together than a minute's share are followed
// by one that waits, and is not refused; with the share out of the way it does not wait.
func TestBoundOfAllPushes(t *testing.T) {
	tier.Full(t, "minutes of processor by many pushes")
	pack := deltaFlood(60, 10<<20)
	for _, test := range []struct {
		perMinute time.Duration
		waits     bool
	}{{time.Second, true}, {time.Hour, false}} {
		f := newFixture(t, func(c *config.Config) {
			c.Door.CPU.Duration, c.Door.CPUPerMinute.Duration = 300*time.Millisecond, test.perMinute
		})
		for range 2 { // the second may start with what the first has left
			f.flood(pack)
		}
		f.records(2)
		if owed := f.door.cpu.take(0); owed > 0 != test.waits { // about 20 seconds
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
	f := newFixture(t, func(c *config.Config) { c.Door.CPU.Duration = 2 * time.Second }) // the hook's: git takes hundredths
	// timeout(1) makes a group of its own.
	f.hook("pre-receive", "timeout 60 sh -c 'cut -d\" \" -f5,6,19 /proc/$$/stat >ward/stat; while :; do :; done'\n")
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
	leader := number([]byte(stat[1]))
	await.True(t, "nothing of the session runs", func() bool { return len(sessions()[leader]) == 0 })
	f.clean()
}
