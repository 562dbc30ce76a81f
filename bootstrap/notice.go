package bootstrap

import (
	"bytes"
	"context"
	"crypto/rand"
	"regexp"
	"strings"
	"time"

	"git-ward/internal/diag"
)

// notice is something that the PM is told, once, by a report in COMMS.md.
type notice struct {
	Status string `json:"status"` // FALLBACK, ROLLBACK or GUARD
	Kind   string `json:"kind"`   // of incident, with which it is told once; "" is told always
	Code   string `json:"code"`   // with which it is another incident
	Branch string `json:"branch"`
	ID     string `json:"id"` // in the report, so that a repeated push does not repeat it
	Text   string `json:"text"`
}

// pushTime bounds a push of a report: the agent waits for it.
const pushTime = 2 * time.Minute

// maxTold bounds the kinds of incidents that are told before a run went well: some
// have names that the agent chooses.
const maxTold = 50

// tell remembers a notice until it is delivered. One incident is told once: the
// same kind again with the same code is the same incident, until a run went well.
func (w *watcher) tell(n notice) {
	if n.Kind != "" {
		if old, ok := w.state.Told[n.Kind]; ok && old == n.Code || len(w.state.Told) > maxTold {
			w.log.Warn().Str("incident", n.Kind).Msg("again; the PM knows")
			return
		}
		w.state.Told[n.Kind] = n.Code
	}
	n.ID = utc(w.now).Format("20060102T150405Z") + "-" + strings.ToLower(rand.Text()[:6])
	w.state.Unsent = append(w.state.Unsent, n)
	w.save()
	w.log.Warn().Str("status", n.Status).Str("incident", n.ID).Str("text", diag.Clean(n.Text)).Msg("for the PM")
}

var directiveBranch = regexp.MustCompile(`^agent/(D-[1-9][0-9]*)$`)

// deliver pushes the waiting reports, by the agent's own program and door, as the
// agent's user: the watcher has no right of its own in the repository. What
// cannot be delivered now waits for the next time.
func (w *watcher) deliver(ctx context.Context) {
	if len(w.state.Unsent) == 0 || time.Since(w.undelivered) < w.undeliveredPause {
		return
	}
	for len(w.state.Unsent) > 0 && ctx.Err() == nil {
		n := w.state.Unsent[0]
		directive := "-"
		if m := directiveBranch.FindStringSubmatch(n.Branch); m != nil {
			directive = m[1]
		}
		var out bytes.Buffer
		err := w.runAgent(ctx, job{dir: w.place.state, time: pushTime, stdin: n.Text, out: &out,
			args: append([]string{w.Agent, "report", "--status", n.Status, "--directive", directive, "--incident", n.ID}, w.repoArgs()...)})
		if err != nil {
			w.undelivered, w.undeliveredPause = time.Now(), min(max(time.Second, 2*w.undeliveredPause), w.Settings.Bootstrap.Check.Duration)
			w.log.Error().Err(err).Str("output", lastLines(out.String())).Str("retry", w.undeliveredPause.String()).Msg("the report is not delivered")
			return
		}
		w.state.Unsent, w.undeliveredPause = w.state.Unsent[1:], 0
		w.save()
	}
}
