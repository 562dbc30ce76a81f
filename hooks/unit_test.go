package hooks_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"git-ward/internal/config"
	"git-ward/internal/git"
	"git-ward/internal/gittest"
	"git-ward/protocols/comms"
	"git-ward/protocols/loop"
	"git-ward/protocols/uow"
)

const directiveText = "### D-1: greet\n\nSay hello.\n\n- [ ] it greets (`test -f hello`)\n- max_iterations: 2\n"

// unitBench is a guarded repository with D-1 on main and the work of a unit on it.
type unitBench struct {
	*gittest.Pair
	clone *git.Repo
	tips  map[string]string      // journal's ref to its tip, as the agent knows it
	last  map[string]*uow.Record // the same, as records

	claims     map[string]*uow.Record // unit and commit to the record of the claim
	deviations []string               // of the next verdicts
	additions  []string               // of the next verdicts
	doubt      func(*loop.Verdict)    // what they name against their word; nil for nothing
	left       []loop.Left
	included   []string
}

func newUnits(t *testing.T) *unitBench {
	p := newPair(t)
	b := &unitBench{Pair: p, clone: git.Open(filepath.Join(p.Work, ".git")), tips: map[string]string{}, last: map[string]*uow.Record{}, claims: map[string]*uow.Record{}}
	b.direct(directiveText)
	return b
}

// direct makes D-1 read like this on main.
func (b *unitBench) direct(text string) {
	b.T.Helper()
	b.Git("switch", "-q", "main")
	b.Commit(comms.Path, "# COMMS\n\n## Directives\n\n"+text+"\n## Reports\n")
	if out, err := b.Push("main"); err != nil {
		b.T.Fatal(out)
	}
}

// main is what the agent reads of main.
func (b *unitBench) main() *uow.Main {
	b.T.Helper()
	data := b.Git("show", "origin/main:"+comms.Path)
	doc, _ := comms.Parse([]byte(data))
	m, found := loop.Main(&doc.Directives[0], loop.Base(config.Default().Loop), []byte(b.Git("show", "origin/main:"+uow.PolicyPath)))
	if len(found) > 0 {
		b.T.Fatal(found)
	}
	return m
}

// advance makes the record of a step, without looking whether the host will take it.
func (b *unitBench) advance(id string, in uow.Input) *uow.Record {
	b.T.Helper()
	unit, err := uow.ParseID(id)
	if err != nil {
		b.T.Fatal(err)
	}
	if in.Time.IsZero() {
		in.Time = time.Now()
	}
	main := b.main()
	world := uow.World{Main: main, Verdict: func(string) bool { return true }}
	if unit.K > 1 {
		world.Last = b.last[uow.ID{Directive: unit.Directive, K: unit.K - 1}.Ref()]
		if world.Last.DirectiveHash == main.DirectiveHash {
			main.Spent = world.Last.Budget.Spent
		}
	}
	r, found := uow.Advance(unit, b.last[unit.Ref()], in, world)
	if len(found) > 0 {
		b.T.Fatal(found)
	}
	return r
}

// push pushes a record's bytes on top of the journal; the ref moves here only when
// it moved there.
func (b *unitBench) push(id string, data []byte, agent bool, more ...string) (string, error) {
	b.T.Helper()
	ref := uow.RefPrefix + id
	commit, err := b.clone.CommitFile(b.tips[ref], uow.File, data, time.Now(), "step")
	if err != nil {
		b.T.Fatal(err)
	}
	push := b.AgentPush
	if !agent {
		push = b.Push
	}
	out, err := push(append([]string{commit + ":" + ref}, more...)...)
	if err == nil {
		b.tips[ref] = commit
		r, err := uow.ParseRecord(data)
		if err != nil {
			b.T.Fatal(err)
		}
		b.last[ref] = r
		if r.Event == uow.MakeClaim {
			b.claims[id+" "+r.Claim.Commit] = r
		}
	}
	return out, err
}

// step makes and pushes a step that must be taken.
func (b *unitBench) step(id string, in uow.Input, more ...string) {
	b.T.Helper()
	data, err := b.advance(id, in).Marshal()
	if err != nil {
		b.T.Fatal(err)
	}
	if out, err := b.push(id, data, in.Actor == uow.Agent, more...); err != nil {
		b.T.Fatalf("%s: %v\n%s", in.Event, err, out)
	}
}

