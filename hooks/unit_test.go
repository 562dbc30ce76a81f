package hooks_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
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

	claims     map[string]string // unit and commit to the hash of the claim's record
	deviations []string          // of the next verdicts
	additions  []string          // of the next verdicts
	accepted   []string          // of the next verdicts
}

func newUnits(t *testing.T) *unitBench {
	p := newPair(t)
	b := &unitBench{Pair: p, clone: git.Open(filepath.Join(p.Work, ".git")), tips: map[string]string{}, last: map[string]*uow.Record{}, claims: map[string]string{}}
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
			b.claims[id+" "+r.Claim.Commit] = r.Hash
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
	v.Claim = b.claims[id+" "+commit]
	v.Deviations = append(v.Deviations, b.deviations...)
	v.Additions, v.Accepted = b.additions, b.accepted
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
	claim.Commit = c1
	b.refused("D-1.1", b.advance("D-1.1", claim), true, "is not a commit of this repository")
	b.step("D-1.1", claim, "agent/D-1")
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

// setting edits the host's settings.
func (b *unitBench) setting(from, to string) {
	b.T.Helper()
	path := filepath.Join(b.Bare, "ward/config.toml")
	data, err := os.ReadFile(path)
	if err != nil {
		b.T.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(data), from, to, 1)), 0o600); err != nil {
		b.T.Fatal(err)
	}
}

// TestMergeRight: only verified work, by an ACTIVE unit, without anything beside it.
func TestMergeRight(t *testing.T) {
	t.Parallel()
	b := newUnits(t)
	b.setting("agent_merge = false", "agent_merge = true")
	b.step("D-1.1", byAgent(uow.Open))
	b.step("D-1.1", byAgent(uow.Activate))
	b.step("D-1.1", byAgent(uow.Iterate))
	c := b.work("hello")
	claim := byAgent(uow.MakeClaim)
	claim.Commit = c
	b.step("D-1.1", claim, "agent/D-1")
	refused := func(want string, refspec string) {
		t.Helper()
		if out, err := b.AgentPush(refspec); err == nil || !strings.Contains(out, want) {
			t.Fatalf("wanted %q: %v\n%s", want, err, out)
		}
	}
	refused("it needs a verdict EXACT or CONVERGED", c+":main")
	b.verdict("D-1.1", c, "podman", false)
	refused("is NONE", c+":main")
	b.verdict("D-1.1", c, loop.FenceNone, true)
	refused("without a fence", c+":main")
	b.verdict("D-1.1", c, "podman", true)

	// Code beside the verified commit, protocols, and a paused unit are refused.
	more := b.work("more")
	refused("more changed beside the verified commit", more+":main")
	b.Git("reset", "-q", "--hard", c)
	b.step("D-1.1", byPM(uow.Pause))
	refused("only an ACTIVE unit merges", c+":main")
	b.step("D-1.1", byPM(uow.Resume))
	b.Commit("evidence/D-1/note.md", "words beside it are free\n")
	if out, err := b.AgentPush("HEAD:main"); err != nil {
		t.Fatal(out)
	}
	b.step("D-1.1", byAgent(uow.Complete))
	b.Fsck()
}

