package hooks_test

import (
	"strings"
	"sync"
	"testing"

	"git-ward/internal/configtest"
	"git-ward/internal/tier"
	"git-ward/protocols/comms"
	"git-ward/protocols/loop"
	"git-ward/protocols/record"
	"git-ward/protocols/uow"
)

// claimed takes D-1.1 to a claim of what the agent's branch holds.
func (b *unitBench) claimed() (commit string) {
	b.T.Helper()
	b.step("D-1.1", byAgent(uow.Open))
	b.step("D-1.1", byAgent(uow.Activate))
	b.step("D-1.1", byAgent(uow.Iterate))
	commit = strings.TrimSpace(b.Git("rev-parse", "agent/D-1"))
	b.claim("D-1.1", commit)
	return commit
}

// certificate is one that claims EXACT for a commit, as evidence of iteration n: what to
// push to put it on the record.
func (b *unitBench) certificate(commit string, n int) (refspec string) {
	b.T.Helper()
	zero, _ := loop.ParseResidual("0")
	met := true
	return b.evidence(loop.IterationDir("D-1", n)+"/"+loop.CertificateFile, loop.Certificate{SchemaVersion: loop.LinearVersion, LoopID: "D-1.1", Iteration: n, Type: loop.Exact, Lane: loop.LaneA,
		Residual: zero, Rp: zero, History: []loop.Residual{zero}, Direction: loop.Stable, Commit: commit,
		Checklist: []loop.Met{{Criterion: "it greets", Met: &met, Evidence: loop.VerdictsRef + ":" + commit}}})
}

// report is a halting report of success on a commit, and on a rung: what to push likewise.
func (b *unitBench) report(commit string, rung int) (refspec string) {
	b.T.Helper()
	zero, _ := loop.ParseResidual("0")
	met := true
	return b.evidence(loop.Dir("D-1")+"/"+loop.ReportFile, loop.Report{SchemaVersion: loop.SchemaVersion, LoopID: "D-1.1", Goal: "greet", Status: loop.ExitConverged, StopReason: "EXACT_CERTIFICATE",
		Certificate: &loop.HaltingCertificate{Type: loop.Exact, Lane: loop.LaneA, Final: zero, Rp: zero, History: []loop.Residual{zero},
			Checklist: []loop.Met{{Criterion: "it greets", Met: &met, Evidence: loop.VerdictsRef + ":" + commit}}},
		Iterations: 1, RungTarget: loop.Rung274177, RungAchieved: rung, History: []loop.Residual{zero}, Commit: commit,
		LearningsFinalPath: "LEARNINGS.md", ManifestPath: "m", BestArtifacts: []loop.Link{{}}})
}

// evidence is what to push to put a file of evidence on the record.
func (b *unitBench) evidence(path string, content any) (refspec string) {
	b.T.Helper()
	data, err := loop.Encode(content)
	if err != nil {
		b.T.Fatal(err)
	}
	ref := record.Prefix + "D-1.1"
	tip, _, _ := strings.Cut(b.Git("ls-remote", "origin", ref), "\t")
	return on(b.Pair, files{path: string(data)}, tip) + ":" + ref
}

// agentPush pushes as the agent and wants this, or success where it is "".
func (b *unitBench) agentPush(want string, refspecs ...string) {
	b.T.Helper()
	if out, err := b.AgentPush(refspecs...); (err == nil) != (want == "") || !strings.Contains(out, want) {
		b.T.Fatalf("%v: wanted %q: %v\n%s", refspecs, want, err, out)
	}
}

// TestNobodyCertifiesHimself: what the agent says of its success in COMMS.md and in
// its evidence is held to the host's verdict; what the PM lets in, fsck names.
func TestNobodyCertifiesHimself(t *testing.T) {
	t.Parallel()
	b := newUnits(t)
	hash := b.main().DirectiveHash
	report := func(text string) {
		t.Helper()
		b.Git("switch", "-q", "-C", "report", "origin/main")
		b.Commit(comms.Path, b.Git("show", "origin/main:"+comms.Path)+"### R-1 2026-11-21T09:00:00Z D-1 EXIT_CONVERGED\n\nAll done.\n\n"+text)
	}
	report("Directive: " + hash + "\n")
	b.agentPush("COMMS.md:13:1: comms/agent-verdict: R-1 says EXIT_CONVERGED", "HEAD:main") // no unit at all
	b.work("hello")
	c := b.claimed()
	b.agentPush("comms/agent-verdict", "report:main") // no verdict yet
	certificate := b.certificate(c, 0)
	b.agentPush("certificate.json: evidence/verdict: it claims EXACT, and the host has no such verdict for D-1.1", certificate)
	b.verdict("D-1.1", c, "podman", false)
	b.agentPush("comms/agent-verdict", "report:main")
	b.agentPush("evidence/verdict", certificate)
	b.verdict("D-1.1", c, "podman", true)
	report("Directive: " + strings.Repeat("0", 64) + "\n")
	b.agentPush("comms/agent-verdict", "report:main") // of another text
	report("Directive: " + hash + "\n")
	b.agentPush("", "report:main")
	b.agentPush("", certificate)
	b.agentPush("halting_report.json: evidence/verdict: it claims EXACT on rung 65537, and the host has no such verdict for D-1.1", b.report(c, loop.Rung65537))
	b.agentPush("evidence/verdict: it claims EXACT on rung 65538", b.report(c, 65538))
	main := strings.TrimSpace(b.Git("rev-parse", "main"))
	b.agentPush("halting_report.json: evidence/verdict: it claims EXACT", b.report(main, loop.Rung274177))
	b.agentPush("", b.report(c, loop.Rung274177))
	b.Fsck()
	lies := b.report(c, loop.Rung65537)
	if out, err := b.Push(lies); err != nil {
		t.Fatal(out)
	}
	if out, err := b.Try(b.Bare, nil, "", "git-ward", "fsck"); err == nil || !strings.Contains(out, "halting_report.json claims EXACT on rung 65537") {
		t.Fatal(out)
	}

	// The verdict is on c, and on no other commit.
	certificate = b.certificate(main, 1)
	b.agentPush("iter_1/certificate.json: evidence/verdict", certificate)
	if out, err := b.Push(certificate); err != nil {
		t.Fatal(out)
	}
	if out, err := b.Try(b.Bare, nil, "", "git-ward", "fsck"); err == nil || !strings.Contains(out, "fsck/evidence: evidence/D-1/loop/iter_1/certificate.json claims EXACT") {
		t.Fatal(out)
	}
}

