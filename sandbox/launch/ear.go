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

// ear is what is heard of one worker. A worker that tells more than anybody can write down
// loses its own words alone.
type ear struct {
	v         *lives
	redact    func(string) string // its own: what one worker's words cost to search, no other waits for
	directive string              // that it works on
	holds     func() bool         // reports whether it has that still, by its lease
	waits     func(bool)          // is told when the worker only waits, by its own word, and when it works

	queue chan []byte  // lines of the agent's
	full  atomic.Int64 // how many had no room in it
	enough,
	ended chan struct{}

	before string // the end of the words that were told last
	left   int    // lines that were no events, or too many, since they were told of
}

// listen begins to hear a worker on a directive. Close it.
func (v *lives) listen(directive string, holds func() bool, waits func(bool)) *ear {
	e := &ear{v: v, directive: directive, holds: holds, waits: waits, queue: make(chan []byte, livesQueue), enough: make(chan struct{}), ended: make(chan struct{})}
	if v.redact != nil {
		e.redact = v.redact()
	}
	v.mu.Lock()
	v.ears = append(v.ears, e)
	v.mu.Unlock()
	go e.run()
	return e
}

// heard takes a line of the agent's, and never waits.
func (e *ear) heard(line []byte) []byte {
	select {
	case e.queue <- slices.Clone(line):
	default:
		e.full.Add(1)
	}
	return nil
}

// tell takes an event of the host's on what the worker works on.
func (e *ear) tell(event live.Event) {
	event.Unit = e.directive
	e.v.tell(event)
}

func (e *ear) run() {
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

// close writes down what waits, and hears no more.
func (e *ear) close() {
	close(e.enough)
	<-e.ended
	e.v.mu.Lock()
	defer e.v.mu.Unlock()
	e.look()
	e.v.ears = slices.DeleteFunc(e.v.ears, func(other *ear) bool { return other == e })
}

// take takes what an agent tells, where it is an event of what is worked on.
func (e *ear) take(line []byte) {
	event, err := live.FromAgent(line)
	if e.note(event, err) {
		e.waits(event.Kind == live.Waits)
	}
}

// note writes an event down; false where it is none of what is worked on, or only a sign of life.
func (e *ear) note(event live.Event, err error) bool {
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

// heeds notes a sign of life for the event's directive; false where that is not worked on.
func (e *ear) heeds(event *live.Event, err error) bool {
	works := err == nil && event.Directive() == e.directive && e.holds() // before the lock: it may read the lease
	e.v.mu.Lock()
	defer e.v.mu.Unlock()
	if !works {
		e.left++
		return false
	}
	now := time.Now()
	if event.Time.Sub(now).Abs() > time.Minute { // its clock is its own
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

// maxBefore is how much of the words before is looked at with the next ones, in bytes: more
// than half of any secret that is told by its form.
const maxBefore = 256

// redactJoined takes secrets out of an event's text, and the rest of one that began in the
// words before it: an agent that is not ours may tell it by halves.
func (e *ear) redactJoined(event live.Event) string {
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

// look tells what was left out.
func (e *ear) look() {
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
