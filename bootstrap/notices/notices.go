// Package notices reports to the PM in COMMS.md what the watcher did, once for each incident,
// and retries until the report is delivered (BOOT-4).
package notices

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"git-ward/internal/diag"
	"git-ward/internal/pattern"
	"git-ward/protocols/comms"
)

// Notice is one report to the PM.
type Notice struct {
	Status comms.Status `json:"status"` // FALLBACK, ROLLBACK or GUARD
	Kind   string       `json:"kind"`   // kind of incident; one with the same Kind and Code is told once, "" always
	Code   string       `json:"code"`   // the program; another one makes another incident
	Branch string       `json:"branch"`
	ID     string       `json:"id"` // in the report's text, so that COMMS.md has it once; if "", Tell makes one
	Text   string       `json:"text"`
	Count  int          `json:"count,omitzero"` // how often it happened, if more than once
	Hold   bool         `json:"-"`              // likely to repeat soon: wait, and count the repetitions
}

var directiveBranch = pattern.New(`^agent/(D-[1-9][0-9]*)$`)

// Directive returns the directive of the notice's branch, "-" for none. only is the directive that the
// watcher works for, "" for any. For another directive it also returns "-", because a signal may name any
// branch.
func (n Notice) Directive(only string) string {
	if m := directiveBranch.FindStringSubmatch(n.Branch); m != nil && (only == "" || m[1] == only) {
		return m[1]
	}
	return "-"
}

// Record is the state that must outlive the watcher.
type Record struct {
	Told   map[string]string `json:"told,omitzero"`   // incidents that the PM was told of: kind -> code
	Again  map[string]int    `json:"again,omitzero"`  // repetitions since then: kind -> number
	Unsent []Notice          `json:"unsent,omitzero"` // notices not yet delivered, the newest last
	Untold int               `json:"untold,omitzero"` // incidents that were dropped
}

const (
	// maxTold bounds the kinds of incidents that are remembered, because the agent chooses
	// some of their names. Beyond it all are forgotten, and burst bounds the notices.
	maxTold = 50
	// maxUnsent bounds the undelivered notices; the newest stay.
	maxUnsent = 20
	// burst notices are sent at once, and then one every refill: COMMS.md holds some hundreds
	// and is for people. The others are counted, and their number is reported.
	burst  = 12
	refill = 10 * time.Minute
	// hold is how long a notice waits for others of its kind, to be merged with them.
	hold = 15 * time.Second
	// firstPause is the pause after a failed delivery; each further one doubles.
	firstPause = time.Second
)

// Notices collects and delivers notices.
type Notices struct {
	Record *Record
	Save   func() // saves Record
	// Report pushes a notice as a report. Two notices with the same ID are one report.
	Report   func(context.Context, Notice) error
	MaxPause time.Duration    // between two attempts
	Now      func() time.Time // the wall clock, for IDs
	Log      zerolog.Logger

	failed time.Time            // the last attempt, on the monotonic clock
	pause  time.Duration        // 0 after a success
	held   map[string]time.Time // until when notices wait, by ID
	tokens float64
	filled time.Time // when tokens was last computed; zero at first
}

// Tell keeps a notice until it is delivered. Until Forget, further notices with the same Kind and Code are
// the same incident: they are counted, not told.
func (t *Notices) Tell(n Notice) {
	defer t.Save()
	if n.Kind != "" && t.again(n) {
		return
	}
	if !t.may() {
		t.Record.Untold++
		t.Log.Warn().Str("status", string(n.Status)).Str("text", diag.Clean(n.Text)).Msg("too much for the PM; counted")
		return
	}
	if n.Kind != "" {
		t.remember(n)
	}
	t.queue(n)
}

// queue appends a notice to the undelivered ones.
func (t *Notices) queue(n Notice) {
	if n.ID == "" {
		n.ID = t.Now().UTC().Format("20060102T150405Z") + "-" + strings.ToLower(rand.Text()[:6])
	}
	t.Record.Unsent = append(t.Record.Unsent, n)
	if over := len(t.Record.Unsent) - maxUnsent; over > 0 {
		t.Record.Unsent = t.Record.Unsent[over:]
		t.Record.Untold += over
	}
	if n.Hold {
		if t.held == nil {
			t.held = map[string]time.Time{}
		}
		t.held[n.ID] = time.Now().Add(hold)
	}
	t.Log.Warn().Str("status", string(n.Status)).Str("incident", n.ID).Str("text", diag.Clean(n.Text)).Msg("for the PM")
}