// refused pushes a changed record and wants this among the findings.
func (b *unitBench) refused(id string, r *uow.Record, agent bool, want string, more ...string) {
	b.T.Helper()
	if err := r.Seal(); err != nil {
		b.T.Fatal(err)
	}
	data, err := r.Marshal()
	if err != nil {
		b.T.Fatal(err)
	}
	out, err := b.push(id, data, agent, more...)
	if err == nil || !strings.Contains(out, want) {
		b.T.Fatalf("wanted %q: %v\n%s", want, err, out)
	}
}

func byAgent(e uow.Event) uow.Input {
	return uow.Input{Event: e, Actor: uow.Agent, Reason: uow.Reasons(e, uow.Agent)[0]}
}

func byPM(e uow.Event) uow.Input {
	return uow.Input{Event: e, Actor: uow.PM, Reason: uow.Reasons(e, uow.PM)[0]}
}

// work commits a file on agent/D-1 and returns the commit.
func (b *unitBench) work(name string) string {
	b.T.Helper()
	if _, err := b.Try(b.Work, nil, "", "git", "rev-parse", "-q", "--verify", "agent/D-1"); err != nil {
		b.Git("branch", "agent/D-1", "origin/main")
	}
	b.Git("switch", "-q", "agent/D-1")
	b.Commit(name, "hello\n")
	return strings.TrimSpace(b.Git("rev-parse", "HEAD"))
}

// verdict notes what the verifier would, as the host.
func (b *unitBench) verdict(id, commit, fence string, met bool) {
	b.T.Helper()
	doc, _ := comms.Parse([]byte(b.Git("show", "origin/main:"+comms.Path)))
	p, _, missing := loop.Declare(id, doc.Directives[0], loop.Base(config.Default().Loop))
	if len(missing) > 0 {
		b.T.Fatal(missing)
	}
	run := loop.Trial{Criteria: []loop.Outcome{{Criterion: p.Commands[0].Text, Command: p.Commands[0].Command, Met: met, ExitCode: map[bool]int{true: 0, false: 1}[met]}}}
	v := loop.Judge(p, []loop.Trial{run, run})
	v.Commit, v.Fence = commit, fence
	if claim := b.claims[id+" "+commit]; claim != nil {
		v.Claim, v.Record = claim.Hash, claim.Claim.Record
	}
	v.Deviations = append(v.Deviations, b.deviations...)
	v.Additions, v.Left, v.Included = b.additions, b.left, b.included
	if b.doubt != nil {
		b.doubt(&v)
	}
	line, err := v.Line()
	if err != nil {
		b.T.Fatal(err)
	}
	if out, err := b.Try(b.Bare, nil, string(line), "git", "notes", "--ref=certificates", "append", "-F", "-", commit); err != nil {
		b.T.Fatal(out)
	}
}