// TestEvidence: forms, frozen iterations and manifests are held to on each push.
func TestEvidence(t *testing.T) {
	t.Parallel()
	b := newUnits(t)
	b.work("hello")
	dir := loop.IterationDir("D-1", 0)
	log := "3 tests fail\n"
	manifest := func(artifacts ...loop.Artifact) string {
		data, err := loop.Encode(loop.Artifacts{SchemaVersion: loop.SchemaVersion, LoopID: "D-1.1", Artifacts: slices.Clip(artifacts)})
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	refused := func(want string) {
		t.Helper()
		if out, err := b.AgentPush("+agent/D-1"); err == nil || !strings.Contains(out, want) {
			t.Fatalf("wanted %q: %v\n%s", want, err, out)
		}
		b.Git("reset", "-q", "--hard", "HEAD~1")
	}
	good := loop.Artifact{Path: dir + "/tests.txt", SHA256: loop.Digest([]byte(log)), Role: "log"}
	b.Commit(dir+"/tests.txt", log)
	b.Commit("evidence/D-1/loop/manifest.json", manifest(good))
	if out, err := b.AgentPush("agent/D-1"); err != nil {
		t.Fatal(out)
	}
	b.Commit("evidence/D-1/loop/manifest.json", manifest(loop.Artifact{Path: good.Path, SHA256: strings.Repeat("0", 64), Role: "log"}))
	refused("evidence/hash: " + good.Path + " has another hash")
	b.Commit("evidence/D-1/loop/manifest.json", manifest(good, loop.Artifact{Iteration: 1, Path: "gone.txt", SHA256: good.SHA256, Role: "log"}))
	refused("evidence/hash: gone.txt is not in the tree")
	b.Commit(dir+"/tests.txt", "no test fails\n")
	refused("evidence/frozen")
	b.Commit(dir+"/certificate.json", `{"type":"EXACT","residual_decimal_string":0}`)
	refused("evidence/schema")
	b.Commit("evidence/D-1/loop/budget_log.json", fmt.Sprintf(`{"schema_version":%q,"budget":1}`, loop.SchemaVersion))
	refused(`unknown member /budget`)
	b.Commit("evidence/D-1/loop/manifest.json", manifest())
	refused("is gone")
	b.Commit(uow.PolicyPath, "max_interactions = 0\n")
	refused("uow/policy: max_interactions")
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
	t.Parallel()
	b := newUnits(t)
	b.step("D-1.1", byAgent(uow.Open))
	b.uow("! --reason is one of PILOT_HOLD", "pause", "D-1.1")
	b.uow("! there is no unit D-7.1", "pause", "--reason", "PILOT_HOLD", "D-7.1")
	b.uow("D-1.1 PAUSED", "pause", "--reason", "COST_REVIEW", "-m", "let me look first", "D-1.1")
	b.uow("! approve does not lead anywhere", "approve", "--reason", "APPROVED", "D-1.1")
	b.uow("paused: git ward uow resume D-1.1", "list")
	b.uow("D-1.1 ACTIVE", "resume", "--reason", "HOLD_LIFTED", "D-1.1")
	b.catchUp("D-1.1")
	b.step("D-1.1", byAgent(uow.Iterate))
	claim := byAgent(uow.MakeClaim)
	claim.Commit = b.work("one")
	b.step("D-1.1", claim, "agent/D-1")
	b.verdict("D-1.1", claim.Commit, "podman", false)
	lock := uow.Input{Event: uow.Block, Actor: uow.Agent, Reason: "AMBIGUITY_LOCK", Interactions: 200}
	b.step("D-1.1", lock)
	b.uow("! a clarification needs words", "clarify", "--reason", "CLARIFIED", "D-1.1")
	b.uow("D-1.1 ACTIVE", "clarify", "--reason", "CLARIFIED", "-m", "the file is called hello", "D-1.1")
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
	b.uow("D-1.1 ACTIVE", "waive", "--reason", "CAUSE_GONE", "D-1.1")
	b.catchUp("D-1.1")
	b.step("D-1.1", lock)
	b.uow("a dead letter", "waive", "--deny", "--reason", "NOT_WORTH_IT", "D-1.1")
	b.uow("D-1.2 PENDING", "fork", "--reason", "NEW_ATTEMPT", "D-1.1")
	b.uow("! D-1.2 exists already", "fork", "--reason", "NEW_ATTEMPT", "D-1.1")
	out := b.uow("NONE on "+claim.Commit[:12], "show", "D-1.1")
	for _, want := range []string{"residual", "iterations 0..0", "the file is called hello", "iterations 1 of 2", "AMBIGUITY_LOCK"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	b.uow("1 units paused", "pause", "--all", "--reason", "INCIDENT")
	// In the bare repository, with the host's own settings.
	if out, err := b.Try(b.Bare, nil, "", "git-ward", "uow", "cancel", "--reason", "NOT_NEEDED", "D-1.2"); err != nil || !strings.Contains(out, "D-1.2 FAILED") {
		t.Error(err, out)
	}
	t.Logf("\n%s\n%s", b.uow("", "list"), out)
	b.Fsck()
}

// TestPulse: while a sign of the PM is due, nothing goes on but closing; the sign
// lifts it. Two agents on one unit: the second is a lost race, not a breach.
func TestPulse(t *testing.T) {
	t.Parallel()
	b := newUnits(t)
	b.Git("switch", "-q", "main")
	b.Commit(uow.PolicyPath, "pilot_pulse = 2\n")
	if out, err := b.Push("main"); err != nil {
		t.Fatal(out)
	}
	b.setting("agent_merge = false", "agent_merge = true")
	b.step("D-1.1", byAgent(uow.Open))
	b.step("D-1.1", byAgent(uow.Activate))
	b.step("D-1.1", byAgent(uow.Iterate))
	claim := byAgent(uow.MakeClaim)
	claim.Commit = b.work("hello")
	b.step("D-1.1", claim, "agent/D-1")
	b.verdict("D-1.1", claim.Commit, "podman", true)
	if out, err := b.AgentPush(claim.Commit + ":main"); err == nil || !strings.Contains(out, "a sign of the PM is due: git ward uow heartbeat D-1.1") {
		t.Fatal(out)
	}
	forged := *b.last[uow.RefPrefix+"D-1.1"]
	forged.PrevHash, forged.Event, forged.ReasonCode, forged.Iteration, forged.Interactions, forged.Pulse = forged.Hash, uow.Iterate, "ITERATION_STARTED", 2, 3, 3
	forged.Budget.Spent.Iterations++
	forged.Budget.Spent.Pushes++
	b.refused("D-1.1", &forged, true, "uow/pulse: 2 interactions without a sign of the PM, and the policy wants one every 2")
	b.uow("D-1.1 ACTIVE", "heartbeat", "--reason", "PULSE_APPROVED", "D-1.1")

	// This agent has not seen the heartbeat: its step is a lost race.
	old := b.tips[uow.RefPrefix+"D-1.1"]
	b.refused("D-1.1", &forged, true, "rejected")
	b.catchUp("D-1.1")
	if r := b.last[uow.RefPrefix+"D-1.1"]; r.State != uow.Active || r.Pulse != 0 || old == b.tips[uow.RefPrefix+"D-1.1"] {
		t.Fatalf("%+v", r)
	}
	b.step("D-1.1", byAgent(uow.Iterate))
	if out, err := b.AgentPush(claim.Commit + ":main"); err != nil {
		t.Fatal(out)
	}
	b.step("D-1.1", byAgent(uow.Complete))
	b.Fsck()
}

// TestStatus: `git ward status` shows what runs, each unit, what is left, how the
// residual went, and the last verdict.
func TestStatus(t *testing.T) {
	t.Parallel()
	b := newUnits(t)
	b.step("D-1.1", byAgent(uow.Open))
	b.step("D-1.1", byAgent(uow.Activate))
	for i, met := range []bool{false, true} {
		b.step("D-1.1", byAgent(uow.Iterate))
		claim := byAgent(uow.MakeClaim)
		claim.Commit = b.work(fmt.Sprint("file", i))
		b.step("D-1.1", claim, "agent/D-1")
		b.verdict("D-1.1", claim.Commit, "podman", met)
	}
	out := b.Run(b.Work, "git-ward", "status", "--bare", b.Bare)
	for _, want := range []string{"nothing runs on", "D-1.1 ACTIVE, iteration 2, 0 of 2 iterations left", "left: 0 iterations, 2 claims", "iterations 0..1", "last verdict: EXACT"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	t.Log("\n" + out)
	if out := b.Run(b.Work, "git-ward", "status", "--json", "--bare", b.Bare); !strings.Contains(out, `"verdict":"EXACT"`) {
		t.Error(out)
	}
}
