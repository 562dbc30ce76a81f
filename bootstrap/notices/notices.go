// Package notices tells the PM, by reports in COMMS.md, what the watcher did: once
// for each incident, and for as long as it takes until the report is delivered
// (BOOT-4).
package notices

import (
	"context"
	"crypto/rand"
	"regexp"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"git-ward/internal/diag"
	"git-ward/protocols/comms"
)

// Notice is something that the PM is told.
type Notice struct {
	Status comms.Status `json:"status"` // FALLBACK, ROLLBACK or GUARD
	Kind   string       `json:"kind"`   // of incident, with which it is told once; "" is told always
	Code   string       `json:"code"`   // with which it is another incident
	Branch string       `json:"branch"`
	ID     string       `json:"id"` // in the report, so that a repeated push does not repeat it
	Text   string       `json:"text"`
}

var directiveBranch = regexp.MustCompile(`^agent/(D-[1-9][0-9]*)$`)

// Directive is the directive whose branch it is about, "-" for none.
func (n Notice) Directive() string {
	if m := directiveBranch.FindStringSubmatch(n.Branch); m != nil {
		return m[1]
	}
	return "-"
}

// Record is what has to outlive the watcher.
type Record struct {
	Told   map[string]string `json:"told,omitzero"`   // incidents that the PM knows of: kind -> code
	Unsent []Notice          `json:"unsent,omitzero"` // what the PM has to be told, the newest last
}

const (
	// maxTold bounds the kinds of incidents that are told before a run went well: some
	// have names that the agent chooses.
	maxTold = 50
	// maxUnsent bounds what waits; the newest stay.
	maxUnsent = 20
	// firstPause is the pause after a report that could not be delivered; each further
	// one is twice as long.
	firstPause = time.Second
)

// Notices tells and delivers.
type Notices struct {
	Record *Record
	Save   func() // writes the record down
	// Report pushes a notice as a report; one with the same ID twice is one report.
	Report   func(context.Context, Notice) error
	MaxPause time.Duration    // between two attempts
	Now      func() time.Time // the wall clock, for IDs
	Log      zerolog.Logger

	failed time.Time     // the last attempt, on the monotonic clock
	pause  time.Duration // 0 after one that went well
}

// Tell remembers a notice until it is delivered. One incident is told once: the
// same kind again with the same code is the same incident, until Forget.
func (t *Notices) Tell(n Notice) {
	if n.Kind != "" {
		if code, told := t.Record.Told[n.Kind]; told && code == n.Code || len(t.Record.Told) > maxTold {
			t.Log.Warn().Str("incident", n.Kind).Msg("again; the PM knows")
			return
		}
		if t.Record.Told == nil {
			t.Record.Told = map[string]string{}
		}
		t.Record.Told[n.Kind] = n.Code
	}
	n.ID = t.Now().UTC().Format("20060102T150405Z") + "-" + strings.ToLower(rand.Text()[:6])
	t.Record.Unsent = append(t.Record.Unsent, n)
	t.Record.Unsent = t.Record.Unsent[max(0, len(t.Record.Unsent)-maxUnsent):]
	t.Save()
	t.Log.Warn().Str("status", string(n.Status)).Str("incident", n.ID).Str("text", diag.Clean(n.Text)).Msg("for the PM")
}

// Forget ends all incidents: a run went well, and what happens from now on is new.
func (t *Notices) Forget() {
	if len(t.Record.Told) > 0 {
		clear(t.Record.Told)
		t.Save()
	}
}

// Deliver reports what waits, in its order. What cannot be delivered now waits for
// the next time, with more and more time between.
func (t *Notices) Deliver(ctx context.Context) {
	if time.Since(t.failed) < t.pause {
		return
	}
	for len(t.Record.Unsent) > 0 && ctx.Err() == nil {
		if err := t.Report(ctx, t.Record.Unsent[0]); err != nil {
			t.failed, t.pause = time.Now(), min(max(firstPause, 2*t.pause), t.MaxPause)
			t.Log.Error().Err(err).Str("retry", t.pause.String()).Msg("the report is not delivered")
			return
		}
		t.Record.Unsent, t.pause = t.Record.Unsent[1:], 0
		t.Save()
	}
}
