package hooks_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"git-ward/internal/configtest"
	"git-ward/protocols/boot"
	"git-ward/protocols/loop"
	"git-ward/protocols/uow"
)

// TestMergeRight: only verified work, by an ACTIVE unit, without anything beside it.
func TestMergeRight(t *testing.T) {
	t.Parallel()
	b := newUnits(t)
	configtest.Set(b.T, b.Bare, "agent_merge = true")
	b.step("D-1.1", byAgent(uow.Open))
	b.step("D-1.1", byAgent(uow.Activate))
	b.step("D-1.1", byAgent(uow.Iterate))
	c := b.work("hello")
	b.claim("D-1.1", c)
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
	// What is new at the root waits for the PM's word where the host admin wants that; papers
	// are none of it.
	configtest.Set(b.T, b.Bare, `new_root = "ask"`)
	refused("is new at the root", c+":main")
	configtest.Set(b.T, b.Bare, `new_root = "review"`)
	// A program from the tree waits until the host knows that it passed a probation: another
	// program did, then one with the same code, and papers of its own.
	configtest.Set(b.T, b.Bare, `run = ["sh", "hello"]`)
	refused("has passed no probation", c+":main")
	b.Run(b.Bare, "git", "update-ref", boot.PassedPrefix+"1", "main~1")
	refused("has passed no probation", c+":main")
	b.Commit("LEARNINGS.md", "what it learnt\n")
	same := strings.TrimSpace(b.Git("rev-parse", "HEAD"))
	b.Git("reset", "-q", "--hard", c)
	if out, err := b.AgentPush(same + ":refs/heads/agent/same"); err != nil {
		t.Fatal(out)
	}
	b.Run(b.Bare, "git", "update-ref", boot.PassedPrefix+"1", same)
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
		if out, err := b.AgentPush("+agent/D-1:refs/heads/agent/old"); err == nil || !strings.Contains(out, want) {
			t.Fatalf("wanted %q: %v\n%s", want, err, out)
		}
		b.Git("reset", "-q", "--hard", "HEAD~1")
	}
	good := loop.Artifact{Path: dir + "/tests.txt", SHA256: loop.Digest([]byte(log)), Role: "log"}
	b.Commit(dir+"/tests.txt", log)
	b.Commit("evidence/D-1/loop/manifest.json", manifest(good))
	if out, err := b.AgentPush("agent/D-1:refs/heads/agent/old"); err != nil {
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
