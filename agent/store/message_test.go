package store

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"git-ward/internal/await"
	"git-ward/internal/git"
	"git-ward/internal/gittest"
	"git-ward/internal/tier"
	"git-ward/protocols/comms"
	"git-ward/protocols/record"
	"git-ward/protocols/uow"
)

// foldOnce does what the host does: one more message of D-1.1 goes into COMMS.md, and the
// mark behind it. It is false when there is none.
func foldOnce(ctx context.Context, bare string) (bool, error) {
	repo, id := git.Open(bare), uow.ID{Directive: "D-1", K: 1}
	reader := repo.Reader(ctx)
	defer reader.Close()
	folded, err := foldedUpTo(reader, id)
	if err != nil {
		return false, err
	}
	data, err := reader.File(onRecord, record.MessagePath(folded+1), comms.MaxMessageBytes)
	if err != nil || data == nil {
		return false, err
	}
	message, err := comms.ParseMessage(data)
	if err != nil {
		return false, err
	}
	tip, err := repo.Ref(ctx, "refs/heads/main")
	if err != nil {
		return false, err
	}
	document, err := reader.File(tip, comms.Path, comms.MaxBytes)
	if err != nil {
		return false, err
	}
	amended, err := comms.Amend(document, message, comms.Whole)
	if err != nil {
		return false, err
	}
	batch := repo.Batch(ctx)
	defer batch.Close()
	tree, err := batch.EditTree(tip+"^{tree}", map[string][]byte{comms.Path: amended.Data})
	if err != nil {
		return false, err
	}
	commit, err := repo.CommitTree(record.AgentIdent, tree, tip, time.Now(), "folded")
	if err != nil {
		return false, err
	}
	mark, err := repo.WriteObject("blob", record.FormatFolded(id, folded+1))
	if err != nil {
		return false, err
	}
	old, err := repo.Ref(ctx, record.FoldedRef(id))
	if err != nil {
		return false, err
	}
	return true, repo.UpdateRefs(ctx, "test", git.RefUpdate{Ref: "refs/heads/main", Old: tip, New: commit},
		git.RefUpdate{Ref: record.FoldedRef(id), Old: old, New: mark})
}

// host folds until the test ends. A hook tells it of each push.
func (u *unit) host() {
	fifo := filepath.Join(u.TempDir(), "pushed")
	u.must(unix.Mkfifo(fifo, 0o600))
	pushed, err := os.OpenFile(fifo, os.O_RDWR, 0) // so that neither end waits for the other
	u.must(err)
	u.must(os.MkdirAll(filepath.Join(u.store.Bare, "hooks"), 0o755))
	gittest.Program(u, filepath.Join(u.store.Bare, "hooks/post-receive"), "#!/bin/sh\ncat >/dev/null\necho >'"+fifo+"'\n")
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		for failed := 0; ; {
			more, err := foldOnce(ctx, u.store.Bare)
			if ctx.Err() != nil {
				ended <- nil
				return
			}
			if err != nil { // as the host does: what somebody overtook is tried again
				if failed++; failed > 20 {
					ended <- err
					return
				}
				u.Log(err)
			}
			if !more && err == nil {
				pushed.Read(make([]byte, 1))
			}
		}
	}()
	u.Cleanup(func() {
		cancel()
		pushed.Close()
		if err := <-ended; err != nil {
			u.Error(err)
		}
	})
}

// reported is COMMS.md's reports and questions, in words.
func (u *unit) reported() string {
	u.Helper()
	doc, _ := comms.Parse([]byte(run(u.T, u.store.Bare, "", "show", "main:COMMS.md")))
	var words []string
	for _, r := range doc.Reports {
		_, said, _ := strings.Cut(r.Text+"\n", "\n")
		words = append(words, string(r.Status)+" "+strings.TrimSpace(strings.ReplaceAll(said, "\n", " ")))
	}
	for _, q := range doc.Questions {
		words = append(words, q.Text)
	}
	return strings.Join(words, "; ")
}

