package interaction

import (
	"fmt"
	"strings"

	"git-ward/agent/model"
	"git-ward/internal/diag"
	"git-ward/internal/live"
	"git-ward/protocols/loop"
)

const (
	maxEvent  = 2 << 10 // kept bytes of one event
	maxFailed = 50      // failed tool calls, the newest
	half      = loop.MaxTranscript/2 - 128
)

// Transcript records for people what a worker was told, said and did, in order. Each event is
// cleaned and cut, and a long transcript leaves out its middle and says so. It is not safe for
// concurrent use; a nil Transcript records nothing.
type Transcript struct {
	Redact func(string) string // removes secrets, before anything is cut; may be nil
	Live   *Live               // gets each event; may be nil

	head   strings.Builder
	tail   []byte // at most twice the kept length
	lost   int
	failed []string
	used   model.Usage // so far
}

// Begins sets the worker of later events.
func (t *Transcript) Begins(role string) {
	if t != nil {
		t.Live.Begins(role)
		t.write("\n== " + role + " ==\n")
	}
}

// Told records what the worker was told.
func (t *Transcript) Told(text string) {
	if t != nil {
		text = t.event(text)
		t.Live.Tell(live.Event{Kind: live.Told, Text: text})
		t.write("\n* " + indented(text) + "\n\n")
	}
}

// Said records the worker's words.
func (t *Transcript) Said(text string) {
	if t != nil {
		text = t.event(text)
		t.Live.Tell(live.Event{Kind: live.Said, Text: text})
		t.write("\n" + text + "\n\n")
	}
}

// Called records the start of a tool call.
func (t *Transcript) Called(tool, args string) {
	if t != nil {
		args = t.event(args)
		t.Live.Tell(live.Event{Kind: live.Called, Tool: tool, Text: args})
		t.write(fmt.Sprintf("> %s %s\n", diag.Clean(tool), args))
	}
}

// Answered records a tool call's result.
func (t *Transcript) Answered(tool, args, text string, failed bool) {
	if t == nil {
		return
	}
	word, kind := "< ", live.Answered
	text = t.event(text)
	if failed {
		word, kind = "< failed: ", live.Failed
		first, _, _ := strings.Cut(text, "\n")
		t.failed = append(t.failed, diag.Cut(diag.Clean(tool)+" "+t.event(args), 200)+": "+diag.Cut(first, 200))
		t.failed = t.failed[max(0, len(t.failed)-maxFailed):]
	}
	t.Live.Tell(live.Event{Kind: kind, Tool: tool, Text: text})
	t.write(word + indented(text) + "\n")
}

// Ran records a finished step of a plan.
func (t *Transcript) Ran(step, text string) {
	if t != nil {
		text = t.event(text)
		t.Live.Tell(live.Event{Kind: live.Step, Tool: step, Text: text})
		t.write(fmt.Sprintf("> %s \n< %s\n", diag.Clean(step), indented(text)))
	}
}

// Used records the tokens used since its last call.
func (t *Transcript) Used(more model.Usage) {
	if t != nil && more != (model.Usage{}) {
		t.used.Add(more)
		t.Live.Tell(live.Event{Kind: live.Tokens, Input: t.used.Input, Output: t.used.Output})
	}
}

// Failed lists the failed tool calls in words, the newest last.
func (t *Transcript) Failed() []string {
	if t == nil {
		return nil
	}
	return t.failed
}

// event is an event's kept text. Redaction sees more than the kept part, so that a secret
// across the cut is recognised.
func (t *Transcript) event(text string) string {
	whole := len(text)
	text = diag.CleanLines(strings.ToValidUTF8(text[:min(whole, 4*maxEvent)], ""))
	if t.Redact != nil {
		text = t.Redact(text)
	}
	if text = strings.TrimSpace(text); len(text) <= maxEvent && whole <= 4*maxEvent {
		return text
	}
	return fmt.Sprintf("%s [%d bytes in all]", diag.Cut(text, maxEvent), whole)
}

func indented(text string) string { return strings.ReplaceAll(text, "\n", "\n  ") }

func (t *Transcript) write(text string) {
	if t.head.Len()+len(text) <= half && len(t.tail) == 0 {
		t.head.WriteString(text)
		return
	}
	t.tail = append(t.tail, text...)
	if over := len(t.tail) - half; over > half {
		t.lost += over
		t.tail = append(t.tail[:0], t.tail[over:]...)
	}
}

// Text is the transcript, at most loop.MaxTranscript bytes.
func (t *Transcript) Text() string {
	if t == nil {
		return ""
	}
	tail, lost := t.tail, t.lost
	if over := len(tail) - half; over > 0 {
		tail, lost = tail[over:], lost+over
	}
	if lost == 0 {
		return t.head.String() + string(tail)
	}
	// The rest of a cut line is meaningless.
	cut, lines, _ := strings.Cut(strings.ToValidUTF8(string(tail), ""), "\n")
	return fmt.Sprintf("%s\n[%d bytes left out]\n\n%s", t.head.String(), lost+len(cut), lines)
}
