package worker

import (
	"context"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"git-ward/internal/await"
	"git-ward/internal/config"
	"git-ward/protocols/loop"
	"git-ward/protocols/uow"
)

// TestLateWaitsForNobody: the report on a unit that somebody has ended reads the verdict that is noted.
// For a claim without a verdict it does not wait.
func TestLateWaitsForNobody(t *testing.T) {
	one, bare, git := newSingle(t)
	c := config.Default()
	c.Verify.Timeout.Duration, c.Agent.VerdictPatience.Duration = 24*time.Hour, 24*time.Hour // a wait would not end in this test
	one.deps.config = c
	b := &loopBench{t: t, bare: bare, unitRun: newUnitRun(one.deps, one.directive, nil, zerolog.Nop())}
	b.unit.journal = one.deps.store.NewJournal(uow.ID{Directive: "D-1", K: 1})
	b.unit.declare()
	b.past(git("", "rev-parse", "main"), 1)
	journals, err := b.unit.store.Journals(t.Context(), "D-1")
	check(t, err)
	b.unit.journal = journals[0]
	b.work, err = b.unit.store.Work(t.Context(), b.unit.directive)
	check(t, err)
	check(t, b.work.Begin(t.Context(), b.unit.journal, nil))

	claim := b.unit.journal.Claimed()
	v, err := endedUnit{b.unitRun}.Verdict(t.Context(), claim.Claim.Commit, claim.Hash)
	if err != nil || v == nil || v.Claim != claim.Hash {
		t.Errorf("%+v, %v", v, err)
	}
	git("", "update-ref", "-d", loop.VerdictsRef)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var report *loop.Report
	ended := make(chan error, 1)
	go func() {
		var err error
		report, err = b.late(ctx)
		ended <- err
	}()
	if err := await.Value(t, "the report", ended); err != nil || report.Iterations != 1 || report.Status != loop.ExitBlocked {
		t.Errorf("%+v", report)
	}
}
