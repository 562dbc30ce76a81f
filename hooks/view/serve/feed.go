package serve

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"sync"
	"time"

	"git-ward/internal/pattern"
)

const (
	look      = time.Second      // the polling interval while there is a stream
	beat      = 15 * time.Second // the interval of events that keep clients and proxies from closing a quiet stream
	slow      = 5 * time.Second  // the timeout for a client that does not read
	reconnect = 3000             // milliseconds after which a browser reconnects
)

// feed shares one poll of the repository among all streams: 1,000 streams cost as much as one.
// A slow stream only gets the latest.
type feed struct {
	version func(context.Context) (string, error)

	mu      sync.Mutex
	streams int
	now     string        // the last event, as it is sent
	moved   chan struct{} // closed when now changes
}

// run polls while there is a stream, until ctx ends.
func (f *feed) run(ctx context.Context) {
	tick := time.NewTicker(look)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		f.mu.Lock()
		idle := f.streams == 0
		f.mu.Unlock()
		if !idle {
			f.look(ctx)
		}
	}
}

func (f *feed) look(ctx context.Context) {
	version, err := f.version(ctx)
	event := "event: gone\ndata: gone\n\n"
	if err == nil {
		event = fmt.Sprintf("event: version\ndata: %s\nid: %[1]s\n\n", word(version))
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if event != f.now && ctx.Err() == nil {
		f.now = event
		close(f.moved)
		f.moved = make(chan struct{})
	}
}

// plainWord is a version that needs no quoting on the wire.
var plainWord = pattern.New(`^[0-9A-Za-z._:+-]{1,200}$`)

func word(version string) string {
	if plainWord.MatchString(version) {
		return version
	}
	sum := sha256.Sum256([]byte(version))
	return hex.EncodeToString(sum[:])
}

// state is the current event, and a channel that is closed at the next one.
func (f *feed) state() (string, <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.now, f.moved
}

func (f *feed) join() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.streams >= maxStreams {
		return false
	}
	f.streams++
	return true
}

func (f *feed) leave() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.streams--
}

// stream writes events until the client leaves, the server stops, or allowed returns false.
func (f *feed) stream(done context.Context, w http.ResponseWriter, r *http.Request, allowed func() bool) {
	rc := http.NewResponseController(w)
	rc.SetReadDeadline(time.Time{}) // the deadline of a request would end the stream
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	send := func(text string) bool {
		rc.SetWriteDeadline(time.Now().Add(slow))
		_, err := fmt.Fprint(w, text)
		return err == nil && rc.Flush() == nil
	}
	if !send(fmt.Sprintf("retry: %d\n\n", reconnect)) {
		return
	}
	f.look(r.Context()) // a version at most a second old costs nothing
	pulse := time.NewTicker(beat)
	defer pulse.Stop()
	told := ""
	for allowed() {
		event, moved := f.state()
		if event != told && !send(event) {
			return
		}
		told = event
		select {
		case <-moved:
		case <-pulse.C:
			if !send(":\n\n") {
				return
			}
		case <-r.Context().Done():
			return
		case <-done.Done():
			return
		}
	}
}