// TestLeavesItOnTheRecord: what a leased agent says goes onto its record, once, however often
// it is said and whoever else moves the record; the host folds it, and the agent waits for that.
func TestLeavesItOnTheRecord(t *testing.T) {
	tier.First(t, "it pushes and waits for a host")
	u := newUnit(t)
	u.commit("iteration 1 begins", "", map[string]string{"LEARNINGS.md": "# L\n"})
	u.step(uow.Input{Event: uow.Iterate, Reason: "ITERATION_STARTED"})
	u.store.Folds = true
	u.host()
	ctx := t.Context()
	r := comms.NewReport{Time: time.Now(), Directive: "D-1", Status: comms.ExitBlocked, Text: "stuck", DirectiveHash: u.work.Directive.Hash()}
	q := comms.NewQuestion{Time: time.Now(), Directive: "D-1", Text: "Which?"}
	for range 2 {
		u.must(u.store.Report(ctx, r))
		u.must(u.store.Ask(ctx, q))
		u.must(u.store.ReportOnce(ctx, "outage 1", comms.NewReport{Time: time.Now(), Directive: "D-1", Status: comms.Info, Text: "the first line\nno answer"}))
	}
	if got := u.reported(); got != "EXIT_BLOCKED stuck; INFO no answer  Incident: outage 1; Which?" {
		t.Errorf("%q", got)
	}
	if got := u.says(onRecord); !strings.HasSuffix(got, "comms/0001.json comms/0002.json comms/0003.json") {
		t.Error(got)
	}
	// The work's own record was overtaken, and its next push goes on from there.
	u.commit("more", "", map[string]string{"LEARNINGS.md": "# L\nmore\n"})
	u.must(u.work.Offer(ctx))
	if got := u.says(onRecord); !strings.HasPrefix(got, "more; comms: report D-1 INFO; ") || !strings.HasSuffix(got, "comms/0003.json") {
		t.Error(got)
	}
	u.fsck()
}

// TestEnclosed: a report that goes with another push is found where it lies, and not said again;
// where somebody else wrote to the record it is not enclosed.
func TestEnclosed(t *testing.T) {
	tier.First(t, "it pushes and waits for a host")
	u := newUnit(t)
	u.store.Folds = true
	u.host()
	ctx := t.Context()
	u.commit("iteration 1 begins", "", map[string]string{"LEARNINGS.md": "# L\n"})
	r := comms.NewReport{Time: time.Now(), Directive: "D-1", Status: comms.ExitBlocked, Text: "stuck", DirectiveHash: u.work.Directive.Hash()}
	if there, err := u.work.Enclose(ctx, r); !there || err != nil {
		t.Fatal(there, err)
	}
	u.step(uow.Input{Event: uow.Iterate, Reason: "ITERATION_STARTED"})
	r.Time = r.Time.Add(time.Hour)
	u.must(u.store.Report(ctx, r))
	if got := u.reported(); got != "EXIT_BLOCKED stuck" {
		t.Errorf("%q", got)
	}
	if got := u.says(onRecord); !strings.HasSuffix(got, " comms/0001.json") {
		t.Error(got)
	}
	u.must(u.store.ReportOnce(ctx, "outage 1", comms.NewReport{Time: time.Now(), Directive: "D-1", Status: comms.Info, Text: "the first line\nno answer"}))
	if there, err := u.work.Enclose(ctx, r); there || err != nil {
		t.Error(there, err)
	}
	u.fsck()
}

// TestEnclosedAndArchived: a report on the record of an archived unit is waited for there, and not
// said a second way; what else is said of the directive goes to COMMS.md, because the record moves no
// more.
func TestEnclosedAndArchived(t *testing.T) {
	tier.First(t, "it pushes and waits for a host")
	u := newUnit(t)
	u.store.Folds, u.store.patience = true, 10*time.Millisecond
	late := 0
	u.store.Late = func(string) { late++ }
	ctx := t.Context()
	r := comms.NewReport{Time: time.Now(), Directive: "D-1", Status: comms.ExitDiverged, Text: "apart", DirectiveHash: u.work.Directive.Hash()}
	if there, err := u.work.Enclose(ctx, r); !there || err != nil {
		t.Fatal(there, err)
	}
	if kept, err := u.work.Kept(ctx); kept || err != nil {
		t.Error(kept, err)
	}
	u.step(uow.Input{Event: uow.Fail, Reason: "LOOP_DIVERGED"})
	u.step(uow.Input{Event: uow.Refine, Reason: "ANALYSIS_STARTED"})
	u.step(uow.Input{Event: uow.Archive, Reason: "ANALYSIS_DONE"})
	u.must(u.store.Report(ctx, r))
	if got := u.says(onRecord); late != 1 || !strings.HasSuffix(got, " comms/0001.json") || u.reported() != "" {
		t.Errorf("%d; %q; %q", late, got, u.reported())
	}
	u.store.patience = time.Hour
	u.host()
	u.must(u.store.Report(ctx, r))
	u.must(u.store.ReportOnce(ctx, "outage 1", comms.NewReport{Time: time.Now(), Directive: "D-1", Status: comms.Info, Text: "the first line\nno answer"}))
	if got := u.reported(); got != "EXIT_DIVERGED apart; INFO no answer  Incident: outage 1" {
		t.Errorf("%q", got)
	}
	if got := u.says(onRecord); !strings.HasSuffix(got, " comms/0001.json") {
		t.Error(got)
	}
	u.fsck()
}

