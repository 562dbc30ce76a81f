package hooks_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"git-ward/internal/tier"
)

// TestRefsThatDeceive: from anybody, no branch or tag has a name that git or people
// take for another thing (HOOK-4b), and what has one can go.
func TestRefsThatDeceive(t *testing.T) {
	tier.Full(t, "a push for each name that deceives; hooks/push reads them in one process")
	t.Parallel()
	p := newPair(t)
	head := strings.TrimSpace(p.Git("rev-parse", "HEAD"))
	p.Push("HEAD:refs/heads/topic", "HEAD:refs/tags/v1", "HEAD:refs/heads/feature/One")
	for ref, want := range map[string]string{
		"refs/tags/topic": "a tag of this name is mistaken for refs/heads/topic", "refs/tags/Topic": "mistaken for refs/heads/topic", "refs/tags/main": "mistaken for refs/heads/main",
		"refs/tags/MAIN": "mistaken for refs/heads/main", "refs/heads/v1": "a branch of this name is mistaken for refs/tags/v1", "refs/tags/origin/main": "fetched from origin",
		"refs/tags/Origin/main": "fetched from origin", "refs/tags/origin": "fetched from origin", "refs/heads/origin/main": "fetched from origin",
		"refs/tags/HEAD": "git's own HEAD", "refs/tags/head": "git's own head", "refs/tags/FETCH_HEAD": "git's own FETCH_HEAD", "refs/heads/Fetch_Head": "git's own", "refs/tags/@": "git's own @", "refs/heads/HEAD": "git's own HEAD",
		"refs/tags/refs/heads/main": "another ref", "refs/tags/heads/main": "another ref", "refs/tags/Remotes/origin/main": "another ref", "refs/heads/tags/v1": "another ref",
		"refs/tags/" + head: "an object id", "refs/tags/" + strings.ToUpper(head): "an object id", "refs/heads/" + strings.Repeat("a1", 32): "an object id",
		"refs/tags/" + head[:10]: "mistaken for the object " + head[:12], "refs/heads/" + strings.ToUpper(head[:7]): "mistaken for the object " + head[:12],
		"refs/heads/Main": "ref/collision: and refs/heads/main are one ref where file names fold", "refs/heads/ma\u0131n": "ref/collision", "refs/tags/V1": "ref/collision",
		"refs/heads/feature/one": "ref/collision", "refs/heads/Feature/one": "ref/collision", "refs/heads/Feature": "ref/collision: and refs/heads/feature/One cannot both be there",
		"refs/heads/topic/x": "ref/collision: and refs/heads/topic cannot both be there", "refs/heads/TOPIC/x": "ref/collision",
		"refs/Notes/audit": "ref/host-only", "refs/notes/AUDIT": "ref/host-only", "refs/Ward/audit": "ref/host-only", "refs/ward/Uow/D-1.1": "ref/ward", "refs/Replace/" + head: "ref/replace",
		"refs/heads/agent": "no room for the agent's", "refs/heads/Rescue": "no room for the agent's", "refs/tags/agent/D-9": "a branch of the agent's",
		"refs/heads/a\u200bb": "ref/name", "refs/heads/a\u202eb": "ref/name", "refs/heads/a\u3164": "ref/name", "refs/heads/x\u00a0y": "ref/name",
	} {
		if out, err := p.Push("HEAD:" + ref); err == nil || !strings.Contains(strings.ReplaceAll(out, "remote: ", ""), want) {
			t.Errorf("%s: want %q (%v) in\n%s", ref, want, err, out)
		}
	}
	// The same from the agent, in its own space, and among the refs of one push.
	p.AgentPush("HEAD:refs/heads/agent/D-1")
	refuses(t, p.AgentPush, "HEAD:refs/heads/agent/d-1", "refs/heads/agent/d-1: ref/collision: and refs/heads/agent/D-1 are one ref")
	if out, err := p.AgentPush("HEAD:refs/heads/agent/E", "HEAD:refs/heads/agent/e"); err == nil || !strings.Contains(out, "ref/collision") {
		t.Errorf("%v\n%s", err, out)
	}
	if out, err := p.Push("HEAD:refs/heads/new", "HEAD:refs/tags/new"); err == nil || !strings.Contains(out, "mistaken for refs/heads/new") {
		t.Errorf("%v\n%s", err, out)
	}
	// Names that are like nothing else.
	if out, err := p.Push("HEAD:refs/tags/2026-11-22", "HEAD:refs/tags/20261122", "HEAD:refs/heads/original", "HEAD:refs/heads/headline", "HEAD:refs/tags/v1.0/rc", "HEAD:refs/heads/发布", "HEAD:refs/heads/agents/x"); err != nil {
		t.Error(out)
	}
	// A name from before can go, and its like comes after it.
	p.Run(p.Bare, "git", "update-ref", "refs/heads/Main", head)
	p.Run(p.Bare, "git", "update-ref", "refs/tags/topic", head)
	p.Run(p.Bare, "git-ward", "init", "--bare", p.Bare)
	if out, err := p.Push(":refs/heads/Main", ":refs/tags/topic"); err != nil {
		t.Error(out)
	}
	refuses(t, p.AgentPush, ":refs/heads/agent/D-1")
	refuses(t, p.AgentPush, "HEAD:refs/heads/agent/d-1")
	// What is not there cannot go: git would leave the push without a record until the next.
	refuses(t, p.Push, ":refs/heads/none", "refs/heads/none: ref/absent: there is no such ref to delete")
	refuses(t, p.AgentPush, ":refs/heads/agent/none", "refs/heads/agent/none: ref/absent")
	if out := p.Run(p.Bare, "git-ward", "fsck"); !strings.Contains(out, " 0 findings") {
		t.Error(out)
	}
	if fmt.Sprint(p.Run(p.Bare, "git", "for-each-ref", "refs/heads/agent")) == "" {
		t.Error("no agent/d-1")
	}
}

