package judge

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"git-ward/internal/await"
	"git-ward/internal/tier"
	"git-ward/protocols/loop"
	"git-ward/protocols/uow"
	"git-ward/sandbox/verifier"
)

// TestPausedVerdict: a verdict ends upon a pause, with what runs for it,
// and is made afresh when the unit is resumed (WORK-3).
func TestPausedVerdict(t *testing.T) {
	tier.First(t, "it judges many claims, or waits for the judge to rest")
	t.Parallel()
	mark := filepath.Join(t.TempDir(), "pids")
	c := newCourt(t, strings.Replace(asked, "sh check.sh", "sh check.sh && echo $$ >> "+mark+" && { test -e "+mark+".resumed || sleep 600; }", 1))
	var log bytes.Buffer
	c.Log = zerolog.New(&log)
	var steps []verifier.Step
	c.Progress = func(_ string, s verifier.Step) { steps = append(steps, s) }
	c.write("answer", "42\n")
	c.claim()
	claim := c.last
	judged := make(chan bool)
	go func() { judged <- c.judgeOpen() }()
	await.True(t, "the command runs", func() bool { _, err := os.Stat(mark); return err == nil })
	c.step(uow.Input{Event: uow.Pause, Reason: "PILOT_HOLD", Actor: uow.PM})
	await.Value(t, "the verdict's end", judged) // of a command that would take ten minutes
	if !strings.Contains(log.String(), "put off") || strings.Contains(log.String(), "cannot be judged") {
		t.Error(log.String())
	}
	if ref := c.host("for-each-ref", loop.VerdictsRef); ref != "" {
		t.Fatal("there is a verdict: " + ref)
	}
	if err := os.WriteFile(mark+".resumed", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	c.step(uow.Input{Event: uow.Resume, Reason: "HOLD_LIFTED", Actor: uow.PM})
	c.judgeOpen()
	if v := c.verdicts(claim.Claim.Commit); len(v) != 1 || v[0].Verdict != loop.Exact || v[0].Claim != claim.Hash {
		t.Errorf("%+v", v)
	}
	if last := steps[len(steps)-1]; last.Ended == nil {
		t.Errorf("%+v", last)
	}
}

// TestAttendedEnds: what watches a unit ends with its verdict.
func TestAttendedEnds(t *testing.T) {
	c := newCourt(t, asked)
	c.claim()
	ctx, done := c.attend(t.Context(), request{c.last, ""})
	done()
	if context.Cause(ctx) != context.Canceled {
		t.Error(context.Cause(ctx))
	}
}

// TestPausedInLine: a claim whose unit is paused while it waits for the verdicts before
// its own is not begun with.
func TestPausedInLine(t *testing.T) {
	tier.First(t, "it judges many claims, or waits for the judge to rest")
	t.Parallel()
	mark := filepath.Join(t.TempDir(), "ran")
	c := newCourt(t, strings.Replace(asked, "sh check.sh", "sh check.sh && touch "+mark, 1))
	c.write("answer", "42\n")
	c.claim()
	claim := c.last
	c.step(uow.Input{Event: uow.Pause, Reason: "PILOT_HOLD", Actor: uow.PM})
	if err := c.judge(t.Context(), request{claim, ""}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(mark); err == nil || c.host("for-each-ref", loop.VerdictsRef) != "" {
		t.Error("a paused unit's claim was judged")
	}
}
