package serve

import (
	"sync"
	"time"

	"git-ward/internal/diag"
)

// quiet is how long lines of one kind are suppressed, because clients can cause them at will.
const quiet = time.Minute

// teller prints lines on the owner's terminal.
type teller struct {
	say func(string)

	mu   sync.Mutex
	last map[string]time.Time
}

// line prints a line, at most once a minute for each kind. The kinds are this package's own.
func (t *teller) line(kind, text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	if t.last == nil {
		t.last = map[string]time.Time{}
	}
	if at, ok := t.last[kind]; ok && now.Sub(at) < quiet {
		return
	}
	t.last[kind] = now
	t.say(diag.Clean(text))
}

// always prints a line without this limit; the caller limits the rate.
func (t *teller) always(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.say(diag.Clean(text))
}
