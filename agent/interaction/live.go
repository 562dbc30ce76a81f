package interaction

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"git-ward/internal/live"
	"git-ward/internal/logfile"
)

const (
	// liveBurst and livePerMinute limit one process's events, in bytes.
	liveBurst, livePerMinute = 512 << 10, 256 << 10
	// liveQueue is how many events wait for a slow reader.
	liveQueue = 256
	// beatEvery is the silence after which a sign of life is sent.
	beatEvery = 5 * time.Second
	// liveEnd is how long a process's end waits for its last events.
	liveEnd = time.Second
)

// Live sends progress events to whoever watches (SEE-1). The work never waits for it: events
// that a reader does not take in time, or that are too many, are dropped and counted. It is
// safe for concurrent use; nil sends nothing.
type Live struct {
	redact func(string) string // removes secrets; may be nil
	queue  chan live.Event
	ended  chan struct{}

	mu   sync.Mutex
	at   live.Event // the current unit, iteration and role
	left int        // dropped events since the last one sent
	over bool       // it is closed
}

// NewLive sends events to out, which may block for any time. Redact must be safe for
// concurrent use. The caller must close the Live.
func NewLive(out io.Writer, redact func(string) string) *Live {
	l := &Live{redact: redact, queue: make(chan live.Event, liveQueue), ended: make(chan struct{})}
	go l.write(logfile.Limit(out, logfile.Share{Burst: liveBurst, PerMinute: livePerMinute, Told: l.tooMuch}))
	return l
}

// tooMuch reports how many events were dropped.
func (l *Live) tooMuch(lines int) []byte { return wire(l.here(leftOut(lines))) }

func leftOut(n int) live.Event {
	return live.Event{Kind: live.State, Text: fmt.Sprintf("(%d events left out)", n)}
}

// wire is an event as an output line of the process.
func wire(e live.Event) []byte { return append([]byte(live.Prefix), e.Line()...) }

// here is an event about the current work.
func (l *Live) here(e live.Event) live.Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	e.Time, e.Unit, e.Iteration = time.Now(), l.at.Unit, l.at.Iteration
	if e.Role == "" {
		e.Role = l.at.Role
	}
	return e
}

func (l *Live) write(out *logfile.Limited) {
	defer close(l.ended)
	defer out.Flush()
	beat := time.NewTicker(beatEvery)
	defer beat.Stop()
	for {
		select {
		case e, more := <-l.queue:
			if !more {
				return
			}
			if l.redact != nil {
				e.Text, e.Tool = l.redact(e.Text), l.redact(e.Tool)
			}
			out.Write(wire(e))
		case <-beat.C:
			if e := l.here(live.Event{Kind: live.Beat}); e.Unit != "" {
				out.Write(wire(e))
			}
		}
	}
}

// At sets the unit or directive, and the iteration from 1, of later events; "" is none.
func (l *Live) At(unit string, iteration int64) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.at = live.Event{Unit: unit, Iteration: iteration}
}

// Begins sets the worker of later events.
func (l *Live) Begins(role string) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.at.Role = role
}

// Tell sends an event about the present work. It never waits.
func (l *Live) Tell(e live.Event) {
	if l == nil {
		return
	}
	if e = l.here(e); e.Unit == "" {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		return
	}
	if l.left > 0 && len(l.queue) < cap(l.queue)-1 {
		told := leftOut(l.left)
		told.Time, told.Unit, told.Iteration = e.Time, e.Unit, e.Iteration
		l.queue <- told // there is room, and nobody else adds to it
		l.left = 0
	}
	select {
	case l.queue <- e:
	default:
		l.left++
	}
}

// Said sends the worker's words.
func (l *Live) Said(text string) { l.Tell(live.Event{Kind: live.Said, Text: text}) }

// State sends that a machine entered a state, and why.
func (l *Live) State(machine, state, why string) {
	l.Tell(live.Event{Kind: live.State, Tool: machine, Text: strings.TrimSpace(state + "\n" + why)})
}

// Close waits a moment for the last events to be sent.
func (l *Live) Close() {
	if l == nil {
		return
	}
	l.mu.Lock()
	l.over = true
	close(l.queue)
	l.mu.Unlock()
	select {
	case <-l.ended:
	case <-time.After(liveEnd): // the reader has stopped, and nobody waits for it
	}
}
