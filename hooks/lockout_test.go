package hooks_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"git-ward/hooks/audit"
	"git-ward/hooks/push"
	"git-ward/internal/git"
	"git-ward/internal/gittest"
)

// No push locks others out, and none leaves no trace (GATE-6).

// rawLines is a push of ref updates as git's protocol has it, without a pack.
func rawLines(p *gittest.Pair, token []string, updates []push.Update) string {
	p.T.Helper()
	var b strings.Builder
	for i, u := range updates {
		text := u.Old + " " + u.New + " " + u.Ref
		if i == 0 {
			text += "\x00report-status"
		}
		fmt.Fprintf(&b, "%04x%s", len(text)+4, text)
	}
	b.WriteString("0000")
	pack, err := p.Try(p.Work, nil, "", "git", "pack-objects", "--stdout", "--quiet")
	if err != nil {
		p.T.Fatal(err, pack)
	}
	out, _ := p.Try(filepath.Dir(p.Bare), token, b.String()+pack, "git", "receive-pack", p.Bare)
	return out
}

// TestOddRefNames: a refusal of 16,000 odd ref names wrote a record of 16.5 MB that
// no reader took, and nobody could push any more.
func TestOddRefNames(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	main := strings.TrimSpace(p.Git("rev-parse", "HEAD"))
	token, err := gittest.AgentToken(p.Bare)
	if err != nil {
		t.Fatal(err)
	}
	odd := strings.Repeat("\u2028\x01", 40)
	var updates []push.Update
	for i := range 16_000 {
		updates = append(updates, push.Update{Ref: fmt.Sprintf("refs/heads/agent/%d%s", i, odd), Old: git.Zero, New: main})
	}
	out := rawLines(p, token, updates)
	if !strings.Contains(out, "limit/refs: the push has 16000 refs, more than 4000") {
		t.Errorf("the refusal does not say why:\n%.2000s", out)
	}
	record := newest(p)
	if !strings.Contains(record, `"omitted":{"refs":15500,`) || !strings.Contains(record, `"sha256":`) || len(record) > 4<<20 {
		t.Errorf("a record of %d bytes that does not say what it leaves out: %.300s", len(record), record)
	}
	goesOn(t, p)
}

// TestNamesThatAreNotUTF8 are recorded, escaped.
func TestNamesThatAreNotUTF8(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	main := strings.TrimSpace(p.Git("rev-parse", "HEAD"))
	token, err := gittest.AgentToken(p.Bare)
	if err != nil {
		t.Fatal(err)
	}
	rawLines(p, token, []push.Update{{Ref: "refs/heads/agent/\xff\xfe", Old: git.Zero, New: main}})
	if record := newest(p); !strings.Contains(record, `refs/heads/agent/\\xff\\xfe`) || !strings.Contains(record, `"refused"`) {
		t.Error(record)
	}
	goesOn(t, p)

	// One that stands there, from before Ward, counts as what it is.
	p.Run(p.Bare, "git", "update-ref", "refs/heads/old-\xe4", main)
	fsckFinds(p, "fsck/unrecorded")
	p.Run(p.Bare, "git-ward", "init", "--bare", p.Bare)
	goesOn(t, p)
}

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
	goesOn(t, p)
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
			goesOn(t, p)
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
	t.Parallel()
	p := newPair(t)
	whole := longNames(t, p, 120)
	note := p.Run(p.Bare, "git", "notes", "--ref=audit", "show", "refs/heads/main")
	if len(note) > 64<<10 || !strings.HasPrefix(note, `{"older":"refs/ward/audit","through":`) {
		t.Errorf("a note of %d bytes: %.100s", len(note), note)
	}
	goesOn(t, p)
	p.Run(p.Bare, "git", "update-ref", "-d", "refs/notes/audit")
	p.Run(p.Bare, "git-ward", "fsck", "--repair")
	goesOn(t, p)

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
	goesOn(t, p)
}

