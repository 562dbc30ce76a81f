package hooks_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"git-ward/hooks/audit"
	"git-ward/hooks/push"
	"git-ward/internal/git"
	"git-ward/internal/gittest"
	"git-ward/internal/tier"
)

// chainCommit puts a file onto the chain as record.json, as somebody with the host's
// rights, or an older version, could.
func chainCommit(p *gittest.Pair, content string) {
	p.T.Helper()
	sh := func(stdin string, args ...string) string {
		out, err := p.Try(p.Bare, nil, stdin, "git", args...)
		if err != nil {
			p.T.Fatal(err, out)
		}
		return strings.TrimSpace(out)
	}
	blob := sh(content, "hash-object", "-w", "--stdin")
	tree := sh(fmt.Sprintf("100644 blob %s\trecord.json\n", blob), "mktree")
	commit := sh("", "commit-tree", "-p", "refs/ward/audit", "-m", "push", tree)
	sh("", "update-ref", "refs/ward/audit", commit)
}

// TestOldRecordOf16MB: a repository that the first version wedged works again at
// once.
func TestOldRecordOf16MB(t *testing.T) {
	tier.Full(t, "a record of 16 MB is read again and again")
	t.Parallel()
	p := newPair(t)
	r := &audit.Record{ID: 2, Time: time.Now().UTC().Truncate(time.Second), Principal: "agent", User: "0", Push: "20261121T090000Z-0000000000000000",
		Verdict: audit.Refused, Rules: []string{"ref/name"}}
	for i := range 16_000 {
		r.Refs = append(r.Refs, audit.Ref{Update: push.Update{Ref: fmt.Sprintf("refs/heads/agent/%d%s", i, strings.Repeat("\x01", 150)), Old: git.Zero, New: git.Zero}})
	}
	line, err := r.Marshal()
	if err != nil || len(line) < 16_000_000 {
		t.Fatal(len(line), err)
	}
	chainCommit(p, string(line))
	stillWorks(t, p)
	if out, err := p.AgentPush("HEAD:refs/heads/other"); err == nil || !strings.Contains(out, "rights/ref") {
		t.Fatalf("%v\n%s", err, out)
	}
	if out := p.Run(p.Bare, "git-ward", "log", "--json"); strings.Count(out, "\n") != 4 {
		t.Errorf("%d records", strings.Count(out, "\n"))
	}
}

// TestBrokenRecords: records that nobody can read are named, and stop neither pushes
// nor the proof of what comes after them. --repair sets them aside.
func TestBrokenRecords(t *testing.T) {
	tier.Full(t, "a story for each way to break a record")
	t.Parallel()
	for name, content := range map[string]string{"no JSON": "{", "another member": `{"id":2,"evil":1}`, "empty": "", "too large": strings.Repeat(" ", 65<<20)} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t)
			chainCommit(p, content)
			p.Commit("f", "1")
			if out, err := p.Push("main"); err != nil || !strings.Contains(out, "push 3") {
				t.Fatalf("%v\n%s", err, out)
			}
			if out, err := p.AgentPush("HEAD:refs/heads/other"); err == nil || !strings.Contains(out, "rights/ref") || strings.Contains(out, "not recorded") {
				t.Fatalf("%v\n%s", err, out)
			}
			fsckFinds(p, "record 2 cannot be read", "4 records")
			if out := p.Run(p.Bare, "git-ward", "log"); !strings.Contains(out, "cannot be read") || !strings.Contains(out, "rights/ref") {
				t.Error(out)
			}
			// The record that cannot be read stays named; what came after it is proved.
			if out := p.Run(p.Bare, "git-ward", "fsck", "--repair"); !strings.Contains(out, "set 1 record of the chain aside") || !strings.Contains(out, "warning: fsck/chain: record 2 cannot be read, and was set aside") {
				t.Error(out)
			}
			stillWorks(t, p)
		})
	}
}

// longNames appends records of pushes that each put main's tip on many branches with
// long names, as an agent could.
func longNames(t *testing.T, p *gittest.Pair, pushes int) (whole []string) {
	t.Helper()
	repo := git.Open(p.Bare)
	main, err := repo.Ref(t.Context(), "refs/heads/main")
	if err != nil {
		t.Fatal(err)
	}
	batch := repo.Batch(t.Context())
	defer batch.Close()
	for i := range pushes {
		r := &audit.Record{Time: time.Now().UTC(), Principal: "agent", Push: fmt.Sprintf("long-%d", i), Verdict: audit.Accepted, Rules: []string{}}
		for k := range 200 {
			r.Refs = append(r.Refs, audit.Ref{Update: push.Update{Ref: fmt.Sprintf("refs/heads/agent/%s%d", strings.Repeat("n", 180), k), Old: git.Zero, New: main}, Applied: true})
			if i%2 == 1 {
				r.Refs[k].Old, r.Refs[k].New = main, git.Zero
			}
		}
		if err := appendRecord(t, repo, batch, r); err != nil {
			t.Fatal(err)
		}
		if line, err := r.Marshal(); err != nil {
			t.Fatal(err)
		} else if i%2 == 0 {
			whole = append(whole, string(line))
		}
	}
	return whole
}

