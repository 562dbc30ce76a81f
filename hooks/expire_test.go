package hooks_test

import (
	"strings"
	"testing"

	"git-ward/internal/tier"
	"git-ward/protocols/record"
	"git-ward/protocols/uow"
)

// record puts a commit on the unit's record, in the clone: its manifest, and the work
// that it speaks of.
func (b *unitBench) record(id, manifest, speaks string) string {
	b.T.Helper()
	b.Git("switch", "-q", "--orphan", "papers")
	b.Git("commit", "-q", "--allow-empty", "-m", "the record begins")
	root := strings.TrimSpace(b.Git("rev-parse", "HEAD"))
	b.Commit("evidence/D-1/loop/manifest.json", manifest)
	tree := strings.TrimSpace(b.Git("rev-parse", "HEAD^{tree}"))
	b.Git("switch", "-q", "main")
	b.Git("branch", "-q", "-D", "papers")
	return strings.TrimSpace(b.Git("commit-tree", "-m", "record", "-p", root, "-p", speaks, tree))
}

// claim pushes a claim of a commit of the agent's branch, with the branch and a record
// that speaks of the commit. Nothing else is on the record.
func (b *unitBench) claim(id, work string) {
	b.T.Helper()
	ref := record.Prefix + id
	tip, _, _ := strings.Cut(b.Git("ls-remote", "origin", ref), "\t")
	if tip == "" {
		empty := strings.TrimSpace(b.Git("hash-object", "-t", "tree", "-w", "/dev/null"))
		tip = strings.TrimSpace(b.Git("commit-tree", "-m", "the record begins", empty))
	}
	in := byAgent(uow.MakeClaim)
	in.Commit = work
	in.Record = strings.TrimSpace(b.Git("commit-tree", "-m", "record", "-p", tip, "-p", work, tip+"^{tree}"))
	b.step(id, in, "agent/D-1", in.Record+":"+ref)
}

// TestExpire: the PM drops the record of a unit that was archived, in one push with the
// step of the journal that says what it was; the objects go with maintenance, and
// nobody misses them.
func TestExpire(t *testing.T) {
	tier.Full(t, "a long story with a record that the PM drops")
	t.Parallel()
	b := newUnits(t)
	ref := record.Prefix + "D-1.1"
	b.step("D-1.1", byAgent(uow.Open))
	b.step("D-1.1", byAgent(uow.Activate))
	b.step("D-1.1", byAgent(uow.Iterate))
	work := b.work("one")
	claim := byAgent(uow.MakeClaim)
	claim.Commit, claim.Record = work, b.record("D-1.1", `{"artifacts":[],"loop_id":"D-1.1","schema_version":"2.0"}`, work)
	b.step("D-1.1", claim, "agent/D-1", claim.Record+":"+ref)
	b.uow("! D-1.1 is ACTIVE: expire does not lead anywhere from there", "archive", "--expire", "D-1.1")
	for _, e := range []uow.Event{uow.Fail, uow.Refine, uow.Archive} {
		b.step("D-1.1", byAgent(e))
	}
	for _, push := range []func(...string) (string, error){b.Push, b.AgentPush} {
		if out, err := push(":" + ref); err == nil || !strings.Contains(out, "record/rewrite") {
			t.Error(err, out)
		}
	}
	b.uow("! there is no unit D-7.1", "archive", "--expire", "D-7.1")
	b.uow("D-1.1: archived", "archive", "--expire", "D-1.1")
	journal := b.Run(b.Bare, "git", "show", uow.RefPrefix+"D-1.1:"+uow.File)
	if !strings.Contains(journal, `"expired":{"manifest":"`) || !strings.Contains(journal, `"record":"`+claim.Record+`"`) || !strings.Contains(journal, `"reason_code":"RETENTION_OVER"`) {
		t.Error(journal)
	}
	for _, dir := range []string{b.Bare, b.Work} {
		if left := b.Run(dir, "git", "for-each-ref", record.Prefix); left != "" {
			t.Error(dir, left)
		}
	}
	b.uow("! the record of D-1.1 has expired already", "archive", "--expire", "D-1.1")
	if out, err := b.Push(claim.Record + ":" + ref); err == nil {
		t.Error("it came back", out)
	}
	b.Fsck()
	if out := b.Run(b.Bare, "git-ward", "maintain", "--keep", "0s", b.Bare); !strings.Contains(out, "what was dropped or redacted is gone") {
		t.Error(out)
	}
	if _, err := b.Try(b.Bare, nil, "", "git", "cat-file", "-e", claim.Record); err == nil {
		t.Error("the record is stored still")
	}
	b.Fsck()
}
