package hooks_test

import (
	"strings"
	"testing"

	"git-ward/internal/configtest"
	"git-ward/protocols/boot"
	"git-ward/protocols/loop"
	"git-ward/protocols/loop/looptest"
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
	for words, doubt := range looptest.Doubtful {
		b.doubt = doubt
		b.verdict("D-1.1", c, "podman", true)
		refused(words, c+":main")
	}
	b.doubt = nil
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
	b.Run(b.Bare, "git", "update-ref", boot.PassedRef("D-1"), "main~1")
	refused("has passed no probation", c+":main")
	b.Commit("LEARNINGS.md", "what it learnt\n")
	same := strings.TrimSpace(b.Git("rev-parse", "HEAD"))
	b.Git("reset", "-q", "--hard", c)
	if out, err := b.AgentPush(same + ":refs/heads/agent/same"); err != nil {
		t.Fatal(out)
	}
	b.Run(b.Bare, "git", "update-ref", boot.PassedRef("D-1"), same)
	b.Commit("evidence/D-1/note.md", "words beside it are free\n")
	if out, err := b.AgentPush("HEAD:main"); err != nil {
		t.Fatal(out)
	}
	b.step("D-1.1", byAgent(uow.Complete))
	b.Fsck()
}

// TestMergeRightOfWard: so it is where main is Ward's own source, whose program comes from the
// tree though no setting says so.
func TestMergeRightOfWard(t *testing.T) {
	t.Parallel()
	b := newUnits(t)
	configtest.Set(b.T, b.Bare, "agent_merge = true")
	b.Git("switch", "-q", "main")
	for _, path := range boot.WardFiles {
		b.Commit(path, "a file of Ward's\n")
	}
	if out, err := b.Push("main"); err != nil {
		t.Fatal(out)
	}
	b.step("D-1.1", byAgent(uow.Open))
	b.step("D-1.1", byAgent(uow.Activate))
	b.step("D-1.1", byAgent(uow.Iterate))
	c := b.work("hello")
	b.claim("D-1.1", c)
	b.verdict("D-1.1", c, "podman", true)
	if out, err := b.AgentPush(c + ":main"); err == nil || !strings.Contains(out, "has passed no probation") {
		t.Fatalf("%v\n%s", err, out)
	}
	b.Run(b.Bare, "git", "update-ref", boot.PassedRef("D-1"), c)
	if out, err := b.AgentPush(c + ":main"); err != nil {
		t.Fatal(out)
	}
}

// TestNewRootKind: a name of main's root that becomes another kind of thing is new there: a
// file a directory or a link, a directory a file. What stays of its kind is not, executable or
// not, nor what a directory gets besides.
func TestNewRootKind(t *testing.T) {
	t.Parallel()
	b := newUnits(t)
	b.Git("switch", "-q", "main")
	b.Commit("conf", "a file\n")
	b.Commit("conf.d/a", "a file in a directory\n")
	b.Commit("run", "a file\n")
	if out, err := b.Push("main"); err != nil {
		t.Fatal(out)
	}
	configtest.Set(b.T, b.Bare, "agent_merge = true")
	configtest.Set(b.T, b.Bare, `new_root = "ask"`)
	b.step("D-1.1", byAgent(uow.Open))
	b.step("D-1.1", byAgent(uow.Activate))
	b.step("D-1.1", byAgent(uow.Iterate))
	main := strings.TrimSpace(b.Git("rev-parse", "main"))
	b.Git("switch", "-q", "-C", "agent/D-1", main)
	for _, c := range []struct{ change, want string }{
		{"rm conf && mkdir conf && echo hello >conf/x", "conf is new at the root as a directory"},
		{"ln -sf run conf", "conf is new at the root as a link"},
		{"rm -r conf.d && echo hello >conf.d", "conf.d is new at the root as a file"},
		{"rm -r conf.d && ln -s run conf.d", "conf.d is new at the root as a link"},
		{"chmod +x run && echo hello >conf.d/b", ""},
	} {
		b.Git("rm", "-q", "-r", ".")
		b.Git("checkout", "-q", main, "--", ".")
		b.Run(b.Work, "sh", "-c", c.change)
		b.Git("add", "--all")
		b.Git("commit", "-q", "-m", c.change)
		commit := strings.TrimSpace(b.Git("rev-parse", "HEAD"))
		if out, err := b.AgentPush("agent/D-1"); err != nil {
			t.Fatal(out)
		}
		b.verdict("D-1.1", commit, "podman", true)
		if out, err := b.AgentPush(commit + ":main"); c.want != "" && (err == nil || !strings.Contains(out, c.want)) || c.want == "" && err != nil {
			t.Errorf("%s: %v, wanted %q\n%s", c.change, err, c.want, out)
		}
	}
}