// TestNoteRotates: 236 pushes of long names grew one note past 16 MiB, and from then
// on every push was refused. A note is bounded now; the chain has all of it.
func TestNoteRotates(t *testing.T) {
	tier.Full(t, "hundreds of records about one commit")
	t.Parallel()
	p := newPair(t)
	whole := longNames(t, p, 120)
	note := p.Run(p.Bare, "git", "notes", "--ref=audit", "show", "refs/heads/main")
	if len(note) > 64<<10 || !strings.HasPrefix(note, `{"older":"refs/ward/audit","through":`) {
		t.Errorf("a note of %d bytes: %.100s", len(note), note)
	}
	stillWorks(t, p)
	p.Run(p.Bare, "git", "update-ref", "-d", "refs/notes/audit")
	p.Run(p.Bare, "git-ward", "fsck", "--repair")
	stillWorks(t, p)

	// A note as the first version left it: 17 MB of whole records.
	var old strings.Builder
	for old.Len() < 17<<20 {
		for _, line := range whole {
			old.WriteString(line + "\n")
		}
	}
	file := filepath.Join(t.TempDir(), "note")
	if err := os.WriteFile(file, []byte(old.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	main := strings.TrimSpace(p.Run(p.Bare, "git", "rev-parse", "refs/heads/main"))
	p.Run(p.Bare, "git", "notes", "--ref=audit", "add", "-f", "-F", file, main)
	if out, err := p.Push(main + ":refs/heads/after"); err != nil || strings.Contains(out, "not recorded") {
		t.Fatalf("a note of 17 MB locks out: %v\n%s", err, out)
	}
	p.Run(p.Bare, "git-ward", "fsck", "--repair")
	stillWorks(t, p)
}

// TestBrokenNotes: the notes are an index; whatever stands there stops no push.
func TestBrokenNotes(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	blob := strings.TrimSpace(p.Run(p.Bare, "git", "rev-parse", "refs/heads/main:COMMS.md"))
	main := strings.TrimSpace(p.Run(p.Bare, "git", "rev-parse", "refs/heads/main"))
	tree, err := p.Try(p.Bare, nil, fmt.Sprintf("100644 blob %s\t%s\n", blob, main[:2]), "git", "mktree") // a file in a directory's place
	if err != nil {
		t.Fatal(tree)
	}
	commit := strings.TrimSpace(p.Run(p.Bare, "git", "commit-tree", "-m", "x", strings.TrimSpace(tree)))
	p.Run(p.Bare, "git", "update-ref", "refs/notes/audit", commit)
	if out, err := p.Push("main:refs/heads/b"); err != nil || strings.Contains(out, "not recorded") {
		t.Fatalf("%v\n%s", err, out)
	}
	fsckFinds(p, "fsck/notes")
	p.Run(p.Bare, "git-ward", "fsck", "--repair")
	stillWorks(t, p)
}

// TestBrokenPendingFiles are set aside and named, by the next push or by --repair.
func TestBrokenPendingFiles(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	dir := filepath.Join(p.Bare, "ward/pending")
	plant := func() {
		for name, content := range map[string]string{"cut.json": `{"record":{"id":`, "other.json": `{"record":{"push":"x"},"process":{}}`, "null.json": "null", "empty.json": ""} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Mkdir(filepath.Join(dir, "folder.json"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	plant()
	fsckFinds(p, "5 pushes ended without a record")
	stillWorks(t, p)
	plant()
	if out := p.Run(p.Bare, "git-ward", "fsck", "--repair"); !strings.Contains(out, "set ward/pending/cut.json aside") || strings.Count(out, "fsck/aside") != 10 {
		t.Error(out)
	}
	if err := os.WriteFile(filepath.Join(p.Bare, "ward/refusals"), []byte("1 many"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.AgentPush("HEAD:refs/heads/other")
	stillWorks(t, p)
}

// TestBrokenJournal: a stored record of a unit that cannot be read refuses that
// unit's next step with a finding, and holds up nobody else.
func TestBrokenJournal(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	blob, err := p.Try(p.Bare, nil, "{", "git", "hash-object", "-w", "--stdin")
	if err != nil {
		t.Fatal(blob)
	}
	tree, err := p.Try(p.Bare, nil, fmt.Sprintf("100644 blob %s\tuow.json\n", strings.TrimSpace(blob)), "git", "mktree")
	if err != nil {
		t.Fatal(tree)
	}
	tip := strings.TrimSpace(p.Run(p.Bare, "git", "commit-tree", "-m", "x", strings.TrimSpace(tree)))
	p.Run(p.Bare, "git", "update-ref", "refs/ward/uow/D-1.1", tip)
	p.Run(p.Bare, "git-ward", "init", "--bare", p.Bare)
	p.Git("fetch", "--quiet", "origin", "refs/ward/uow/D-1.1")
	next := strings.TrimSpace(p.Git("commit-tree", "-p", "FETCH_HEAD", "-m", "next", "FETCH_HEAD^{tree}"))
	out, err := p.AgentPush(next + ":refs/ward/uow/D-1.1")
	if err == nil || !strings.Contains(out, "uow/stored: the stored record "+tip[:12]+" is broken") || strings.Contains(out, "cannot be judged") {
		t.Fatalf("%v\n%s", err, out)
	}
	p.Git("switch", "--quiet", "-C", "agent/x", "origin/main")
	p.Commit("f", "1")
	if out, err := p.AgentPush("agent/x"); err != nil {
		t.Fatal(out)
	}
	if out, err := p.Try(p.Bare, nil, "", "git-ward", "fsck"); err == nil || !strings.Contains(out, "refs/ward/uow/D-1.1: fsck/unit") || strings.Count(out, "fsck/") != 1 {
		t.Fatalf("%v\n%s", err, out)
	}
}