// TestUnitOfWork takes a unit through its life and tries, at each place, what is
// not allowed there.
func TestUnitOfWork(t *testing.T) {
	t.Parallel()
	b := newUnits(t)
	open := b.advance("D-1.1", byAgent(uow.Open))
	for name, change := range map[string]func(*uow.Record){
		"uow/actor":     func(r *uow.Record) { r.Actor = uow.PM },
		`"budget" is`:   func(r *uow.Record) { r.Budget.Total.Iterations = 99 },
		`"policy" is`:   func(r *uow.Record) { r.Policy.MaxRetries = 99 },
		`"directive_ha`: func(r *uow.Record) { r.DirectiveHash = strings.Repeat("0", 64) },
		"uow/reason":    func(r *uow.Record) { r.ReasonCode = "BECAUSE" },
		`"state" is`:    func(r *uow.Record) { r.State = uow.Active },
		"not of direct": func(r *uow.Record) { r.Directive = "D-2" },
	} {
		r := *open
		change(&r)
		b.refused("D-1.1", &r, true, name)
	}
	b.refused("D-1.2", open, true, "the record is of D-1.1, the journal of D-1.2")
	b.refused("D-1", open, true, "uow/name")
	b.step("D-1.1", byAgent(uow.Open))
	if out, err := b.AgentPush(":" + uow.RefPrefix + "D-1.1"); err == nil || !strings.Contains(out, "a journal is never deleted") {
		t.Error(out)
	}

	// The PM pauses; the agent can neither go on nor lift it.
	b.step("D-1.1", byPM(uow.Pause))
	b.refused("D-1.1", b.advance("D-1.1", byPM(uow.Resume)), true, "uow/actor")
	b.step("D-1.1", byPM(uow.Resume))

	// Iterations and claims, up to the budget, in this and the next unit.
	b.step("D-1.1", byAgent(uow.Iterate))
	c1 := b.work("one")
	claim := byAgent(uow.MakeClaim)
	claim.Commit, claim.Record = c1, strings.Repeat("e", 40)
	b.refused("D-1.1", b.advance("D-1.1", claim), true, "is not a commit of this repository")
	b.claim("D-1.1", c1)
	b.refused("D-1.1", b.advance("D-1.1", byAgent(uow.Complete)), true, "uow/verdict")
	b.verdict("D-1.1", c1, "podman", false)
	b.refused("D-1.1", b.advance("D-1.1", byAgent(uow.Complete)), true, "uow/verdict")

	// A verdict of another loop, replayed onto this commit, is none.
	b.verdict("D-1.9", c1, "podman", true)
	b.refused("D-1.1", b.advance("D-1.1", byAgent(uow.Complete)), true, "uow/verdict")

	fail := byAgent(uow.Fail)
	b.step("D-1.1", fail)
	next := b.advance("D-1.1", byAgent(uow.Refine))
	next.State, next.Event, next.ReasonCode = uow.Active, uow.Retry, "RETRY_POLICY"
	b.refused("D-1.1", next, true, "retry does not lead anywhere")
	b.step("D-1.1", byAgent(uow.Refine))
	b.step("D-1.1", byAgent(uow.Archive))

	// The next unit needs the PM's fork or another text, and refills nothing.
	forged := *b.last[uow.RefPrefix+"D-1.1"]
	second := *open
	second.ID, second.Parent, second.Budget.Spent = "D-1.2", forged.ID, forged.Budget.Spent
	second.Budget.Spent.Pushes++
	b.refused("D-1.2", &second, true, "worked on this same text")
	b.step("D-1.2", byPM(uow.Fork))
	b.step("D-1.2", byAgent(uow.Activate))
	b.step("D-1.2", byAgent(uow.Iterate))
	if spent := b.last[uow.RefPrefix+"D-1.2"].Budget.Spent.Iterations; spent != 2 {
		t.Fatalf("%d iterations are spent", spent)
	}
	third := *b.last[uow.RefPrefix+"D-1.2"]
	third.PrevHash, third.Iteration, third.Interactions, third.Pulse = third.Hash, 2, third.Interactions+1, third.Pulse+1
	third.Budget.Spent.Iterations++
	third.Budget.Spent.Pushes++
	b.refused("D-1.2", &third, true, "the iterations of D-1 are spent: 2 of 2")

	// An edit of the directive is a new text: no work on the old one, and a fresh budget.
	b.direct(strings.Replace(directiveText, "hello.", "hello, twice.", 1))
	b.Git("fetch", "-q", "origin")
	stale := byAgent(uow.Fail)
	stale.Reason = "DIRECTIVE_CHANGED"
	b.step("D-1.2", stale)
	b.step("D-1.3", uow.Input{Event: uow.Open, Actor: uow.Agent, Reason: uow.DirectiveEdited})
	if spent := b.last[uow.RefPrefix+"D-1.3"].Budget.Spent; spent != (uow.Counts{Pushes: 1}) {
		t.Fatalf("%+v", spent)
	}
	if out, err := b.Try(b.Bare, nil, "", "git-ward", "fsck"); err == nil || !strings.Contains(out, "EXACT that no claim of D-1.9 asked for") || !strings.Contains(out, ", 1 finding\n") {
		t.Fatal(out) // the replayed verdict, and nothing else
	}
}

