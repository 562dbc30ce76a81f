package hooks_test

import (
	"strings"
	"testing"

	"git-ward/internal/tier"
	"git-ward/protocols/uow"
)

// alter puts a commit with this uow.json onto a journal, or in its place, as somebody with
// the host's rights could.
func (b *unitBench) alter(id, parent, content string) {
	b.T.Helper()
	sh := func(stdin string, args ...string) string {
		out, err := b.Try(b.Bare, nil, stdin, "git", args...)
		if err != nil {
			b.T.Fatal(err, out)
		}
		return strings.TrimSpace(out)
	}
	tree := sh("100644 blob "+sh(content, "hash-object", "-w", "--stdin")+"\tuow.json\n", "mktree")
	args := []string{"commit-tree", "-m", "x", tree}
	if parent != "" {
		args = append(args, "-p", parent)
	}
	sh("", "update-ref", uow.RefPrefix+id, sh("", args...))
}

// object is the id of what a name is in the repository.
func (b *unitBench) object(name string) string {
	return strings.TrimSpace(b.Run(b.Bare, "git", "rev-parse", name))
}

// TestAlteredJournal: a tip that was altered on the host is a breach (UOW-1). Who pushes
// onto it brings it to light, `git ward uow show` names it and still lists the others, and
// the PM has the last word.
func TestAlteredJournal(t *testing.T) {
	tier.Full(t, "a unit for each way to alter a journal")
	t.Parallel()
	for name, alter := range map[string]func(b *unitBench, sound string){
		"no record":       func(b *unitBench, sound string) { b.alter("D-1.1", sound, "{") },
		"a rewritten ref": func(b *unitBench, sound string) { b.alter("D-1.1", "", "nothing of it") },
		"a wrong hash": func(b *unitBench, sound string) {
			b.alter("D-1.1", sound, strings.Replace(b.Run(b.Bare, "git", "show", sound+":uow.json"), `"retries":0`, `"retries":1`, 1))
		},
		"a blob": func(b *unitBench, sound string) {
			b.Run(b.Bare, "git", "update-ref", uow.RefPrefix+"D-1.1", b.object(sound+":uow.json"))
		},
		"a tree": func(b *unitBench, sound string) {
			b.Run(b.Bare, "git", "update-ref", uow.RefPrefix+"D-1.1", b.object(sound+"^{tree}"))
		},
		"one of the middle": func(b *unitBench, sound string) {
			b.alter("D-1.1", sound, b.Run(b.Bare, "git", "show", sound+"~1:uow.json"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newUnits(t)
			b.step("D-1.1", byAgent(uow.Open))
			b.step("D-1.1", byAgent(uow.Activate))
			b.step("D-1.1", byAgent(uow.Iterate))
			b.uow("D-1.1", "list") // the PM's clone has the sound one
			sound := b.tips[uow.RefPrefix+"D-1.1"]
			alter(b, sound)
			altered := strings.TrimSpace(b.Run(b.Bare, "git", "rev-parse", uow.RefPrefix+"D-1.1"))
			b.uow("! broken", "list")

			args := []string{"commit-tree", "-m", "x", b.object(sound + "^{tree}")}
			if b.Run(b.Bare, "git", "cat-file", "-t", altered) == "commit\n" {
				args = append(args, "-p", altered)
			}
			next := strings.TrimSpace(b.Run(b.Bare, "git", args...))
			b.Git("fetch", "-q", b.Bare, "+"+uow.RefPrefix+"D-1.1:refs/x")
			b.Run(b.Bare, "git", "update-ref", "refs/heads/agent/x", next)
			b.Git("fetch", "-q", "origin", "refs/heads/agent/x:refs/y")
			b.Run(b.Bare, "git", "update-ref", "-d", "refs/heads/agent/x")
			if out, err := b.AgentPush("+refs/y:" + uow.RefPrefix + "D-1.1"); err == nil || !strings.Contains(out, "uow/stored") || !strings.Contains(out, "git ward uow cancel --failed D-1.1") {
				t.Fatal(err, out)
			}
			b.uow("its journal was changed", "list")
			b.uow("looks back", "cancel", "--failed", "D-1.1")
			b.uow("! D-1.1 is REFINEMENT_ANALYSIS: confirm does not lead anywhere", "cancel", "--failed", "D-1.1")
		})
	}
}
