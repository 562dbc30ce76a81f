package store

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"git-ward/agent/stop"
	"git-ward/internal/diag"
	"git-ward/internal/tier"
	"git-ward/protocols/comms"
	"git-ward/protocols/uow"
)

const document = "# COMMS\n## Directives\n### D-1: one\n## Reports\n"

// newStore is a store on a new remote whose main has a COMMS.md.
func newStore(t *testing.T) *Store {
	t.Helper()
	bare := filepath.Join(t.TempDir(), `it's "the" #1 remote.git`)
	run(t, ".", "", "init", "--quiet", "--bare", "--initial-branch=main", bare)
	blob := run(t, bare, document, "hash-object", "-w", "--stdin")
	tree := run(t, bare, "100644 blob "+blob+"\tCOMMS.md\n", "mktree")
	commit := run(t, bare, "first\n", "commit-tree", tree)
	run(t, bare, "", "update-ref", "refs/heads/main", commit)
	s, err := Open(t.Context(), Options{Bare: bare, State: t.TempDir(), Executable: "/nonexistent"})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func run(t *testing.T, dir, input string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(input)
	cmd.Env = append(os.Environ(), "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func work(t *testing.T, s *Store) *Work {
	t.Helper()
	m, err := s.Main(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, doc, err := m.Comms(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w, err := s.Work(t.Context(), doc.Directives[0])
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// TestClaimed: the last claim is found below what the PM says after it.
func TestClaimed(t *testing.T) {
	j := &Journal{}
	if j.Claimed() != nil {
		t.Error("a claim out of nothing")
	}
	for _, e := range []uow.Event{uow.Open, uow.MakeClaim, uow.Iterate, uow.MakeClaim, uow.Heartbeat, uow.Pause, uow.Resume} {
		j.Records = append(j.Records, &uow.Record{Event: e})
	}
	if j.Claimed() != j.Records[3] {
		t.Errorf("%+v", j.Claimed())
	}
}

// TestDone: what Publish says ends the work is found again, with the words; for
// another version of the directive it is not.
func TestDone(t *testing.T) {
	s := newStore(t)
	w := work(t, s)
	if w.Done != nil || w.Branch != "agent/D-1" {
		t.Fatalf("%+v", w)
	}
	text := "  First\tline\x1b[31m\r\n\r\nWard-Work: done\n# not a comment\n\n\n"
	if err := w.Publish(t.Context(), text, true); err != nil {
		t.Fatal(err)
	}
	again := work(t, s)
	if again.Done == nil || *again.Done != *w.Done {
		t.Fatalf("%+v, then %+v", w.Done, again.Done)
	}
	if want := "First    line\\x1b[31m\n\nWard-Work: done\n# not a comment"; again.Done.Text != want {
		t.Errorf("%q", again.Done.Text)
	}
	d := w.Directive
	d.Raw += "more\n"
	other, err := s.Work(t.Context(), d)
	if err != nil || other.Done != nil {
		t.Errorf("%+v, %v", other.Done, err)
	}

	// Merged and deleted by the PM before the report: main has it.
	run(t, s.Bare, "", "update-ref", "refs/heads/main", w.Done.Commit)
	run(t, s.Bare, "", "update-ref", "-d", "refs/heads/agent/D-1")
	if merged := work(t, s); merged.Done == nil || merged.Done.Commit != w.Done.Commit {
		t.Errorf("%+v", merged.Done)
	}
}

// TestOthersWork: what somebody else pushed to the branch is merged, or the work waits until it
// is: no push takes it back. An end of the work that arrived first is the end.
func TestOthersWork(t *testing.T) {
	tier.First(t, "it pushes to a branch from two sides")
	s := newStore(t)
	w := work(t, s)
	branch, theirs := "refs/heads/"+w.Branch, ""
	other := func(name, text, message string) {
		blob := run(t, s.Bare, text, "hash-object", "-w", "--stdin")
		tree := run(t, s.Bare, "100644 blob "+blob+"\t"+name+"\n", "mktree")
		theirs = run(t, s.Bare, message, "commit-tree", tree, "-p", "main")
		run(t, s.Bare, "", "update-ref", branch, theirs)
	}
	write := func(text string) {
		if err := os.WriteFile(filepath.Join(w.Dir(), "f"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	other("f", "theirs\n", "theirs\n")
	write("ours\n")
	for range 2 { // it is not merged meanwhile
		err := w.Publish(t.Context(), "", true)
		if refused := stop.As(err, stop.Refused); refused == nil || !strings.Contains(refused.Output, "has conflicts in f") || w.Done != nil {
			t.Fatal(err)
		}
		if tip := run(t, s.Bare, "", "rev-parse", branch); tip != theirs {
			t.Fatalf("their work was taken back: %s", tip)
		}
	}
	run(t, w.Dir(), "", "commit", "--quiet", "--all", "--message=ours")
	run(t, w.Dir(), "", "merge", "--quiet", "--strategy=ours", "--message=both", "origin/"+w.Branch)
	if err := w.Publish(t.Context(), "both", true); err != nil || w.Done == nil {
		t.Fatal(err)
	}
	run(t, s.Bare, "", "merge-base", "--is-ancestor", theirs, branch)
	run(t, s.Bare, "", "update-ref", "-d", branch)

	if w = work(t, s); w.Done != nil {
		t.Fatalf("%+v", w.Done)
	}
	other("f", "theirs\n", w.message("done", true)+"\n")
	write("ours\n")
	if err := w.Publish(t.Context(), "", true); err != nil || w.Done == nil || w.Done.Commit != theirs {
		t.Errorf("%v %+v", err, w.Done)
	}
}

// TestLeftOut: a branch that was reset, or whose commit was amended, does not take from the remote
// what it has, whose ever that is.
func TestLeftOut(t *testing.T) {
	tier.First(t, "it pushes six times")
	s := newStore(t)
	for _, c := range [][]string{{"reset", "--quiet", "--hard", "HEAD~1"}, {"commit", "--quiet", "--amend", "--message=mine alone"}} {
		w := work(t, s)
		write := func(text string) {
			if err := os.WriteFile(filepath.Join(w.Dir(), "f"), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		write(c[0])
		if err := w.Publish(t.Context(), "", false); err != nil {
			t.Fatal(err)
		}
		tip := run(t, s.Bare, "", "rev-parse", w.Branch)
		run(t, w.Dir(), "", c...)
		write("more after " + c[0])
		for name, offer := range map[string]func() error{
			"published": func() error { return w.Publish(t.Context(), "", true) },
			"offered":   func() error { return w.Offer(t.Context()) }, // as what steps of a plan, or a journal's step, push
		} {
			refused := stop.As(offer(), stop.Refused)
			if refused == nil || !strings.Contains(refused.Output, "does not hold "+tip[:12]) || w.Done != nil {
				t.Errorf("%s after %s: %v", name, c[0], refused)
			}
			if now := run(t, s.Bare, "", "rev-parse", w.Branch); now != tip {
				t.Fatalf("%s after %s: it is taken back: %s", name, c[0], now)
			}
		}
		run(t, w.Dir(), "", "commit", "--quiet", "--all", "--allow-empty", "--message=more")
		run(t, w.Dir(), "", "merge", "--quiet", "--strategy=ours", "--message=both", tip)
		if err := w.Publish(t.Context(), "", false); err != nil {
			t.Fatal(err)
		}
		run(t, s.Bare, "", "merge-base", "--is-ancestor", tip, w.Branch)
	}
}

// TestReportOnce: a report that is there already is not made again, but what was
// blocked may be done later.
func TestReportOnce(t *testing.T) {
	tier.First(t, "it pushes five times")
	s := newStore(t)
	d := work(t, s).Directive
	for _, c := range []struct {
		status comms.Status
		want   int
	}{{comms.ExitBlocked, 1}, {comms.ExitBlocked, 1}, {comms.Done, 2}, {comms.Done, 2}, {comms.ExitBlocked, 2}} {
		r := comms.NewReport{Time: time.Now(), Directive: "D-1", DirectiveHash: d.Hash(), Status: c.status, Text: "x"}
		if err := s.Report(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		m, _ := s.Main(t.Context())
		_, doc, err := m.Comms(t.Context())
		if err != nil || len(doc.Reports) != c.want {
			t.Errorf("after %s: %d reports, %v", c.status, len(doc.Reports), err)
		}
	}
	if head := run(t, filepath.Join(s.State, "main", s.name), "", "log", "-1", "--format=%an <%ae> %s"); head != "Ward Agent <agent@ward> comms: report D-1 DONE" {
		t.Error(head)
	}
}

// TestPublished: what the signal tools ask, answered by real git.
func TestPublished(t *testing.T) {
	tier.First(t, "it makes a clone for each case")
	s := newStore(t)
	w := work(t, s)
	ctx := t.Context()
	unpublished := func() string {
		why, err := w.Unpublished(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return why
	}
	if why := unpublished(); why != "" {
		t.Error(why)
	}
	if err := os.WriteFile(filepath.Join(w.Dir(), "f"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if why := unpublished(); !strings.Contains(why, "1 changes that are not committed") {
		t.Error(why)
	}
	if err := w.ready(ctx); err != nil {
		t.Fatal(err)
	}
	if err := w.commit(ctx, "x", false); err != nil {
		t.Fatal(err)
	}
	if why := unpublished(); !strings.HasSuffix(why, " is not pushed") {
		t.Error(why)
	}
	local, _ := w.clone.resolve(ctx, "HEAD")
	if ok, err := w.HasRevision(ctx, local); ok || err != nil {
		t.Errorf("a commit that only the clone has: %v, %v", ok, err)
	}
	if err := w.Publish(ctx, "", false); err != nil {
		t.Fatal(err)
	}
	if why := unpublished(); why != "" {
		t.Error(why)
	}
	run(t, s.Bare, "", "update-ref", "refs/ward/last-good", "main")
	run(t, s.Bare, "", "tag", "v1", "main")
	for name, want := range map[string][2]bool{
		"main": {true, true}, "agent/D-1": {true, true}, "D-1": {}, "nowhere": {}, "refs/ward/last-good": {false, true},
		"v1": {false, true}, local: {false, true}, local[:8]: {false, true}, strings.Repeat("0", 40): {},
		"refs/heads/main": {false, true}, "origin/main": {}, "HEAD": {},
	} {
		branch, err1 := w.HasBranch(ctx, name)
		revision, err2 := w.HasRevision(ctx, name)
		if got := [2]bool{branch, revision}; got != want || err1 != nil || err2 != nil {
			t.Errorf("%s: %v, %v, %v", name, got, err1, err2)
		}
	}
}

func TestFile(t *testing.T) {
	s := newStore(t)
	m, err := s.Main(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if data, err := m.File(t.Context(), "COMMS.md", 1000); err != nil || string(data) != document {
		t.Errorf("%q, %v", data, err)
	}
	if _, err := m.File(t.Context(), "COMMS.md", 3); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if _, err := m.File(t.Context(), "no such/file", 3); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// TestWait returns when main moves, by a loose ref or by packed-refs, and not for
// other branches.
func TestWait(t *testing.T) {
	s := newStore(t)
	synctest.Test(t, func(t *testing.T) { wait(t, s) })
}

func wait(t *testing.T, s *Store) {
	commit := func(message string) string {
		return run(t, s.Bare, message, "commit-tree", "main^{tree}", "-p", "main")
	}
	for _, c := range []struct {
		what  string
		args  []string
		wakes bool
	}{
		{"nothing", []string{"version"}, false},
		{"another ref", []string{"update-ref", "refs/heads/other", "main"}, false},
		{"main", []string{"update-ref", "refs/heads/main", commit("a")}, true},
		{"main, packed", []string{"pack-refs", "--all"}, true},
		{"main, loose again", []string{"update-ref", "refs/heads/main", commit("b")}, true},
	} {
		looks, limit, start := 0, time.Hour, time.Now()
		_, err := s.Watch().Wait(t.Context(), LookEvery, start.Add(limit), func() bool {
			if looks++; looks == 2 { // in the middle of the wait
				run(t, s.Bare, "", c.args...)
			}
			return false
		})
		if err != nil || looks < 2 {
			t.Errorf("%s: %v after %d looks", c.what, err, looks)
		}
		if took := time.Since(start); (took <= time.Second) != c.wakes || took > limit {
			t.Errorf("%s: it waited %v", c.what, took)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Watch().Wait(ctx, LookEvery, time.Time{}, nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestLock(t *testing.T) {
	tier.First(t, "it waits as long as a lock is waited for")
	dir := filepath.Join(t.TempDir(), "new", "state")
	release, err := Lock(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Lock(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "another agent works in") {
		t.Error(err)
	}
	release()
	release, err = Lock(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	release()
}

// TestConfigIsReadBack: git reads from a settings file what was put in.
func TestConfigIsReadBack(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config")
	values := []string{"plain", `a "quoted" \ word`, "  spaces  ", "# ; comment", "two\nlines", "'sh'", "ünï"}
	var list []setting
	for _, v := range values {
		list = append(list, setting{"section", `sub "x"\`, "key", v})
	}
	if err := os.WriteFile(file, formatConfig(list), 0o644); err != nil {
		t.Fatal(err)
	}
	out := run(t, ".", "", "config", "--file", file, "--null", "--get-all", `section.sub "x"\.key`)
	if got := strings.Split(strings.TrimSuffix(out, "\x00"), "\x00"); strings.Join(got, "|") != strings.Join(values, "|") {
		t.Errorf("%q", got)
	}
}

// TestReadRefusal: the three kinds of answer, and the host's trouble.
func TestReadRefusal(t *testing.T) {
	finding := diag.Diagnostic{Pos: diag.Pos{Path: "a", Line: 1, Col: 2}, Rule: "r/x", Severity: diag.Error, Message: "m", Hint: "h"}
	for _, c := range []struct {
		stderr, want string
		findings     int
	}{
		{`remote: {"verdict":"refused","findings":[{"path":"a","line":1,"col":2,"rule":"r/x","severity":"error","message":"m","hint":"h"}],"count":61}        ` + "\nerror: failed\n",
			"a:1:2: r/x: m\nhint: h\n... and 60 more findings\n", 1},
		{"remote: a:1: r: m        \nremote: \x1b[31mhint: do\nremote:   \nerror: failed to push\n", "a:1: r: m\n\\x1b[31mhint: do\n", 0},
		{"remote: {not json}\n", "{not json}\n", 0},
		{"error: failed to push\n", "[remote rejected] (hook declined)\n", 0},
	} {
		err := readRefusal(c.stderr, "[remote rejected] (hook declined)")
		if refused := stop.As(err, stop.Refused); refused == nil || refused.Output != c.want || len(refused.Findings) != c.findings {
			t.Errorf("%q: %v", c.stderr, err)
		} else if c.findings == 1 && refused.Findings[0] != finding {
			t.Errorf("%+v", refused.Findings[0])
		}
	}
	if err := readRefusal(`remote: {"verdict":"admitted","count":0,"findings":[]}`+"\n", "[remote rejected] (failed to update ref)"); stop.Is(err, stop.Refused) || !strings.Contains(err.Error(), "failed to update ref") {
		t.Errorf("admitted, and the ref was held by somebody: %v", err)
	}
	err := readRefusal(`remote: {"verdict":"trouble","error":"disk"}`+"\n", "x")
	if err == nil || stop.Is(err, stop.Refused) || !strings.Contains(err.Error(), "could not judge") {
		t.Error(err)
	}
}

func TestRejection(t *testing.T) {
	for porcelain, want := range map[string]string{
		"To /x\n!\tHEAD:refs/heads/a\t[remote rejected] (pre-receive hook declined)\nDone\n": "[remote rejected] (pre-receive hook declined)",
		"To /x\n \tHEAD:refs/heads/a\t1..2\nDone\n":                                          "",
		"": "",
	} {
		if got := rejection(porcelain); got != want {
			t.Errorf("%q: %q", porcelain, got)
		}
	}
}

func TestRepoName(t *testing.T) {
	for path, want := range map[string]string{"/srv/ward.git": "ward", "/mnt/remote": "remote", "/": "repo", "/x/.git": "repo"} {
		if got := repoName(path); got != want {
			t.Errorf("%s: %s", path, got)
		}
	}
}

// TestRescue: what a worker saves has its directive's name, by which the server counts it.
func TestRescue(t *testing.T) {
	s := newStore(t)
	w := work(t, s)
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for directive, want := range map[string]string{"": "rescue/20260102T030405Z", "D-1": "rescue/D-1-20260102T030405Z"} {
		if err := os.WriteFile(filepath.Join(w.Dir(), "unsaved"), []byte("by "+directive), 0o600); err != nil {
			t.Fatal(err)
		}
		saved, err := s.Rescue(t.Context(), w.Dir(), directive, true, now)
		if err != nil || len(saved) != 1 || saved[0] != want {
			t.Fatalf("%q: %q, %v", directive, saved, err)
		}
		run(t, s.Bare, "", "rev-parse", "--verify", "refs/heads/"+want+":unsaved")
	}
}

// TestNoBytecode: a project whose .gitignore does not name __pycache__ has none of it in its tree
// after an import, so that no claim has it.
func TestNoBytecode(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("SKIPPED: python3 is not installed")
	}
	s, dir := newStore(t), t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "calc.py"), []byte("x = 1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(python, "-c", "import calc")
	cmd.Dir, cmd.Env = dir, s.Environ()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatal(err, string(out))
	}
	if left, err := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("an import leaves %v, %v", left, err)
	}
}