// TestTamperedRecord: the push is refused, the host moves the unit, and all of it
// is in the audit.
func TestTamperedRecord(t *testing.T) {
	t.Parallel()
	b := newUnits(t)
	b.step("D-1.1", byAgent(uow.Open))
	b.step("D-1.1", byAgent(uow.Activate))
	r := b.advance("D-1.1", byAgent(uow.Iterate))
	data, err := r.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	data = []byte(strings.Replace(string(data), `"retries":0`, `"retries":7`, 1))
	out, err := b.push("D-1.1", data, true)
	if err == nil || !strings.Contains(out, "uow/hash: the record's hash is not that of its content") || !strings.Contains(out, "FAILED_SECURITY_BREACH") {
		t.Fatalf("%v\n%s", err, out)
	}
	b.Git("fetch", "-q", "origin", "refs/ward/*:refs/ward/*")
	stored := b.Git("show", "refs/ward/uow/D-1.1:uow.json")
	last, err := uow.ParseRecord([]byte(stored))
	if err != nil || last.State != uow.Breached || last.Actor != uow.Host || last.ReasonCode != uow.HashMismatch || !strings.Contains(last.Note, "push ") {
		t.Fatalf("%v\n%s", err, stored)
	}
	// The agent cannot go on, by a record on the old tip (a lost race) or the new one.
	b.refused("D-1.1", b.advance("D-1.1", byAgent(uow.Iterate)), true, "rejected")
	ref := uow.RefPrefix + "D-1.1"
	b.tips[ref], b.last[ref] = strings.TrimSpace(b.Git("rev-parse", ref)), last
	work := *last
	work.PrevHash, work.State, work.Event, work.Actor, work.ReasonCode, work.Iteration = last.Hash, uow.Active, uow.Iterate, uow.Agent, "ITERATION_STARTED", 1
	b.refused("D-1.1", &work, true, "the unit is FAILED_SECURITY_BREACH")
	b.step("D-1.1", byAgent(uow.Refine))
	log := b.Git("log", "--format=%s", "refs/ward/audit")
	if !strings.Contains(log, "accepted: host ward/uow/D-1.1") {
		t.Error(log)
	}
	b.Fsck()

	// The PM's option does not pass it, either.
	commit, err := b.clone.CommitFile(b.tips[ref], uow.File, data, time.Now(), "step")
	if err != nil {
		t.Fatal(err)
	}
	if out, err := b.Try(b.Work, nil, "", "git", "push", "-o", "ward.allow=uow/hash:uow.json", "origin", commit+":"+ref); err == nil || !strings.Contains(out, "uow/hash") {
		t.Fatal(out)
	}
	b.catchUp("D-1.1") // it was the next breach
	b.step("D-1.1", byAgent(uow.Refine))

	// A wrong prev hash, with a right hash of its own, is the same.
	archive := b.advance("D-1.1", byAgent(uow.Archive))
	archive.PrevHash = strings.Repeat("0", 64)
	b.refused("D-1.1", archive, true, "prev_hash")
	b.Git("fetch", "-q", "origin", "refs/ward/*:refs/ward/*")
	if subject := b.Git("log", "-1", "--format=%s", ref); !strings.Contains(subject, "PREV_HASH_MISMATCH") {
		t.Error(subject)
	}
	b.Fsck()
}

// TestFsckFindsBrokenWork: what somebody changed on the host, past the hooks, is
// named.
func TestFsckFindsBrokenWork(t *testing.T) {
	t.Parallel()
	b := newUnits(t)
	b.step("D-1.1", byAgent(uow.Open))
	b.step("D-1.1", byAgent(uow.Activate))
	b.Fsck()
	bare := git.Open(b.Bare)
	ref := uow.RefPrefix + "D-1.1"
	data, err := b.advance("D-1.1", byAgent(uow.Iterate)).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	forged, err := bare.CommitFile(b.tips[ref], uow.File, []byte(strings.Replace(string(data), `"retries":0`, `"retries":1`, 1)), time.Now(), "forged")
	if err != nil {
		t.Fatal(err)
	}
	b.Run(b.Bare, "git", "update-ref", ref, forged)
	c := b.work("hello")
	if out, err := b.AgentPush("agent/D-1"); err != nil {
		t.Fatal(out)
	}
	b.verdict("D-1.1", c, "podman", true)
	b.Run(b.Bare, "git", "notes", "--ref=certificates", "copy", c, "main")
	out, err := b.Try(b.Bare, nil, "", "git-ward", "fsck")
	for _, want := range []string{"fsck/unit: commit " + forged[:12] + ", record 3: the record's hash", "fsck/verdict: the note on ", "fsck/unrecorded"} {
		if err == nil || !strings.Contains(out, want) {
			t.Errorf("no %q: %v\n%s", want, err, out)
		}
	}
}