// TestBrokenNotes: the notes are an index; whatever stands there stops no push.
func TestBrokenNotes(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	blob := strings.TrimSpace(p.Run(p.Bare, "git", "rev-parse", "refs/heads/main:COMMS.md"))
	main := strings.TrimSpace(p.Run(p.Bare, "git", "rev-parse", "refs/heads/main"))
	tree, err := p.Try(p.Bare, nil, fmt.Sprintf("100644 blob %s\t%s\n", blob, main[:2]), "git", "mktree") // a file in a folder's place
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
	goesOn(t, p)
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
	goesOn(t, p)
	plant()
	if out := p.Run(p.Bare, "git-ward", "fsck", "--repair"); !strings.Contains(out, "set ward/pending/cut.json aside") || strings.Count(out, "fsck/aside") != 10 {
		t.Error(out)
	}
	if err := os.WriteFile(filepath.Join(p.Bare, "ward/refusals"), []byte("1 many"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.AgentPush("HEAD:refs/heads/other")
	goesOn(t, p)
}

// TestSlowChainedPostReceive: Ward's own deadlines do not end a hook that deploys what
// was pushed.
func TestSlowChainedPostReceive(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED, out loud: it waits longer than post-receive may take for the record")
	}
	t.Parallel()
	p := newPair(t)
	chained(p, "post-receive", "sleep 11; echo it is deployed\n")
	p.Commit("f", "1")
	if out, err := p.Push("main"); err != nil || !strings.Contains(out, "it is deployed") {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestRefusalWithABrokenTrace: a refusal whose pending file somebody broke meanwhile is
// said not to be recorded yet, and the next push records it.
func TestRefusalWithABrokenTrace(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	chained(p, "pre-receive", `read old new ref
test "$ref" != refs/heads/agent/broken || { for f in "$GIT_DIR"/ward/pending/*.json; do echo { >"$f"; done; exit 1; }
`)
	p.Commit("f", "1")
	if out, err := p.AgentPush("HEAD:refs/heads/agent/broken"); err == nil || !strings.Contains(out, "the refusal is not recorded yet, the next push does it") {
		t.Fatalf("%v\n%s", err, out)
	}
	goesOn(t, p)
	if out := p.Run(p.Bare, "git-ward", "log", "--refused"); !strings.Contains(out, "agent/broken") || !strings.Contains(out, "chained/pre-receive") {
		t.Error(out)
	}
	p.Fsck()
}

// TestKilledPreReceive: a hook that a limit kills leaves a trace, which becomes the
// push's record.
func TestKilledPreReceive(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	marker := filepath.Join(t.TempDir(), "kill")
	chained(p, "pre-receive", "test ! -e "+marker+" || kill -9 $PPID\n")
	if err := os.WriteFile(marker, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	p.Commit("f", "1")
	if out, err := p.AgentPush("HEAD:refs/heads/agent/killed"); err == nil {
		t.Fatalf("admitted:\n%s", out)
	}
	if err := os.Remove(marker); err != nil {
		t.Fatal(err)
	}
	fsckFinds(p, "1 push ended without a record")
	goesOn(t, p)
	record := recordsOf(p, "refs/heads/agent/killed")
	if strings.Count(record, "\n") != 1 || !strings.Contains(record, `"verdict":"refused"`) || !strings.Contains(record, `"trouble/killed"`) || !strings.Contains(record, `"principal":"agent"`) {
		t.Errorf("the record of the push that was killed: %s", record)
	}
}

// TestTroubleIsRecorded: a push that cannot be judged is recorded, whatever is the matter.
func TestTroubleIsRecorded(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	config := filepath.Join(p.Bare, "ward/config.toml")
	good, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(config, append(good, "\nunknown_key = 1\n"...), 0o644); err != nil {
		t.Fatal(err)
	}
	p.Commit("f", "1")
	if out, err := p.Push("main"); err == nil || !strings.Contains(out, "unknown_key") {
		t.Fatalf("%v\n%s", err, out)
	}
	if record := newest(p); !strings.Contains(record, "trouble/settings") {
		t.Error(record)
	}
	if err := os.WriteFile(config, good, 0o644); err != nil {
		t.Fatal(err)
	}
	goesOn(t, p)
}

// TestManyOptions: push options beyond what is read refuse (exit 1), and are recorded.
func TestManyOptions(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	p.Commit("f", "1")
	args := []string{"push"}
	for i := range 1001 {
		args = append(args, "-o", fmt.Sprint(i))
	}
	out, err := p.Try(p.Work, nil, "", "git", append(args, "origin", "main")...)
	if err == nil || !strings.Contains(out, "limit/options: the push has more than 1000 options") {
		t.Fatalf("%v\n%s", err, out)
	}
	if record := newest(p); !strings.Contains(record, "limit/options") {
		t.Error(record)
	}
	goesOn(t, p)
}

// mesh writes plans that all call each other.
func mesh(p *gittest.Pair, n int) {
	p.T.Helper()
	for i := range n {
		var b strings.Builder
		b.WriteString("# FSM: sub\n")
		for k := range n {
			if k != i {
				fmt.Fprintf(&b, "call_plan plans/p%03d.txt\n", k)
			}
		}
		p.Write(fmt.Sprintf("plans/p%03d.txt", i), b.String())
	}
	p.Git("add", ".")
	p.Git("commit", "--quiet", "-m", "a mesh of plans")
}

// TestMeshOfPlans: 400 plans that call each other kept a hook busy for 200 seconds.
// They are judged, and with default settings nobody waits for the deadline.
func TestMeshOfPlans(t *testing.T) {
	p := newPair(t)
	p.Git("switch", "--quiet", "--create", "agent/mesh")
	mesh(p, 400)
	out := answered(t, p, "agent/mesh")
	if !strings.Contains(out, "plan/bounded-recursion") && !strings.Contains(out, "limit/time") {
		t.Errorf("%s", out)
	}
	goesOn(t, p)
}

// answered pushes as the agent and wants a refusal within a time in which no loop
// that the deadline does not end could answer.
func answered(t *testing.T, p *gittest.Pair, refspec string) string {
	t.Helper()
	token, err := gittest.AgentToken(p.Bare)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := p.Command(p.Work, token, "git", "push", "origin", refspec)
	timer := time.AfterFunc(time.Minute, func() { cmd.Process.Kill() })
	defer timer.Stop()
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		t.Fatalf("no answer within a minute:\n%s", out)
	}
	if err == nil {
		t.Fatalf("admitted:\n%s", out)
	}
	return string(out)
}

// TestDeadlineEndsLoops: the deadline is kept from outside, whatever loop runs, and
// the push that met it is recorded.
func TestDeadlineEndsLoops(t *testing.T) {
	p := newPair(t)
	setting(p, `deadline = "9s"`, `deadline = "1ms"`)
	p.Git("switch", "--quiet", "--create", "agent/mesh")
	mesh(p, 100)
	out := answered(t, p, "agent/mesh")
	if !strings.Contains(out, "limit/time: the push was not judged within 1ms") {
		t.Errorf("%s", out)
	}
	if record := newest(p); !strings.Contains(record, `"limit/time"`) || !strings.Contains(record, `"refused"`) {
		t.Error(record)
	}
	setting(p, `deadline = "1ms"`, `deadline = "9s"`)
	goesOn(t, p)
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

// TestMaintainRecords: where nobody pushes, maintenance records what a hook that died
// left, and keeps the reflog that tells of a cut chain.
func TestMaintainRecords(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	hook := filepath.Join(p.Bare, "hooks/post-receive")
	if err := os.Rename(hook, hook+".off"); err != nil {
		t.Fatal(err)
	}
	p.Commit("f", "1")
	if out, err := p.Push("main"); err != nil {
		t.Fatal(out)
	}
	if err := os.Rename(hook+".off", hook); err != nil {
		t.Fatal(err)
	}
	p.Run(p.Bare, "git", "config", "gc.reflogExpire", "now")
	p.Run(p.Bare, "git", "config", "gc.reflogExpireUnreachable", "now")
	if out := p.Run(p.Bare, "git-ward", "maintain", p.Bare); !strings.Contains(out, "recorded 1 push that ended without a record") {
		t.Error(out)
	}
	p.Fsck()
	p.Run(p.Bare, "git", "-c", "gc.reflogExpire=never", "update-ref", "refs/ward/audit", "refs/ward/audit~1")
	p.Run(p.Bare, "git-ward", "maintain", p.Bare)
	fsckFinds(p, "fsck/tail: its end was cut")
}

// TestHeldLock: a writer of the audit that was stopped in the middle holds up others
// for seconds at most, and what they could not record is recorded later.
func TestHeldLock(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	f, err := os.OpenFile(filepath.Join(p.Bare, "ward/audit.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	if out := answered(t, p, "HEAD:refs/heads/other"); !strings.Contains(out, "rights/ref") || !strings.Contains(out, "the refusal is not recorded yet") {
		t.Error(out)
	}
	p.Commit("f", "1")
	if out, err := p.Push("main"); err != nil || !strings.Contains(out, "is not recorded yet") {
		t.Errorf("%v\n%s", err, out)
	}
	f.Close()
	goesOn(t, p)
	if log := p.Run(p.Bare, "git-ward", "log", "--json"); strings.Count(log, `"rights/ref"`) != 1 || strings.Count(log, `"reconciled":true`) < 2 {
		t.Error(log)
	}
}
