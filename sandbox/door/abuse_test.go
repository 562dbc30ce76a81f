package door

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"git-ward/internal/await"
	"git-ward/internal/config"
	"git-ward/internal/tier"
)

// TestGarbage throws noise and broken pushes at the door. Whatever gets in, the
// repository stays whole and the door open.
func TestGarbage(t *testing.T) {
	tier.First(t, "it pushes much, or waits for a client to be given up")
	t.Parallel()
	f := newFixture(t, func(c *config.Config) { c.Door.Burst = 1000 })
	commands, pack := f.pushed("refs/heads/g")
	whole := append(commands, pack...)
	random := rand.New(rand.NewPCG(1, 2))
	var clients sync.WaitGroup
	for i := range 40 {
		input := bytes.Clone(whole)
		switch i % 4 {
		case 0: // noise
			for j := range input {
				input[j] = byte(random.Uint32())
			}
		case 1: // some bytes wrong
			for range 1 + random.IntN(4) {
				input[random.IntN(len(input))] ^= byte(1 + random.IntN(255))
			}
		case 2: // the pack wrong, the commands right
			input[len(commands)+random.IntN(len(pack))] ^= 1
		case 3: // cut off, or more than there should be
			input = append(input[:random.IntN(len(input))], strings.Repeat("0000", random.IntN(2000))...)
		}
		conn := f.dial()
		clients.Go(func() {
			conn.Write(input)
			conn.CloseWrite()
			readAll(conn)
		})
	}
	clients.Wait()
	f.clean()
	if out, err := f.push("HEAD:refs/heads/after"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// TestHang: a silent client is sent away; TestPatience says when.
func TestHang(t *testing.T) {
	tier.First(t, "it waits for a client to be given up")
	t.Parallel()
	f := newFixture(t, func(c *config.Config) { c.Door.Time.Duration = time.Second })
	f.sentAway(f.dial())
}

// TestTrickle: a client that always has one more byte is sent away at the
// deadline.
func TestTrickle(t *testing.T) {
	tier.First(t, "it pushes much, or waits for a client to be given up")
	t.Parallel()
	f := newFixture(t, func(c *config.Config) { c.Door.Time.Duration = time.Second })
	conn := f.dial()
	go func() {
		// One long command line, a byte at a time.
		for _, err := fmt.Fprint(conn, "fff0"); err == nil; _, err = fmt.Fprint(conn, "x") {
			time.Sleep(50 * time.Millisecond) // a client that sends slowly: that is the test
		}
	}()
	f.sentAway(conn)
}

// TestDeaf: a client that reads nothing does not keep its slot.
func TestDeaf(t *testing.T) {
	tier.First(t, "it pushes much, or waits for a client to be given up")
	t.Parallel()
	f := longer(t, func(f *fixture) bool {
		head := strings.TrimSpace(f.git(f.clone, "rev-parse", "HEAD"))
		f.git(f.clone, "push", "-q", "origin", "HEAD:refs/heads/main")
		var refs strings.Builder // a greeting that no socket buffer holds
		for i := range 8000 {
			fmt.Fprintf(&refs, "%s refs/heads/%0100d\n", head, i)
		}
		write(t, filepath.Join(f.bare, "packed-refs"), refs.String(), 0o644)
		f.dial()
		return f.records(1)[0]["out"].(float64) >= 1<<20 // git was read to its end
	})
	f.clean()
}

// TestFlood: more connections than the burst are delayed at the bucket's pace,
// and every one is served.
func TestFlood(t *testing.T) {
	tier.First(t, "it pushes much, or waits for a client to be given up")
	t.Parallel()
	f := newFixture(t, func(c *config.Config) { c.Door.Burst, c.Door.PerMinute = 2, 240 })
	start := time.Now()
	var clients sync.WaitGroup
	for range 8 {
		conn := f.dial()
		clients.Go(func() {
			conn.CloseWrite()
			if !strings.Contains(readAll(conn), "report-status") {
				t.Error("a client was refused")
			}
		})
	}
	clients.Wait()
	if took := time.Since(start); took < 1400*time.Millisecond { // no machine is so slow that it meets this
		t.Errorf("8 clients, 2 at once and 4 a second: %v, less than 1.5s", took)
	}
}

// longer gives [door] time more and more, until the door's limit met what it is to end, and
// not what comes before: how fast the machine is, is no verdict.
func longer(t *testing.T, attempt func(*fixture) bool) *fixture {
	t.Helper()
	for limit := 2 * time.Second; limit < 5*time.Minute; limit *= 4 {
		f := newFixture(t, func(c *config.Config) { c.Door.Time.Duration = limit })
		if attempt(f) {
			return f
		}
		t.Logf("%s were too short for what comes before", limit)
	}
	t.Fatal("the limit always came before what it was to end")
	return nil
}

// TestVanishMidPack: nothing of half a push stays.
func TestVanishMidPack(t *testing.T) {
	tier.First(t, "it pushes much, or waits for a client to be given up")
	t.Parallel()
	f := newFixture(t, nil)
	noise := make([]byte, 400_000)
	for i := range noise {
		noise[i] = byte(rand.Uint32())
	}
	f.commit("noise", string(noise))
	for i, unpackLimit := range []string{"1", "100"} { // index-pack, unpack-objects
		f.git(f.bare, "config", "receive.unpackLimit", unpackLimit)
		commands, pack := f.pushed("refs/heads/half")
		conn := f.served()
		conn.Write(append(commands, pack[:len(pack)/2]...))
		conn.Close()
		if record := f.records(i + 1)[i]; record["in"].(float64) < 200_000 {
			t.Errorf("the door did not take what was sent: %v", record)
		}
		if f.hasRef("refs/heads/half") {
			t.Error("half a push moved a ref")
		}
		f.clean()
	}
}

// TestVanishAfterPack: once the pack is whole the push goes through, and
// post-receive records it, with nobody listening.
func TestVanishAfterPack(t *testing.T) {
	tier.First(t, "it pushes much, or waits for a client to be given up")
	t.Parallel()
	f := newFixture(t, nil)
	f.hook("pre-receive", untilGo+"seq 1000 >&2\n")
	f.hook("post-receive", "seq 100000 >&2\ncat >>ward/post.refs\n")
	commands, pack := f.pushed("refs/heads/whole")
	conn := f.served()
	conn.Write(append(commands, pack...))
	conn.Close()
	f.letGo()
	if record := f.records(1)[0]; record["level"] != "info" {
		t.Errorf("log: %v", record)
	}
	if !f.hasRef("refs/heads/whole") || !strings.Contains(f.read("ward/post.refs"), "refs/heads/whole") {
		t.Error("the push or its record is missing")
	}
	f.clean()
}

// TestDeadline: a push that does not end is ended, with its children, and git
// has removed its quarantine.
func TestDeadline(t *testing.T) {
	tier.First(t, "it pushes much, or waits for a client to be given up")
	t.Parallel()
	pid := ""
	f := longer(t, func(f *fixture) bool {
		f.hook("pre-receive", "echo $$ >ward/pid; while :; do sleep 0.1; done\n")
		if out, err := f.push("HEAD:refs/heads/x"); err == nil {
			t.Errorf("it came in:\n%s", out)
		}
		if record := f.records(1)[0]; record["level"] != "warn" {
			t.Errorf("log: %v", record)
		}
		pid = strings.TrimSpace(f.read("ward/pid"))
		return pid != "" // else it was ended before its hook began
	})
	await.True(t, "the hook is gone", func() bool {
		stat, err := os.ReadFile("/proc/" + pid + "/stat")
		return err != nil || strings.Contains(string(stat), ") Z ")
	})
	if f.hasRef("refs/heads/x") {
		t.Error("the ref moved")
	}
	f.clean()
}

// TestEndlessCommands: what git would keep in memory before the pack is bounded
// by the door.
func TestEndlessCommands(t *testing.T) {
	tier.First(t, "it pushes much, or waits for a client to be given up")
	t.Parallel()
	f := newFixture(t, func(c *config.Config) { c.Limits.InputSize = 1 << 20 })
	conn := f.dial()
	line := fmt.Sprintf("%040d %s refs/heads/x", 0, strings.Repeat("1", 40))
	block := bytes.Repeat(fmt.Appendf(nil, "%04x%s", len(line)+4, line), 1000)
	sent := 0
	for ; sent < 64<<20; sent += len(block) {
		if _, err := conn.Write(block); err != nil {
			break
		}
	}
	if sent > 8<<20 {
		t.Errorf("the door took %d bytes of commands", sent)
	}
	if in := f.records(1)[0]["in"].(float64); in > 2<<20+chunk {
		t.Errorf("git was given %v bytes", in)
	}
	f.clean()
}