// TestLeftAndKilled: what lies on the record and is not folded is not said again, and is
// waited for; nothing is lost when who said it is killed before the host folds.
func TestLeftAndKilled(t *testing.T) {
	tier.First(t, "it pushes and waits for a host")
	u := newUnit(t)
	u.store.Folds = true
	r := comms.NewReport{Time: time.Now(), Directive: "D-1", Status: comms.Done, Text: "done", DirectiveHash: u.work.Directive.Hash()}
	short, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- u.store.Report(short, r) }()
	await.True(t, "it lies on the record", func() bool { return strings.Contains(u.says(onRecord), "comms/0001.json") })
	cancel()
	if err := await.Value(t, "its end", ended); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if got := u.reported(); got != "" {
		t.Fatal(got)
	}
	u.host()
	r.Time = r.Time.Add(time.Hour) // the process after it says it at another time
	u.must(u.store.Report(t.Context(), r))
	if got := u.reported(); got != "DONE done" {
		t.Error(got)
	}
	if got := u.says(onRecord); !strings.HasSuffix(got, " comms/0001.json") {
		t.Error(got)
	}
}

// TestNotFolded: if the host cannot fold, no worker waits for it. The message stays on the record, once,
// and gets into COMMS.md when the host folds again.
func TestNotFolded(t *testing.T) {
	tier.First(t, "it pushes and waits for a host")
	u := newUnit(t)
	u.store.Folds, u.store.patience = true, 10*time.Millisecond
	var late []string
	u.store.Late = func(what string) { late = append(late, what) }
	r := comms.NewReport{Time: time.Now(), Directive: "D-1", Status: comms.ExitBlocked, Text: "stuck", DirectiveHash: u.work.Directive.Hash()}
	for range 2 {
		u.must(u.store.Report(t.Context(), r))
	}
	if got := u.says(onRecord); len(late) != 2 || !strings.HasSuffix(got, " comms/0001.json") || u.reported() != "" {
		t.Errorf("%q; %q; %q", late, got, u.reported())
	}
	u.store.patience = time.Hour
	u.host()
	u.must(u.store.Report(t.Context(), r))
	if got := u.reported(); got != "EXIT_BLOCKED stuck" {
		t.Errorf("%q", got)
	}
}

// TestWithoutAUnit: with no unit at work there is no record, and the agent pushes as ever.
func TestWithoutAUnit(t *testing.T) {
	s := newStore(t)
	s.Folds = true
	if err := s.Report(t.Context(), comms.NewReport{Time: time.Now(), Directive: "D-1", Status: comms.Info, Text: "hello"}); err != nil {
		t.Fatal(err)
	}
	if out := run(t, s.Bare, "", "show", "main:COMMS.md"); !strings.Contains(out, "### R-1 ") {
		t.Error(out)
	}
}

// TestWaitsForRoom: what lies on the record and finds no room in COMMS.md is waited for, and
// not left there a second time.
func TestWaitsForRoom(t *testing.T) {
	tier.First(t, "it pushes and waits for a host")
	u := newUnit(t)
	u.store.Folds = true
	ctx := t.Context()
	control := func(document string) {
		blob := run(t, u.store.Bare, document, "hash-object", "-w", "--stdin")
		tree := run(t, u.store.Bare, "100644 blob "+blob+"\tCOMMS.md\n", "mktree")
		run(t, u.store.Bare, "", "update-ref", "refs/heads/main", run(t, u.store.Bare, "of the PM's\n", "commit-tree", "-p", "main", tree))
	}
	roomy := run(t, u.store.Bare, "", "show", "main:COMMS.md") + "\n"
	title, rest, _ := strings.Cut(roomy, "\n")
	control(title + "\n" + strings.Repeat("Many words. ", (comms.MaxBytes-300-len(roomy))/12) + "\n" + rest)
	r := comms.NewReport{Time: time.Now(), Directive: "D-1", Status: comms.Done, Text: strings.Repeat("done ", 100), DirectiveHash: u.work.Directive.Hash()}
	waiting, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- u.store.Report(waiting, r) }()
	await.True(t, "it lies on the record", func() bool { return strings.Contains(u.says(onRecord), "comms/0001.json") })
	cancel() // a store has one user at a time
	if err := await.Value(t, "its end", ended); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	nothing := word{said: func(*comms.Document) bool { return true }} // of which is not asked: something waits
	said, waits, number, err := u.store.pending(ctx, nothing, uow.ID{Directive: "D-1", K: 1}, run(t, u.store.Bare, "", "rev-parse", onRecord))
	if said || !waits || number != 1 || err != nil {
		t.Error(said, waits, number, err)
	}
	patience := u.store.patience
	u.store.patience = time.Millisecond // a run does not keep its slot for it
	if err := u.store.Report(ctx, r); err == nil || !strings.Contains(err.Error(), "no room for message 1 of D-1.1") {
		t.Error(err)
	}
	u.store.patience = patience
	go func() { ended <- u.store.Report(ctx, r) }()
	control(roomy)
	u.host()
	u.must(await.Value(t, "its end", ended))
	if got := u.says(onRecord); !strings.HasSuffix(got, " comms/0001.json") {
		t.Error(got)
	}
}