// again counts a repeated incident that the PM knows of, or will know when the queue is
// delivered.
func (t *Notices) again(n Notice) bool {
	if code, told := t.Record.Told[n.Kind]; !told || code != n.Code {
		return false
	}
	for i := range t.Record.Unsent {
		if u := &t.Record.Unsent[i]; u.Kind == n.Kind && u.Code == n.Code {
			u.Count = max(u.Count, 1) + 1
			return true
		}
	}
	if t.Record.Again == nil {
		t.Record.Again = map[string]int{}
	}
	t.Record.Again[n.Kind]++
	t.Log.Warn().Str("incident", n.Kind).Int("times", t.Record.Again[n.Kind]).Msg("again; the PM knows")
	return true
}

// remember marks an incident as told.
func (t *Notices) remember(n Notice) {
	if t.Record.Told == nil || len(t.Record.Told) >= maxTold {
		t.close()
		t.Record.Told = map[string]string{}
	}
	t.Record.Told[n.Kind] = n.Code
}

// close reports, in one notice, how often each told incident happened since.
func (t *Notices) close() {
	if len(t.Record.Again) == 0 {
		return
	}
	var list []string
	for _, kind := range slices.Sorted(maps.Keys(t.Record.Again)) {
		list = append(list, fmt.Sprintf("`%s` %d times", diag.Clean(kind), t.Record.Again[kind]))
	}
	t.Record.Again = nil
	t.queue(Notice{Status: comms.Info, Text: "Incidents that were told happened again since, and this is over: " + strings.Join(list, ", ") + "."})
}

// may takes a token, and reports whether there was one.
func (t *Notices) may() bool {
	now := time.Now()
	if t.filled.IsZero() {
		t.tokens = burst
	} else {
		t.tokens = min(burst, t.tokens+float64(now.Sub(t.filled))/float64(refill))
	}
	t.filled = now
	if t.tokens < 1 {
		return false
	}
	t.tokens--
	return true
}

// Told reports whether the PM knows of an incident of a kind.
func (t *Notices) Told(kind string) bool {
	_, told := t.Record.Told[kind]
	return told
}

// Forget ends all incidents after a good run. It tells the number of repetitions of each incident.
func (t *Notices) Forget() {
	if len(t.Record.Told) > 0 {
		t.close()
		t.Record.Told = nil
		t.Save()
	}
}

// Deliver reports the waiting notices in order. After a failure, the rest waits, and the pause before the
// next attempt doubles.
func (t *Notices) Deliver(ctx context.Context) {
	if time.Since(t.failed) < t.pause {
		return
	}
	for t.sum(); len(t.Record.Unsent) > 0 && ctx.Err() == nil; t.sum() {
		n := t.Record.Unsent[0]
		if time.Now().Before(t.held[n.ID]) {
			return
		}
		if err := t.Report(ctx, n.counted()); err != nil {
			t.failed, t.pause = time.Now(), min(max(firstPause, 2*t.pause), t.MaxPause)
			t.Log.Error().Err(err).Str("retry", t.pause.String()).Msg("the report is not delivered")
			return
		}
		delete(t.held, n.ID)
		t.Record.Unsent, t.pause = t.Record.Unsent[1:], 0
		t.Save()
	}
}

// sum turns the dropped notices into one notice with their number. It goes last, so that it
// takes no other notice's token.
func (t *Notices) sum() {
	if len(t.Record.Unsent) > 0 || t.Record.Untold == 0 || !t.may() {
		return
	}
	t.queue(Notice{Status: comms.Guard, Text: fmt.Sprintf(
		"%d further incidents were too many to be told one by one; logs/watcher.log has them.", t.Record.Untold)})
	t.Record.Untold = 0
	t.Save()
}

// Flush is the last Deliver. It also sends notices that were held to count repetitions.
func (t *Notices) Flush(ctx context.Context) {
	t.held = nil
	t.Deliver(ctx)
}

// counted is a notice whose text says how often it happened.
func (n Notice) counted() Notice {
	if n.Count > 1 {
		n.Text += fmt.Sprintf(" It happened %d times by now; what follows of the same is counted, and told when it is over.", n.Count)
	}
	return n
}
