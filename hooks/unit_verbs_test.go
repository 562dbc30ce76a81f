package hooks_test

import (
	"fmt"
	"strings"
	"testing"

	"git-ward/internal/configtest"
	"git-ward/internal/tier"
	"git-ward/protocols/uow"
)

// uow runs `git ward uow` as the PM and wants this in what it says.
func (b *unitBench) uow(want string, args ...string) string {
	b.T.Helper()
	out, err := b.Try(b.Work, nil, "", "git-ward", append([]string{"uow"}, args...)...)
	fails := strings.HasPrefix(want, "! ")
	if (err != nil) != fails || !strings.Contains(out, strings.TrimPrefix(want, "! ")) {
		b.T.Fatalf("uow %v: wanted %q: %v\n%s", args, want, err, out)
	}
	return out
}

// catchUp takes the journals as the host has them now, as an agent does.
func (b *unitBench) catchUp(id string) {
	b.T.Helper()
	ref := uow.RefPrefix + id
	b.Git("fetch", "-q", "origin", "refs/ward/uow/*:refs/ward/uow/*")
	b.tips[ref] = strings.TrimSpace(b.Git("rev-parse", ref))
	r, err := uow.ParseRecord([]byte(b.Git("show", ref+":uow.json")))
	if err != nil {
		b.T.Fatal(err)
	}
	b.last[ref] = r
}

