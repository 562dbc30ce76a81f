package program

import (
	"fmt"
	"strings"

	"git-ward/agent/preset"
	"git-ward/internal/diag"
)

const (
	maxTranscript = 48 << 10 // bytes, half of its beginning and half of its end
	maxEvent      = 2 << 10  // bytes of one call's arguments, or of an answer
)

// transcript is what a command said and did, in the order of its stream, for people. Of a
// long one the middle is left out, and said.
type transcript struct {
	head strings.Builder
	tail []byte // at most twice as long as is kept
	lost int
}

// add takes one event.
func (t *transcript) add(e preset.Event) {
	text := diag.CleanLines(cut(strings.TrimSpace(e.Text)))
	switch e.Kind {
	case preset.Called:
		t.write(fmt.Sprintf("> %s %s\n", diag.Clean(e.Tool), text))
	case preset.Answered:
		word := "<"
		if e.Failed {
			word = "< failed:"
		}
		t.write(word + " " + strings.ReplaceAll(text, "\n", "\n  ") + "\n")
	default:
		t.write("\n" + text + "\n\n")
	}
}

// cut shortens an event, and says so.
func cut(text string) string {
	if len(text) <= maxEvent {
		return text
	}
	return fmt.Sprintf("%s [%d bytes left out]", diag.Cut(text, maxEvent), len(text)-maxEvent)
}

func (t *transcript) write(text string) {
	if t.head.Len()+len(text) <= maxTranscript/2 && len(t.tail) == 0 {
		t.head.WriteString(text)
		return
	}
	t.tail = append(t.tail, text...)
	if over := len(t.tail) - maxTranscript/2; over > maxTranscript/2 {
		t.lost += over
		t.tail = append(t.tail[:0], t.tail[over:]...)
	}
}

// text is all that is kept.
func (t *transcript) text() string {
	tail, lost := t.tail, t.lost
	if over := len(tail) - maxTranscript/2; over > 0 {
		tail, lost = tail[over:], lost+over
	}
	if lost == 0 {
		return t.head.String() + string(tail)
	}
	// The rest of a line that was cut says nothing.
	_, lines, _ := strings.Cut(strings.ToValidUTF8(string(tail), ""), "\n")
	return fmt.Sprintf("%s\n[%d bytes left out]\n\n%s", t.head.String(), lost, lines)
}
