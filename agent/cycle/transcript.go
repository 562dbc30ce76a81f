package cycle

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"git-ward/agent/interaction"
	"git-ward/agent/stop"
	"git-ward/agent/store"
	"git-ward/internal/diag"
	"git-ward/protocols/loop"
	"git-ward/protocols/uow"
)

// took records a Solver's result.
func (r *run) took(done interaction.Done) {
	r.count(done.Tally.Calls)
	r.now.tally.Turns += done.Tally.Turns
	r.now.tally.Usage.Add(done.Tally.Usage)
	if done.Transcript != "" {
		r.now.transcript = loop.CutTranscript(strings.TrimPrefix(r.now.transcript+"\n\n"+done.Transcript, "\n\n"))
	}
	r.now.result.Words = r.deps.Work.Redact(done.Words)
}

// transcript is the current iteration's transcript for the record, by file name; nothing
// without one. The final bytes are redacted.
func (r *run) transcript() map[string][]byte {
	n := r.counted(r.now.brief.Iteration)
	if r.now.transcript == "" {
		return nil
	}
	text := "[not kept: the transcripts of the unit's earlier iterations are as large as they may be]"
	if loop.KeepsTranscript(n) {
		text = loop.CutTranscript(diag.CleanLines(r.deps.Work.Redact(r.now.transcript)))
	}
	name := loop.TranscriptFile
	if r.now.left {
		name = loop.TranscriptPart(1 + r.times())
	}
	return map[string][]byte{r.path(r.now.brief.Iteration, name): []byte(strings.TrimRight(text, "\n") + "\n")}
}

// times is how often the iteration in progress was interrupted, by the journal.
func (r *run) times() (n int) {
	for _, rec := range slices.Backward(r.deps.Journal.Records) {
		if rec.Event == uow.Iterate {
			break
		}
		for _, in := range waits {
			if rec.ReasonCode == in.Reason {
				n++
			}
		}
	}
	return n
}

// KeepWords commits the transcript of a killed run for the newest iteration of an ended unit, because no
// later run will.
func KeepWords(ctx context.Context, w *store.Work, j *store.Journal, words string) error {
	n := int(j.Last().Iteration) - 1
	if words == "" || n < 0 {
		return nil
	}
	r := &run{deps: &Loop{Work: w, Journal: j}}
	r.now = iteration{brief: Brief{Iteration: n}, transcript: words, left: true}
	return r.commit(ctx, fmt.Sprintf("loop: what was said in iteration %d until its end", n), r.transcript(), r.iterationTrailer(n))
}

// putTranscript commits an interrupted iteration's transcript.
func (r *run) putTranscript(ctx context.Context) error {
	r.now.left = true
	n := r.now.brief.Iteration
	files := r.transcript()
	if len(files) == 0 {
		return nil
	}
	return r.commit(ctx, fmt.Sprintf("loop: iteration %d is left for now", n), files, r.iterationTrailer(n))
}

// forget replaces the transcript by a note if the remote refuses it, so that it does not prevent the claim.
func (r *run) forget(refused *stop.Stop) bool {
	if r.now.transcript == "" || r.now.forgotten || len(refused.Findings) == 0 {
		return false
	}
	for _, f := range refused.Findings {
		if !strings.HasPrefix(f.Pos.Path, r.path(r.now.brief.Iteration, "transcript")) {
			return false
		}
	}
	r.now.forgotten = true
	r.now.transcript = "[not kept: the remote refused it: " + refused.Findings[0].Rule + "]"
	r.deps.Log.Warn().Str("findings", refused.Output).Msg("the transcript was refused; it is left out")
	return true
}