// TestTakeRefs: the PM alone has a merge judged, below refs/ward/take and by a unit's id
// (PROOF-7).
func TestTakeRefs(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	for _, name := range []string{"D-1", "x", "D-1.1/x", "D-01.1", "d-1.1"} {
		refuses(t, p.Push, "HEAD:refs/ward/take/"+name, "ref/ward")
	}
	refuses(t, p.AgentPush, "HEAD:refs/ward/take/D-1.1", "the agent may not push this ref")
	if out, err := p.Push("HEAD:refs/ward/take/D-1.1"); err != nil {
		t.Error(out)
	}
	refuses(t, p.AgentPush, ":refs/ward/take/D-1.1", "the agent may not push this ref")
	if out, err := p.Push(":refs/ward/take/D-1.1"); err != nil {
		t.Error(out)
	}
	p.Fsck()
}

// TestSymbolicRefs: a push by another name of main moves main in git, so the gate refuses it, whoever
// pushes, and what would delete it; a link of the file system is such a name, too.
func TestSymbolicRefs(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	main := strings.TrimSpace(p.Git("rev-parse", "HEAD"))
	p.Commit("notes.txt", "Hello.\n")
	tip := func(dir string) string { return strings.TrimSpace(p.Run(dir, "git", "rev-parse", "refs/heads/main")) }

	plain := filepath.Join(t.TempDir(), "plain.git") // without a gate: this is what git does
	p.Run(p.Work, "git", "init", "--bare", "--quiet", plain)
	p.Git("push", "--quiet", plain, main+":refs/heads/main")
	p.Run(plain, "git", "symbolic-ref", "refs/heads/agent/D-1", "refs/heads/main")
	p.Git("push", "--quiet", plain, "HEAD:refs/heads/agent/D-1")
	if tip(plain) == main {
		t.Error("git moves the symbolic ref itself: the gate need not refuse it")
	}

	p.Run(p.Bare, "git", "symbolic-ref", "refs/heads/agent/D-1", "refs/heads/main")
	p.Run(p.Bare, "git", "symbolic-ref", "refs/heads/trunk", "refs/heads/main")
	if err := os.Symlink("../main", filepath.Join(p.Bare, "refs/heads/agent/D-2")); err != nil {
		t.Fatal(err)
	}
	refuses(t, p.AgentPush, "HEAD:refs/heads/agent/D-1", "refs/heads/agent/D-1: ref/symbolic: is a symbolic ref here, and git would move refs/heads/main")
	refuses(t, p.AgentPush, "HEAD:refs/heads/agent/D-2", "refs/heads/agent/D-2: ref/symbolic: is a symbolic ref here, and git would move ../main")
	refuses(t, p.Push, "HEAD:refs/heads/trunk", "refs/heads/trunk: ref/symbolic")
	refuses(t, p.Push, ":refs/heads/trunk", "git symbolic-ref --delete refs/heads/trunk")
	p.Run(p.Bare, "git", "update-ref", "refs/heads/was", main)
	p.Run(p.Bare, "git", "symbolic-ref", "refs/heads/main", "refs/heads/was")
	refuses(t, p.Push, "HEAD:refs/heads/main", "git update-ref --no-deref refs/heads/main refs/heads/main")
	p.Run(p.Bare, "git", "update-ref", "--no-deref", "refs/heads/main", "refs/heads/main")
	if tip(p.Bare) != main {
		t.Error("main has moved")
	}
	p.Run(p.Bare, "git", "symbolic-ref", "--delete", "refs/heads/agent/D-1") // as the refusal says
	if out, err := p.AgentPush("HEAD:refs/heads/agent/D-1"); err != nil || tip(p.Bare) != main {
		t.Errorf("%v\n%s", err, out)
	}
}