// TestForgedVerdict: fsck names a verdict that its own outcomes do not bear out.
func TestForgedVerdict(t *testing.T) {
	t.Parallel()
	b := newUnits(t)
	b.work("hello")
	c := b.claimed()
	b.verdict("D-1.1", c, "podman", false)
	b.Fsck()
	forged := strings.NewReplacer(`"verdict":"NONE"`, `"verdict":"EXACT"`).Replace(b.Run(b.Bare, "git", "notes", "--ref=certificates", "show", c))
	b.Run(b.Bare, "git", "notes", "--ref=certificates", "add", "-f", "-m", forged, c)
	if out, err := b.Try(b.Bare, nil, "", "git-ward", "fsck"); err == nil || !strings.Contains(out, "EXACT that its own outcomes do not bear out") {
		t.Fatal(out)
	}
}

// TestDeviationsDoNotMerge: a verdict on main's version of a test says nothing of a
// commit that changes it.
func TestDeviationsDoNotMerge(t *testing.T) {
	t.Parallel()
	b := newUnits(t)
	configtest.Set(b.T, b.Bare, "agent_merge = true")
	b.work("hello")
	c := b.claimed()
	b.deviations = []string{"a_test.go (deleted)"}
	b.verdict("D-1.1", c, "podman", true)
	b.agentPush("a_test.go (deleted) decides and was changed", c+":main")
	b.deviations = nil
	b.verdict("D-1.1", c, "podman", true)
	b.agentPush("", c+":main")
}

// TestLeftDoesNotMerge: a verdict EXACT that names what it left out, or, of an earlier
// version, what the work brings of its own judges, carries no merge, however it is pushed;
// with what the PM included it does.
func TestLeftDoesNotMerge(t *testing.T) {
	t.Parallel()
	b := newUnits(t)
	configtest.Set(b.T, b.Bare, "agent_merge = true")
	b.work("hello")
	c := b.claimed()
	for _, additions := range [][]string{{"GNUmakefile (added)"}, {"zz_test.go (added)", "package.json (changed)"}, {"and 7 more"}, {""}} {
		b.additions = additions
		b.verdict("D-1.1", c, "podman", true)
		b.agentPush("is no work by the directive, and the run that decided", c+":main")
	}
	b.additions, b.left = nil, []loop.Left{{Path: "README", Kind: "added", Mode: "100644", Blob: c}}
	b.verdict("D-1.1", c, "podman", true)
	b.agentPush("README (added) is no work by the directive, and the run that decided", c+":main")
	b.left, b.included = nil, []string{"README"}
	b.verdict("D-1.1", c, "podman", true)
	b.agentPush("", c+":main")
}

// TestLateClosing: a unit that ended is refined and archived after the next one
// began; the ledgers still hold.
func TestLateClosing(t *testing.T) {
	tier.Full(t, "a long story of a unit that closes late")
	t.Parallel()
	b := newUnits(t)
	b.step("D-1.1", byAgent(uow.Open))
	b.step("D-1.1", byAgent(uow.Activate))
	b.step("D-1.1", byAgent(uow.Iterate))
	b.step("D-1.1", byAgent(uow.Fail))
	b.step("D-1.2", byPM(uow.Fork))
	b.step("D-1.1", byAgent(uow.Refine))
	b.step("D-1.2", byAgent(uow.Activate))
	b.step("D-1.1", byAgent(uow.Archive))
	b.step("D-1.2", byAgent(uow.Iterate))
	b.Fsck()
}

// TestVerbsRace: verbs at the same time all get their turn, wherever the race is
// lost.
func TestVerbsRace(t *testing.T) {
	b := newUnits(t)
	b.step("D-1.1", byAgent(uow.Open))
	b.step("D-1.1", byAgent(uow.Activate))
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if out, err := b.Try(b.Bare, nil, "", "git-ward", "uow", "resume", "--pulse", "--reason", "PULSE_APPROVED", "D-1.1"); err != nil {
				t.Error(err, out)
			}
		})
	}
	all.Wait()
	b.catchUp("D-1.1")
	if n := strings.Count(b.Git("log", "--format=%s", uow.RefPrefix+"D-1.1"), "heartbeat"); n != 4 {
		t.Errorf("%d of 4 signs arrived", n)
	}
	b.Fsck()
}
