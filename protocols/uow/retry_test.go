package uow

import (
	"slices"
	"testing"
	"time"
)

// outage is a unit that takes steps one after the other.
type outage struct {
	*testing.T
	records []*Record
	world   World
}

func (j *outage) last() *Record { return j.records[len(j.records)-1] }

func (j *outage) step(e Event, reason Reason) {
	j.Helper()
	var prev *Record
	if len(j.records) > 0 {
		prev = j.last()
	}
	in := Input{Event: e, Actor: Agent, Reason: reason, Time: noon}
	if e == MakeClaim {
		in.Commit, in.Record = hashA[:40], hashB[:40]
	}
	next, found := Advance(ID{"D-1", 1}, prev, in, j.world)
	if len(found) > 0 {
		j.Fatalf("%s: %v", e, found)
	}
	j.records = append(j.records, next)
}

// TestOutage: an outage is no dead letter. It is tried again with pauses that grow, more
// often than the policy says of what fails, as long as pushes are left for the work; then
// the unit waits for the PM. A claim sets the count back, and a journal of a version that
// did not holds, too.
func TestOutage(t *testing.T) {
	j := &outage{T: t, world: World{Main: &Main{DirectiveHash: hashA, Total: Totals(10), Policy: DefaultPolicy()}}}
	j.step(Open, "DIRECTIVE_OPEN")
	j.step(Activate, "WORK_STARTED")
	j.step(Iterate, "ITERATION_STARTED")
	var pauses []int
	for {
		j.step(Block, TransientFailure)
		if j.last().RetriesSpent() {
			break
		}
		pauses = append(pauses, int(j.last().RetryAfter(time.Minute, time.Hour)/time.Minute))
		j.step(Retry, "RETRY_POLICY")
	}
	if len(pauses) != outageRetries || !slices.Equal(pauses[:6], []int{1, 2, 4, 8, 10, 10}) {
		t.Error(pauses)
	}
	if w := j.last().Waits(); w.For != ForYou || w.Command != "git ward uow retry --waive D-1.1" {
		t.Error(j.last().Waits())
	}

	j.records = j.records[:len(j.records)-1]
	before := j.last()
	j.step(MakeClaim, "WORK_CLAIMED")
	if before.Retries != outageRetries || j.last().Retries != 0 {
		t.Errorf("%d retries before a claim, %d after it", before.Retries, j.last().Retries)
	}
	old := *j.last()
	old.Retries = before.Retries
	if err := old.Seal(); err != nil {
		t.Fatal(err)
	}
	if found := Step(before, &old, j.world); len(found) > 0 {
		t.Error(found)
	}
	old.Retries = 1
	if err := old.Seal(); err != nil {
		t.Fatal(err)
	}
	if found := Step(before, &old, j.world); len(found) == 0 {
		t.Error("a claim that counts some retries is taken")
	}

	// A small budget is for the work: what is left of it is not spent on tries.
	j.world.Main.Total = Totals(1)
	j.records = nil
	j.step(Open, "DIRECTIVE_OPEN")
	j.step(Activate, "WORK_STARTED")
	for j.step(Block, TransientFailure); !j.last().RetriesSpent(); j.step(Block, TransientFailure) {
		j.step(Retry, "RETRY_POLICY")
	}
	if left := j.last().Budget.Left().Pushes; left < reserve {
		t.Errorf("%d pushes are left", left)
	}
}

// TestProgramKilled: a program that was killed is tried again as often as the policy says, with
// pauses, and no iteration is spent on it; then the unit is a dead letter.
func TestProgramKilled(t *testing.T) {
	j := &outage{T: t, world: World{Main: &Main{DirectiveHash: hashA, Total: Totals(10), Policy: DefaultPolicy()}}}
	j.step(Open, "DIRECTIVE_OPEN")
	j.step(Activate, "WORK_STARTED")
	j.step(Iterate, "ITERATION_STARTED")
	tries := int64(0)
	for {
		j.step(Block, ProgramKilled)
		if j.last().RetriesSpent() {
			break
		}
		if w := j.last().Waits(); w.For != ForCause || j.last().RetryAfter(time.Minute, time.Hour) > mostPauses*time.Minute {
			t.Errorf("try %d waits for %s", tries, w)
		}
		j.step(Retry, "RETRY_POLICY")
		tries++
	}
	if most := DefaultPolicy().MaxRetries; tries != most || j.last().Iteration != 1 || j.last().Budget.Spent.Iterations != 1 {
		t.Errorf("%d tries of %d, %d iterations", tries, most, j.last().Iteration)
	}
	j.step(Exhaust, "RETRIES_SPENT")
	if j.last().State != ZombiedDead {
		t.Error(j.last().State)
	}
}
