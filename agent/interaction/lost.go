package interaction

import (
	"fmt"
	"time"

	"git-ward/internal/live"
	"git-ward/internal/runstate"
	"git-ward/protocols/uow"
)

// maxLost is the most events of an iteration that are read again.
const maxLost = 4000

// LostWords is the transcript of what was told of a journal's iteration in progress by runs
// before this one that could not leave theirs on the record: they were killed, paused, or
// their container is gone (SEE-1). The host keeps it below dir, as they told it. It is ""
// where nothing was, or the agent has left it there since.
func LostWords(dir string, journal []*uow.Record) string {
	var since time.Time
	for _, r := range journal {
		if at, err := time.Parse(time.RFC3339, r.Time); err == nil && r.Actor == uow.Agent && !silent(r) {
			since = at
		}
	}
	if dir == "" || since.IsZero() {
		return ""
	}
	last := journal[len(journal)-1]
	id, err := uow.ParseID(last.ID)
	if err != nil {
		return ""
	}
	events, err := runstate.Tail(dir, id.Directive, maxLost)
	if err != nil {
		return ""
	}
	t, role, n := Transcript{}, "", 0
	for _, e := range events {
		if e.Unit != last.ID || e.Iteration != last.Iteration || e.Time.Before(since) || e.Role == live.Host {
			continue
		}
		if e.Role != role && e.Role != "" {
			role = e.Role
			t.Begins(role)
		}
		if t.again(e) {
			n++
		}
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("[the work was interrupted, and who worked could leave no transcript: this is what the host heard until then]\n%s\n[here it was interrupted]", t.Text())
}

// silent reports whether an agent's step has no transcript: it resumes or interrupts an
// iteration as it is, so that earlier text still counts.
func silent(r *uow.Record) bool {
	switch r.Event {
	case uow.Retry, uow.Clarify, uow.Approve, uow.Exhaust, uow.Refine, uow.Archive:
		return true
	}
	switch r.ReasonCode {
	case uow.Stale, uow.Stopped, uow.PulseIsDue, uow.DirectiveChanged, uow.DirectiveGone:
		return true
	}
	return false
}

// again adds an event that was reported before; false if it is no part of a transcript.
func (t *Transcript) again(e live.Event) bool {
	switch e.Kind {
	case live.Told:
		t.Told(e.Text)
	case live.Said:
		t.Said(e.Text)
	case live.Called:
		t.Called(e.Tool, e.Text)
	case live.Answered, live.Failed:
		t.Answered(e.Tool, "", e.Text, e.Kind == live.Failed)
	case live.Step:
		t.Ran(e.Tool, e.Text)
	default:
		return false
	}
	return true
}
