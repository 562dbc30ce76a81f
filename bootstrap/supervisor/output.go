package supervisor

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"git-ward/internal/diag"
	"git-ward/internal/lines"
	"git-ward/internal/live"
	"git-ward/internal/logfile"
	"git-ward/protocols/boot"
)

const (
	// consoleBurst and consoleRate bound, in bytes and bytes a second, the part of the agents'
	// output that is passed on to the launcher, to protect the host's disk.
	consoleBurst = 1 << 20
	consoleRate  = 4 << 10
	// liveBurst and livePerMinute bound, in bytes, the live events of agents: well above what
	// Ward's agent writes (SEE-1).
	liveBurst, livePerMinute = 1 << 20, 512 << 10
)

// Tee takes what agents print: into errors.log, and some of it on to the launcher.
type Tee struct {
	log     io.Writer
	console *console
	live    *logfile.Limited
}

// NewTee passes the agents' output on to the log and the launcher, and their live events to
// events, which must not block. One bound holds for the launcher's part of all agents. The
// launcher may read stdout and stderr as one stream, so an agent's line that looks like one of
// the watcher's is marked.
func NewTee(log, launcher, events io.Writer) *Tee {
	return &Tee{log, &console{out: lines.NewEach(launcher, notTheWatchers), tokens: consoleBurst, at: time.Now()},
		logfile.Limit(events, logfile.Share{Burst: liveBurst, PerMinute: livePerMinute, Told: leftOut})}
}

// notTheWatchers marks a line of the agent's that begins like one of the watcher's.
func notTheWatchers(line string) string {
	if strings.HasPrefix(line, boot.Words) {
		return "agent: " + line
	}
	return line
}

// leftOut tells the launcher how many events were dropped.
func leftOut(events int) []byte {
	return fmt.Appendf(nil, boot.Words+"%s of the work left out: too much at once\n", diag.Count(events, "event"))
}

// Flush tells of the events that were left out last, and passes on a line without an end.
func (t *Tee) Flush() {
	t.live.Flush()
	t.console.out.Flush() // the reader has gone
}

// capture returns a writer for the output of one agent.
func (t *Tee) capture() *capture {
	c := &capture{tee: t}
	c.taker = lines.NewTaker(printed{c}, live.Prefix, live.MaxLine, func(event []byte) []byte {
		t.live.Write(append(append([]byte(live.Prefix), event...), '\n'))
		return nil
	})
	return c
}

// capture is the output of one agent.
type capture struct {
	tee   *Tee
	taker *lines.Taker // takes out the lines with events, which are for the launcher only
	total atomic.Int64 // bytes of the other lines
	tail  Tail
}

// Write never fails: an agent must not notice that a disk is full.
func (c *capture) Write(p []byte) (int, error) { return c.taker.Write(p) }

// printed writes an agent's output without its events.
type printed struct{ *capture }

func (c printed) Write(p []byte) (int, error) {
	c.total.Add(int64(len(p)))
	c.tee.log.Write(p)
	c.tee.console.Write(p)
	return c.tail.Write(p)
}

// console passes bytes on at a limited rate, and writes a message when it dropped some.
type console struct {
	out    *lines.Each
	tokens float64 // bytes that may be passed on now
	at     time.Time
	muted  bool
}

func (c *console) Write(p []byte) (int, error) {
	now := time.Now()
	c.tokens = min(consoleBurst, c.tokens+now.Sub(c.at).Seconds()*consoleRate)
	c.at = now
	switch {
	case c.tokens >= float64(len(p)):
		c.tokens -= float64(len(p))
		c.muted = false
		return c.out.Write(p)
	case !c.muted:
		c.muted = true
		io.WriteString(c.out, "\nthe agent prints too much; the rest is in logs/errors.log only\n")
	}
	return len(p), nil
}

// tailSize is how many bytes of an output's end a Tail keeps at least.
const tailSize = 4 << 10

// Tail is a writer that keeps the end of what is written. Its zero value is ready,
// and it may be read while it is written to.
type Tail struct {
	mu   sync.Mutex
	data []byte
}

// Write never fails.
func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.data = append(t.data, p...)
	if len(t.data) > 2*tailSize {
		t.data = append(t.data[:0], t.data[len(t.data)-tailSize:]...)
	}
	return len(p), nil
}

// LastLines applies LastLines to what was written.
func (t *Tail) LastLines() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return LastLines(string(t.data))
}

// LastLines returns the last whole lines of an output, at most 300 bytes, joined to one line, for the reason
// of a failure. If the last line is longer, it returns the end of that line.
func LastLines(text string) string {
	const size = 300
	text = strings.TrimSpace(text)
	if len(text) > size {
		text = text[len(text)-size:]
		if _, lines, ok := strings.Cut(text, "\n"); ok {
			text = lines
		}
	}
	return diag.Clean(strings.ReplaceAll(text, "\n", "; "))
}
