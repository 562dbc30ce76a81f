package hooks_test

import (
	"path/filepath"
	"strings"
	"testing"

	"git-ward/internal/gittest"
	"git-ward/internal/tier"
)

// TestRedact: the PM takes a file out of the history of a repository that has units,
// verdicts and evidence; all of it stays whole, the objects go, and its people go on.
func TestRedact(t *testing.T) {
	tier.Full(t, "a long story with units, records and a redaction")
	t.Parallel()
	p := gittest.Recorded(t)
	p.Run(filepath.Dir(p.Bare), "git-ward", "init", "--bare", p.Bare)
	p.Run(filepath.Dir(p.Bare), "git-ward", "clone", p.Bare, p.Work)
	const file = "greet.sh"
	blob := strings.TrimSpace(p.Run(p.Bare, "git", "rev-parse", "agent/D-1:"+file))
	refused := func(want string, args ...string) {
		t.Helper()
		before := p.Run(p.Bare, "git", "for-each-ref")
		out, err := p.Try(filepath.Dir(p.Bare), nil, "", "git-ward", append([]string{"redact", "--bare", p.Bare, "-m", "a name"}, args...)...)
		if err == nil || !strings.Contains(out, want) || p.Run(p.Bare, "git", "for-each-ref") != before {
			t.Errorf("%q: %v\n%s", args, err, out)
		}
	}
	refused("main still has "+file, blob)
	refused("names nothing that is stored", "main:no/such/file")
	refused("is a tree, not a file", "main:plans")
	refused("D-2.1 is ACTIVE", "agent/D-2:a")
	p.Run(p.Work, "git-ward", "uow", "cancel", "D-2.1")
	p.Run(p.Work, "git-ward", "uow", "archive", "D-2.1")
	p.Git("pull", "-q", "--rebase")
	p.Git("rm", "-q", file)
	p.Git("commit", "-q", "-m", "take the script out")
	p.Git("push", "-q", "origin", "main")
	p.Git("tag", "-a", "-m", "x", "v1")
	p.Git("push", "-q", "origin", "v1")
	refused("the annotated tag refs/tags/v1 has it", blob)
	p.Git("push", "-q", "origin", ":v1")
	if out := p.Run(filepath.Dir(p.Bare), "git-ward", "redact", "--bare", p.Bare, "-m", "a name", "--dry-run", blob); !strings.Contains(out, "would move refs/heads/main\n") {
		t.Error(out)
	}
	old := strings.TrimSpace(p.Run(p.Bare, "git", "rev-parse", "main"))
	out := p.Run(filepath.Dir(p.Bare), "git-ward", "redact", "--bare", p.Bare, "-m", "a name", blob)
	for _, want := range []string{"redacted " + file, "moved refs/heads/agent/D-1\n", "moved refs/heads/main\n", "next: git ward maintain"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	p.Fsck()
	p.Run(p.Bare, "git", "config", "extensions.preciousObjects", "true")
	out = p.Run(p.Bare, "git-ward", "maintain", "--keep", "0s")
	if !strings.Contains(out, "1 of 1 that were dropped or redacted are stored still, and stay") || !strings.Contains(out, "git config --unset extensions.preciousObjects") ||
		strings.Contains(out, "and objects") || strings.Contains(out, "in an hour") {
		t.Errorf("of a repository whose objects are precious: %s", out)
	}
	p.Run(p.Bare, "git", "config", "--unset", "extensions.preciousObjects")
	if out := p.Run(p.Bare, "git-ward", "maintain", "--keep", "0s", p.Bare); !strings.Contains(out, "what was dropped or redacted is gone") {
		t.Error(out)
	}
	for _, gone := range []string{blob, old} {
		if out, err := p.Try(p.Bare, nil, "", "git", "cat-file", "-e", gone); err == nil {
			t.Errorf("%s is stored still %s", gone, out)
		}
	}
	p.Fsck()
	p.Git("branch", "before")
	for _, push := range [][]string{{"--force", "before:main"}, {"before"}, {"before:refs/tags/v0"}} {
		if out, err := p.Push(push...); err == nil || !strings.Contains(out, file+": redacted/blob: the PM took this content out of the history") {
			t.Errorf("%q brings it back: %v\n%s", push, err, out)
		}
	}
	p.Run(p.Bare, "rm", "ward/redacted") // an index of the audit
	if out, err := p.Try(p.Bare, nil, "", "git-ward", "fsck"); err == nil || !strings.Contains(out, "fsck/redacted: the gate does not know of 1 redacted object that must not come back") {
		t.Error(out)
	}
	p.Run(p.Bare, "git-ward", "fsck", "--repair")
	p.Fsck()
	// A clone of before does not bring it back by an ordinary push; a new one goes on.
	p.Commit("notes.txt", "on the old main\n")
	if out, err := p.Push("main"); err == nil {
		t.Error("pushed on top of the old history", out)
	}
	p.Git("fetch", "-q", "origin", "+refs/heads/*:refs/remotes/origin/*") // the record was rewritten, too
	p.Git("reset", "-q", "--hard", "origin/main")
	p.Commit("notes.txt", "on the new main\n")
	if out, err := p.Push("main"); err != nil {
		t.Error(err, out)
	}
	p.Fsck()
}