// TestPilot: the PM's verbs, from a clone and from the bare repository.
func TestPilot(t *testing.T) {
	tier.Full(t, "a long story of a unit with a pilot")
	t.Parallel()
	b := newUnits(t)
	b.step("D-1.1", byAgent(uow.Open))
	b.uow("! --reason is one of PILOT_HOLD", "pause", "--reason", "BORED", "D-1.1")
	b.uow("! there is no unit D-7.1", "pause", "--reason", "PILOT_HOLD", "D-7.1")
	b.uow("D-1.1: paused", "pause", "--reason", "COST_REVIEW", "-m", "let me look first", "D-1.1")
	b.uow("! approve does not lead anywhere", "approve", "--reason", "APPROVED", "D-1.1")
	b.uow("paused: git ward uow resume D-1.1", "list")
	b.uow("D-1.1: begun", "resume", "--reason", "HOLD_LIFTED", "D-1.1")
	b.catchUp("D-1.1")
	b.step("D-1.1", byAgent(uow.Iterate))
	work := b.work("one")
	b.claim("D-1.1", work)
	b.verdict("D-1.1", work, "podman", false)
	lock := uow.Input{Event: uow.Block, Actor: uow.Agent, Reason: "AMBIGUITY_LOCK", Interactions: 200}
	b.step("D-1.1", lock)
	b.uow("! give the text by -m", "clarify", "--reason", "CLARIFIED", "D-1.1")
	b.uow("! a clarification needs words", "clarify", "-m", " ", "D-1.1")
	b.uow("D-1.1: begun", "clarify", "--reason", "CLARIFIED", "-m", "the file is called hello", "D-1.1")
	b.catchUp("D-1.1")
	if r := b.last[uow.RefPrefix+"D-1.1"]; r.Interactions != 0 || r.Note != "the file is called hello" {
		t.Errorf("%+v", r)
	}
	for range 3 {
		b.step("D-1.1", lock)
		b.step("D-1.1", byAgent(uow.Retry))
	}
	b.step("D-1.1", lock)
	b.uow("! 3 retries are spent", "retry", "--reason", "RETRY_NOW", "D-1.1")
	b.uow("D-1.1: begun", "retry", "--waive", "--reason", "CAUSE_GONE", "D-1.1")
	b.catchUp("D-1.1")
	b.step("D-1.1", lock)
	b.uow("given up", "retry", "--waive", "--deny", "--reason", "NOT_WORTH_IT", "D-1.1")
	b.uow("D-1.2: not begun", "fork", "--reason", "NEW_ATTEMPT", "D-1.1")
	b.uow("! D-1.2 exists already", "fork", "--reason", "NEW_ATTEMPT", "D-1.1")
	out := b.uow("NONE on "+work[:12], "show", "D-1.1")
	for _, want := range []string{"residual", "iterations 0..0", "the file is called hello", "iterations 1 of 2", "AMBIGUITY_LOCK"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	b.uow("1 unit paused", "pause", "--all", "--reason", "INCIDENT")
	// In the bare repository, with the host's own settings.
	if out, err := b.Try(b.Bare, nil, "", "git-ward", "uow", "cancel", "--reason", "NOT_NEEDED", "D-1.2"); err != nil || !strings.Contains(out, "D-1.2: cancelled") {
		t.Error(err, out)
	}
	t.Logf("\n%s\n%s", b.uow("", "list"), out)
	b.Fsck()
}

// TestPulse: while a sign of the PM is due, nothing goes on but closing; the sign
// lifts it. Two agents on one unit: the second is a lost race, not a breach.
func TestPulse(t *testing.T) {
	tier.Full(t, "a long story of a unit with a pulse")
	t.Parallel()
	b := newUnits(t)
	b.Git("switch", "-q", "main")
	b.Commit(uow.PolicyPath, "pilot_pulse = 2\n")
	if out, err := b.Push("main"); err != nil {
		t.Fatal(out)
	}
	configtest.Set(b.T, b.Bare, "agent_merge = true")
	b.step("D-1.1", byAgent(uow.Open))
	b.step("D-1.1", byAgent(uow.Activate))
	b.step("D-1.1", byAgent(uow.Iterate))
	work := b.work("hello")
	b.claim("D-1.1", work)
	b.verdict("D-1.1", work, "podman", true)
	if out, err := b.AgentPush(work + ":main"); err == nil || !strings.Contains(out, "a sign of the PM is due: git ward uow resume --pulse D-1.1") {
		t.Fatal(out)
	}
	forged := *b.last[uow.RefPrefix+"D-1.1"]
	forged.PrevHash, forged.Event, forged.ReasonCode, forged.Iteration, forged.Interactions, forged.Pulse = forged.Hash, uow.Iterate, "ITERATION_STARTED", 2, 3, 3
	forged.Budget.Spent.Iterations++
	forged.Budget.Spent.Pushes++
	b.refused("D-1.1", &forged, true, "uow/pulse: 2 interactions without a sign of the PM, and the policy wants one every 2")
	b.uow("D-1.1: begun", "resume", "--pulse", "--reason", "PULSE_APPROVED", "D-1.1")

	// This agent has not seen the heartbeat: its step is a lost race.
	old := b.tips[uow.RefPrefix+"D-1.1"]
	b.refused("D-1.1", &forged, true, "rejected")
	b.catchUp("D-1.1")
	if r := b.last[uow.RefPrefix+"D-1.1"]; r.State != uow.Active || r.Pulse != 0 || old == b.tips[uow.RefPrefix+"D-1.1"] {
		t.Fatalf("%+v", r)
	}
	b.step("D-1.1", byAgent(uow.Iterate))
	if out, err := b.AgentPush(work + ":main"); err != nil {
		t.Fatal(out)
	}
	b.step("D-1.1", byAgent(uow.Complete))
	b.Fsck()
}

// TestStatus: `git ward status` shows what runs, each unit, what is left, how the
// residual went, and the last verdict.
func TestStatus(t *testing.T) {
	tier.Full(t, "a long story of units in many states")
	t.Parallel()
	b := newUnits(t)
	b.step("D-1.1", byAgent(uow.Open))
	b.step("D-1.1", byAgent(uow.Activate))
	for i, met := range []bool{false, true} {
		b.step("D-1.1", byAgent(uow.Iterate))
		work := b.work(fmt.Sprint("file", i))
		b.claim("D-1.1", work)
		b.verdict("D-1.1", work, "podman", met)
	}
	out := b.Run(b.Work, "git-ward", "status", "--bare", b.Bare)
	for _, want := range []string{"nothing runs on", "D-1.1: begun, iteration 2, 0 of 2 iterations left", "left: 0 iterations, 2 claims", "iterations 0..1", "last verdict: proved: every criterion is met"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	t.Log("\n" + out)
	if out := b.Run(b.Work, "git-ward", "status", "--json", "--bare", b.Bare); !strings.Contains(out, `"verdict":"EXACT"`) {
		t.Error(out)
	}
}

// TestWaysOut: each state has a way out by the verb that a PM thinks of, also where the
// machine needs two steps for it, and what is not possible says what is (WORK-2).
func TestWaysOut(t *testing.T) {
	tier.Full(t, "a unit is brought to each state that has a way out")
	t.Parallel()
	b := newUnits(t)
	lock := uow.Input{Event: uow.Block, Actor: uow.Agent, Reason: "AMBIGUITY_LOCK"}
	unit := 0
	next := func(steps ...uow.Input) string {
		t.Helper()
		if unit++; unit > 1 {
			b.uow(fmt.Sprintf("D-1.%d: not begun", unit), "fork", fmt.Sprintf("D-1.%d", unit-1))
			b.catchUp(fmt.Sprintf("D-1.%d", unit))
		} else {
			b.step("D-1.1", byAgent(uow.Open))
		}
		id := fmt.Sprintf("D-1.%d", unit)
		b.step(id, byAgent(uow.Activate))
		for _, in := range steps {
			b.step(id, in)
		}
		return id
	}
	id := next(lock)
	b.uow("! possible now: git ward uow clarify "+id+", git ward uow retry "+id+", git ward uow retry --waive "+id+", git ward uow pause "+id+", git ward uow cancel "+id, "approve", id)
	b.uow(id+": paused", "pause", id)
	b.uow(id+": paused", "clarify", "-m", "while you wait", id)
	b.uow(id+": begun", "resume", id)
	b.uow(id+": begun", "clarify", "-m", "while you work", id)
	b.catchUp(id)
	b.step(id, lock)
	b.uow(id+": failed", "cancel", "-m", "enough", id)

	id = next(uow.Input{Event: uow.RequestApproval, Actor: uow.Agent, Reason: uow.Question, Note: "which parser?"})
	b.uow("! which a heartbeat does not answer", "resume", "--pulse", id)
	b.uow("waits for you, it has a question: git ward uow approve "+id, "show", id)
	b.uow(id+": begun", "clarify", "-m", "the second", id)
	b.catchUp(id)
	b.step(id, uow.Input{Event: uow.RequestApproval, Actor: uow.Agent, Reason: uow.PulseIsDue})
	b.uow(id+": begun", "resume", "--pulse", id)
	b.catchUp(id)
	b.step(id, uow.Input{Event: uow.Condemn, Actor: uow.Agent, Reason: "POLICY_BRANCH"})
	b.uow("it was given up, and nothing but your confirmation closes it: git ward uow cancel --failed "+id, "list")
	b.uow(id+": failed", "confirm", id)

	id = next(uow.Input{Event: uow.Condemn, Actor: uow.Agent, Reason: "POLICY_BRANCH"})
	b.uow(id+": archived", "archive", id)
	b.uow("! possible now: git ward uow fork D-1.3", "cancel", "D-1.3")

	stopped := uow.Input{Event: uow.Block, Actor: uow.Agent, Reason: uow.Stopped}
	id = next(stopped, uow.Input{Event: uow.Retry, Actor: uow.Agent, Reason: uow.CauseGone}, stopped)
	if r := b.last[uow.RefPrefix+id]; r.Retries != 0 {
		t.Errorf("scratch/STOP spent %d retries", r.Retries)
	}
	b.uow("1 unit paused", "pause", "--all")
	b.Fsck()
}
