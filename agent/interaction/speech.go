package interaction

import (
	"bytes"
	"strings"
	"sync"
	"time"
)

const (
	// speechDelay is how long text waits for more, so that it comes in readable pieces, within
	// a second.
	speechDelay = 400 * time.Millisecond
	// maxPart is how long a part of a word may be that is sent before the word's end, in
	// bytes: secrets are longer.
	maxPart = 15
	// maxHeld bounds the text that waits for its end, in bytes.
	maxHeld = 4 * maxEvent
)

// Speech is words that come in pieces of any size, as a program prints them: they are told
// by whole words where that can be, and no secret is told by halves. It is a writer that
// never fails and never waits. Close it.
type Speech struct {
	say    func(text string)
	redact func(string) string // may be nil
	delay  time.Duration

	mu    sync.Mutex
	held  []byte
	part  string // the sent part of an unfinished word, at most maxHeld bytes
	timer *time.Timer
}

// NewSpeech makes a writer that sends what is written to it.
func NewSpeech(say func(text string), redact func(string) string) *Speech {
	return &Speech{say: say, redact: redact, delay: speechDelay}
}

// Write takes a piece.
func (s *Speech) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for rest := p; len(rest) > 0; {
		piece := rest[:min(len(rest), maxHeld)]
		rest = rest[len(piece):]
		if len(s.held)+len(piece) > maxHeld {
			s.tell(len(s.held))
		}
		s.held = append(s.held, piece...)
	}
	if s.timer == nil && len(s.held) > 0 {
		s.timer = time.AfterFunc(s.delay, s.due)
	}
	return len(p), nil
}

func (s *Speech) due() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.timer = nil
	s.tell(s.whole())
}

// whole is how much of the held text can be sent now.
func (s *Speech) whole() int {
	n := len(s.held)
	if i := bytes.LastIndex(s.held, []byte("-----BEGIN")); i >= 0 && !bytes.Contains(s.held[i:], []byte("-----END")) {
		n = i // a key of several lines
	}
	if word := bytes.LastIndexAny(s.held[:n], " \t\n\r") + 1; n-word > maxPart {
		n = word
	}
	return n
}

// tell sends the first n held bytes. The caller has the lock.
func (s *Speech) tell(n int) {
	text, before := string(s.held[:n]), s.part
	s.held = append(s.held[:0], s.held[n:]...)
	if text == "" {
		return
	}
	s.part = (before + text)[strings.LastIndexAny(before+text, " \t\n\r")+1:]
	// For an unfinished word only its last bytes; otherwise each piece would be searched with
	// everything before it.
	s.part = s.part[max(0, len(s.part)-maxHeld):]
	if s.redact != nil {
		clean := s.redact(before + text)
		if rest, same := strings.CutPrefix(clean, before); same {
			clean = rest
		}
		text = clean
	}
	if strings.TrimSpace(text) != "" {
		s.say(text)
	}
}

// Close sends the rest.
func (s *Speech) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.timer != nil {
		s.timer.Stop()
	}
	s.tell(len(s.held))
	return nil
}
