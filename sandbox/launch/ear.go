package launch

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"git-ward/internal/diag"
	"git-ward/internal/live"
)

// ear receives one worker's events. A worker that sends more than can be written loses only
// its own.
type receiver struct {
	v         *eventLog
	redact    func(string) string // its own filter, so that no other worker waits for a costly search
	directive string              // the directive that it works on
	holds     func() bool         // reports whether it still has the lease for it
	waits     func(bool)          // told when the worker reports that it waits or works

	queue chan []byte  // lines from the agent
	full  atomic.Int64 // how many lines were dropped
	enough,
	ended chan struct{}

	before string // the end of the last written text
	left   int    // dropped and malformed lines since the last report
}

// listen starts to receive a worker's events about a directive. Close it.
func (v *eventLog) listen(directive string, holds func() bool, waits func(bool)) *receiver {
	e := &receiver{v: v, directive: directive, holds: holds, waits: waits, queue: make(chan []byte, livesQueue), enough: make(chan struct{}), ended: make(chan struct{})}
	if v.redact != nil {
		e.redact = v.redact()
	}
	v.mu.Lock()
	v.ears = append(v.ears, e)
	v.mu.Unlock()
	go e.run()
	return e
}

// heard accepts a line from the agent and never blocks.
func (e *receiver) heard(line []byte) []byte {
	select {
	case e.queue <- slices.Clone(line):
	default:
		e.full.Add(1)
	}
	return nil
}

// tell accepts an event of the host's about the worker's directive.
func (e *receiver) tell(event live.Event) {
	event.Unit = e.directive
	e.v.tell(event)
}

func (e *receiver) run() {
	defer close(e.ended)
	for {
		select {
		case line := <-e.queue:
			e.take(line)
		case <-e.enough:
			for {
				select {
				case line := <-e.queue:
					e.take(line)
				default:
					return
				}
			}
		}
	}
}

// close writes what is queued and stops.
func (e *receiver) close() {
	close(e.enough)
	<-e.ended
	e.v.mu.Lock()
	defer e.v.mu.Unlock()
	e.look()
	e.v.ears = slices.DeleteFunc(e.v.ears, func(other *receiver) bool { return other == e })
}

// take accepts an agent's line if it is an event about its directive.
func (e *receiver) take(line []byte) {
	if event, err := live.FromAgent(line); e.note(event, err) {
		e.waits(event.Kind == live.Waits)
	}
}

// note writes an event; false if it is about another directive or only a sign of life.
func (e *receiver) note(event live.Event, err error) bool {
	if !e.heeds(&event, err) || event.Kind == live.Beat {
		return false
	}
	if e.redact != nil {
		event.Text, event.Tool, event.Role = e.redactJoined(event), e.redact(event.Tool), e.redact(event.Role)
	}
	e.v.mu.Lock()
	defer e.v.mu.Unlock()
	e.v.write(event)
	return true
}

// heeds notes a sign of life for the event's directive; false if that is another one.
func (e *receiver) heeds(event *live.Event, err error) bool {
	works := err == nil && event.Directive() == e.directive && e.holds() // before the lock, because it may read the lease
	e.v.mu.Lock()
	defer e.v.mu.Unlock()
	if !works {
		e.left++
		return false
	}
	now := time.Now()
	if event.Time.Sub(now).Abs() > time.Minute { // the agent's clock is not trusted
		event.Time = now
	}
	v, name := e.v, event.Directive()
	sign := v.signs[name]
	sign.Beat, v.told = now, false
	if event.Kind != live.Beat {
		sign.Work = now
	}
	v.signs[name] = sign
	return true
}

// maxBefore is how much of the previous text is searched together with the next, in bytes:
// more than half of any secret with a known form.
const maxBefore = 256

// redactJoined removes secrets from an event's text, also the rest of one that began in the
// previous text, because a foreign agent may send it in two halves.
func (e *receiver) redactJoined(event live.Event) string {
	before, clean := e.before, e.redact(event.Text)
	if event.Kind != live.Said {
		return clean
	}
	all := before + event.Text
	e.before = all[max(0, len(all)-maxBefore):]
	both := e.redact(all)
	if before == "" || both == e.redact(before)+clean {
		return clean
	}
	same := 0
	for same < min(len(before), len(both)) && before[same] == both[same] {
		same++
	}
	return strings.ToValidUTF8(both[same:], "")
}

// look reports dropped lines.
func (e *receiver) look() {
	leftOut := func(words string) {
		e.v.write(live.Event{Time: time.Now(), Unit: e.directive, Role: live.Host, Kind: live.LeftOut, Text: words})
	}
	if e.left > 0 {
		leftOut(fmt.Sprintf("%s left out: no events of the directive that is worked on", diag.Count(e.left, "line")))
		e.left = 0
	}
	if n := e.full.Swap(0); n > 0 {
		leftOut(fmt.Sprintf("%s left out: they came faster than they can be written down", diag.Count(int(n), "line")))
	}
}
