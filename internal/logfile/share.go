package logfile

import (
	"bytes"
	"fmt"
	"io"
	"sync"
	"time"
)

// Share limits what one source may write into a log shared with others: a burst in bytes, then
// bytes a minute. Lines beyond that are left out and counted, and at most once a minute a line
// gives the count. So no source can displace the lines of others.
type Share struct {
	Burst, PerMinute int // bytes
	// Told words the line that tells of lines left out; its line end is included.
	Told func(lines int) []byte
}

// Limited is one source's writer for a log. It is safe for concurrent use.
type Limited struct {
	out   io.Writer
	share Share

	mu      sync.Mutex
	room    int       // bytes that may be written yet
	since   time.Time // when room was last added to
	state   lineState
	left    int         // lines left out that nobody was told of
	telling *time.Timer // ends the minute in which a line was left out
	err     error       // of the log
}

// lineState is what becomes of the rest of a line.
type lineState int

const (
	begins lineState = iota // the next byte begins a line
	passes
	leftOut
)

// Limit makes a writer to out for one source.
func Limit(out io.Writer, share Share) *Limited {
	return &Limited{out: out, share: share, room: share.Burst, since: time.Now()}
}

// Text makes the line about omitted lines for a log that people read.
func Text(lines int) []byte { return fmt.Appendf(nil, "(%d lines left out)\n", lines) }

// JSON makes the line about a source's omitted lines for a log of JSON lines.
func JSON(source string) func(lines int) []byte {
	return func(lines int) []byte {
		return fmt.Appendf(nil, "{\"level\":\"warn\",\"source\":%q,\"lines\":%d,\"time\":%q,\"message\":\"lines left out\"}\n",
			source, lines, time.Now().Format(time.RFC3339))
	}
}

// Write passes on as much of p as the limit allows. It returns len(p), or the log's error.
func (l *Limited) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var pass []byte
	for rest := p; len(rest) > 0; {
		line := rest
		if i := bytes.IndexByte(rest, '\n'); i >= 0 {
			line = rest[:i+1]
		}
		rest = rest[len(line):]
		pass = l.add(pass, line)
	}
	if len(pass) > 0 {
		_, l.err = l.out.Write(pass)
	}
	return len(p), l.err
}

// add appends a line, or a part of one that the source has not ended, if there is room.
func (l *Limited) add(pass, line []byte) []byte {
	ended := line[len(line)-1] == '\n'
	if l.state != leftOut && l.take(len(line)) {
		pass, l.state = append(pass, line...), passes
	} else {
		if l.state == passes { // cut
			pass = append(pass, '\n')
		}
		if l.state != leftOut {
			l.left++
			l.tellLater()
		}
		l.state = leftOut
	}
	if ended {
		l.state = begins
	}
	return pass
}

// take reports whether there is room for n bytes, and takes it.
func (l *Limited) take(n int) bool {
	if minutes := int(time.Since(l.since) / time.Minute); minutes > 0 {
		l.since = l.since.Add(time.Duration(minutes) * time.Minute)
		l.room = min(l.share.Burst, l.room+min(minutes, l.share.Burst/l.share.PerMinute+1)*l.share.PerMinute)
	}
	if n > l.room {
		return false
	}
	l.room -= n
	return true
}

// tellLater tells of what is left out when the present minute is over.
func (l *Limited) tellLater() {
	if l.telling == nil {
		l.telling = time.AfterFunc(time.Until(l.since.Add(time.Minute)), func() { l.Flush() })
	}
}

// Flush writes the count of omitted lines now. Call it at the end of the source, too.
func (l *Limited) Flush() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.telling != nil {
		l.telling.Stop()
		l.telling = nil
	}
	if l.left == 0 {
		return l.err
	}
	told := l.share.Told(l.left)
	l.left = 0
	if l.state == passes {
		told = append([]byte{'\n'}, told...)
	}
	_, err := l.out.Write(told)
	return err
}
