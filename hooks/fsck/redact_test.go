package fsck

import (
	"errors"
	"strings"
	"testing"
	"time"

	"git-ward/hooks/redact"
	"git-ward/internal/git"
	"git-ward/protocols/record"
	"git-ward/protocols/uow"
)

// archive ends the unit and puts it away.
func (r *recorded) archive() {
	r.t.Helper()
	for _, in := range []uow.Input{
		{Event: uow.Fail, Actor: uow.Agent, Reason: "LOOP_DIVERGED"},
		{Event: uow.Refine, Actor: uow.Agent, Reason: "ANALYSIS_STARTED"},
		{Event: uow.Archive, Actor: uow.PM, Reason: "AUDIT_RETENTION"},
	} {
		id, next := r.next("D-1.1", in)
		r.journal(id, next, "")
	}
}

func (r *recorded) whole(when string) {
	r.t.Helper()
	if found, _ := r.findings(Options{}); len(found) > 0 {
		r.t.Errorf("%s: %q", when, found)
	}
}

// TestRedacted: what the PM redacts of a record and of the work is gone from all of its
// history, and the repository is whole: the journal, the manifests and the certificates
// name the commits and the files of before, and the tombstone explains them.
func TestRedacted(t *testing.T) {
	r := newRecorded(t)
	secret := record.Ref(r.id) + ":evidence/D-1/loop/iter_0/changes.txt"
	blob, work := r.git("rev-parse", secret), r.git("rev-parse", "refs/heads/agent/D-1^:work.txt")
	req := redact.Request{Files: []string{secret, work}, Why: "a customer's name", Time: time.Now()}
	_, err := redact.Run(t.Context(), r.Repo, req)
	var refused *redact.Refused
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), "D-1.1 is ACTIVE, and its branch or its record has it") {
		t.Fatal("a unit at work: ", err)
	}
	r.archive()
	r.whole("archived")
	tips := r.git("for-each-ref")
	req.Try = true
	tried, err := redact.Run(t.Context(), r.Repo, req)
	if err != nil || tried.Record != 0 || r.git("for-each-ref") != tips {
		t.Fatal("a try: ", err, tried)
	}
	req.Try = false
	done, err := redact.Run(t.Context(), r.Repo, req)
	if err != nil || len(done.Objects) != 2 || len(done.Refs) != 2 || done.Commits != tried.Commits || done.Record == 0 {
		t.Fatal(err, done)
	}
	for _, id := range []string{blob, work} {
		if has := r.git("log", "--all", "--format=%H", "-m", "--find-object="+id); has != "" {
			t.Errorf("%s is in the history of %s", id, has)
		}
	}
	if text := r.git("cat-file", "blob", secret); !strings.Contains(text, "taken out of the history by the project's PM") || !strings.Contains(text, "a customer's name") {
		t.Error(text)
	}
	r.whole("redacted")
	// The blob is stored still, and no ref leads to it.
	req.Files = []string{blob}
	if _, err := redact.Run(t.Context(), r.Repo, req); !errors.As(err, &refused) || !strings.Contains(err.Error(), "no branch and no record has it") {
		t.Error("again: ", err)
	}
	req.Files = []string{record.Ref(r.id) + ":evidence/D-1/loop/iter_1/changes.txt"}
	if _, err := redact.Run(t.Context(), r.Repo, req); err != nil {
		t.Fatal(err)
	}
	r.whole("redacted twice")
	// What goes on after it is held to the same: a file that nobody redacted.
	r.tip = r.guarded.tip(record.Ref(r.id))
	r.push(record.Ref(r.id), r.commit("", map[string]string{"evidence/D-1/loop/iter_0/artifacts.json": "{}"}))
	found, _ := r.findings(Options{})
	match(t, "changed", found, []string{"fsck/evidence: evidence/D-1/loop/iter_0/artifacts.json has another hash"})
}

// TestExpired: a record that the PM dropped is missed by nobody, and one that comes back
// is named.
func TestExpired(t *testing.T) {
	r := newRecorded(t)
	r.archive()
	tip := r.tip
	_, next := r.next("D-1.1", uow.Input{Event: uow.Expire, Actor: uow.PM, Reason: "RETENTION_OVER", Expired: &uow.Expired{Record: tip}})
	r.journal(r.id, next, "")
	r.push(record.Ref(r.id), git.Zero)
	r.whole("expired")
	r.push(record.Ref(r.id), tip)
	found, _ := r.findings(Options{})
	match(t, "back", found, []string{"fsck/record: the PM dropped the record of D-1.1, and it is here again"})
}

// TestTombstoneByHand: one that cannot be read is named.
func TestTombstoneByHand(t *testing.T) {
	g := newGuarded(t)
	chain := g.tip("refs/ward/audit")
	text := g.git("cat-file", "blob", chain+":record.json")
	base := g.git("rev-parse", chain+"^")
	blob, err := g.WriteObject("blob", []byte("{}x"))
	if err != nil {
		t.Fatal(err)
	}
	whole, err := g.WriteObject("blob", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	out, err := g.OutputFrom(t.Context(), []byte("100644 blob "+whole+"\trecord.json\n100644 blob "+blob+"\tredacted.json\n"), "mktree")
	if err != nil {
		t.Fatal(err)
	}
	commit, err := g.CommitTree(git.Ward, strings.TrimSpace(string(out)), base, g.when, "by hand")
	if err != nil {
		t.Fatal(err)
	}
	g.move("refs/ward/audit", commit)
	found, _ := g.findings(Options{})
	match(t, "found", found, []string{"fsck/redacted: the tombstone beside record 4 cannot be read", "fsck/tail: its end was cut"})
}
