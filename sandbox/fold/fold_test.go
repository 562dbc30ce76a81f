package fold

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"git-ward/internal/config"
	"git-ward/internal/git"
	"git-ward/internal/gittest"
	"git-ward/internal/tier"
	"git-ward/protocols/comms"
	"git-ward/protocols/record"
	"git-ward/protocols/uow"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(onceVar); dir != "" {
		_, err := foldOf(dir, os.Getenv("FOLD_TEST_SCRATCH")).Once(context.Background())
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	code := m.Run()
	gittest.Clean()
	os.Exit(code)
}

// onceVar lets the test binary fold once, in the repository that it names: a process that
// can be killed.
const onceVar = "FOLD_TEST_ONCE"

// Once is a turn of Serve; the error names what stays pending, too.
func (f *Fold) Once(ctx context.Context) (folded int, err error) {
	skip := map[uow.ID]error{}
	folded, err = f.once(ctx, skip)
	return folded, cmp.Or(err, skipped(skip))
}

func foldOf(bare, scratch string) *Fold {
	settings, err := config.Load(bare)
	if err != nil {
		panic(err)
	}
	return &Fold{Repo: git.Open(bare), Settings: settings, Dir: scratch, Log: zerolog.Nop()}
}

// post is a guarded repository with directives D-1 to D-n, and its fold.
type post struct {
	*gittest.Pair
	*Fold
	log bytes.Buffer
}

var began = time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)

func newPost(t *testing.T, n int) *post {
	p := &post{Pair: gittest.New(t)}
	p.Fold = foldOf(p.Bare, t.TempDir())
	p.Fold.Log = zerolog.New(&p.log)
	text := "# COMMS\n\n## Directives\n"
	for i := range n {
		text += fmt.Sprintf("\n### D-%d: do it\n- [ ] it is (`true`)\n", i+1)
	}
	p.Commit("COMMS.md", text+"\n## Reports\n")
	if out, err := p.Push("HEAD:main"); err != nil {
		t.Fatal(out)
	}
	return p
}

// say puts messages on a unit's record, past the gate, which has its own tests.
func (p *post) say(unit string, messages ...[]byte) {
	p.T.Helper()
	id, err := uow.ParseID(unit)
	if err != nil {
		p.T.Fatal(err)
	}
	ctx := p.T.Context()
	tip, err := p.Repo.Ref(ctx, record.Ref(id))
	if err != nil {
		p.T.Fatal(err)
	}
	reader := p.Repo.Reader(ctx)
	defer reader.Close()
	have, tree := 0, git.EmptyTree
	if tip != git.Zero {
		entries, err := reader.Entries(tip, record.Messages)
		if err != nil {
			p.T.Fatal(err)
		}
		have, tree = len(entries), tip+"^{tree}"
	}
	files := map[string][]byte{}
	for i, m := range messages {
		files[record.MessagePath(have+i+1)] = m
	}
	batch := p.Repo.Batch(ctx)
	defer batch.Close()
	tree, err = batch.EditTree(tree, files)
	if err == nil {
		var commit string
		if commit, err = p.Repo.CommitTree(record.AgentIdent, tree, tip, time.Now(), "record"); err == nil {
			err = p.Repo.UpdateRefs(ctx, "test", git.RefUpdate{Ref: record.Ref(id), Old: tip, New: commit})
		}
	}
	if err != nil {
		p.T.Fatal(err)
	}
}

// report is a message, so many seconds after the beginning.
func report(t testing.TB, directive string, second int, status comms.Status, text string) []byte {
	m, err := comms.NewReport{Time: began.Add(time.Duration(second) * time.Second), Directive: directive, Status: status, Text: text}.Message()
	return formatted(t, m, err)
}

func question(t testing.TB, directive string, second int, text string) []byte {
	m, err := comms.NewQuestion{Time: began.Add(time.Duration(second) * time.Second), Directive: directive, Text: text}.Message()
	return formatted(t, m, err)
}

func formatted(t testing.TB, m comms.Message, err error) []byte {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	data, err := m.Format()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// folds folds once.
func (p *post) folds(want int) {
	p.T.Helper()
	if n, err := p.Once(p.T.Context()); n != want || err != nil {
		p.T.Fatalf("folded %d, want %d: %v\n%s", n, want, err, p.log.String())
	}
}

// document is COMMS.md of main as it is now.
func (p *post) document() *comms.Document {
	p.T.Helper()
	doc, _ := comms.Parse([]byte(p.Run(p.Bare, "git", "show", "main:COMMS.md")))
	return doc
}

// said lists what the reports and questions say.
func (p *post) said() (list []string) {
	doc := p.document()
	for _, r := range doc.Reports {
		list = append(list, fmt.Sprintf("%s %s %s: %s", r.Name(), r.Directive, r.Status, r.Text))
	}
	for _, q := range doc.Questions {
		list = append(list, fmt.Sprintf("%s %s: %s", q.Name(), q.Directive, q.Text))
	}
	return list
}

func (p *post) expect(want ...string) {
	p.T.Helper()
	if got := p.said(); !slices.Equal(got, want) {
		p.T.Fatalf("got %q\nwant %q\n%s", got, want, p.log.String())
	}
}

// TestInOrder: ten records at once come in the order of directives and numbers, whatever their
// clocks say, in one commit; and the audit names who folded.
func TestInOrder(t *testing.T) {
	p := newPost(t, 10)
	var want []string
	for i := 10; i >= 1; i-- {
		p.say(fmt.Sprintf("D-%d.1", i), report(t, fmt.Sprintf("D-%d", i), 7-i, comms.Info, "here"))
	}
	p.say("D-3.1", report(t, "D-3", 1, comms.Info, "my clock went back"), question(t, "D-3", 2, "Which?"))
	for i := range 3 {
		want = append(want, fmt.Sprintf("R-%d D-%d INFO: here", i+1, i+1))
	}
	want = append(want, "R-4 D-3 INFO: my clock went back")
	for i := 4; i <= 10; i++ {
		want = append(want, fmt.Sprintf("R-%d D-%d INFO: here", i+1, i))
	}
	p.folds(12)
	p.expect(append(want, "Q-1 D-3: Which?")...)
	p.folds(0)
	p.say("D-3.1", report(t, "D-3", 9, comms.Done, "done"))
	p.folds(1)
	p.expect(append(append(want, "R-12 D-3 DONE: done"), "Q-1 D-3: Which?")...)
	out := p.Run(p.Bare, "git-ward", "log", p.Bare)
	if strings.Count(out, " agent "+record.FoldName+" ") != 2 {
		t.Errorf("two pushes, by their name:\n%s", out)
	}
	if mark := p.Run(p.Bare, "git", "cat-file", "blob", "refs/ward/folded/D-3.1"); mark != `{"version":1,"unit":"D-3.1","folded":4}`+"\n" {
		t.Errorf("%q", mark)
	}
}

// TestControlMoves: the PM pushes in the same moment, each time; nothing is lost, and nothing
// said twice.
func TestControlMoves(t *testing.T) {
	p := newPost(t, 1)
	p.Git("commit", "--quiet", "--allow-empty", "-m", "the PM's")
	moved := strings.TrimSpace(p.Git("rev-parse", "HEAD"))
	p.Git("push", "--quiet", "origin", "HEAD:topic")
	// What is pushed first is overtaken while it is judged.
	hooks, once := filepath.Join(p.Bare, "hooks"), filepath.Join(p.Bare, "once")
	script := "#!/bin/sh\nif [ -e " + once + " ]; then rm " + once + "; env -u GIT_QUARANTINE_PATH git update-ref refs/heads/main " + moved + "; fi\nexec " + hooks + "/gate/pre-receive\n"
	err := os.Mkdir(filepath.Join(hooks, "gate"), 0o755)
	for _, step := range []func() error{
		func() error { return os.Rename(hooks+"/pre-receive", hooks+"/gate/pre-receive") },
		func() error { return gittest.WriteProgram(hooks+"/pre-receive", script) },
		func() error { return os.WriteFile(once, nil, 0o644) },
	} {
		if err = errors.Join(err, step()); err != nil {
			t.Fatal(err)
		}
	}
	p.say("D-1.1", report(t, "D-1", 1, comms.Done, "done"))
	p.folds(1)
	p.expect("R-1 D-1 DONE: done")
	if _, err := os.Stat(filepath.Join(p.Bare, "once")); err == nil {
		t.Error("nobody pushed in between")
	}
	p.Run(p.Bare, "git", "merge-base", "--is-ancestor", moved, "main")
}

// TestPruned: a document that is full makes room, and says what it took away.
func TestPruned(t *testing.T) {
	p := newPost(t, 2)
	long := strings.Repeat("word ", 3000)
	for i := range 14 {
		p.say("D-1.1", report(t, "D-1", i, comms.Info, fmt.Sprint(i, " ", long)))
	}
	p.folds(14)
	doc := p.document()
	if n := len(doc.Reports); n >= 14 || n < 2 || !strings.HasPrefix(doc.Reports[n-1].Text, "13 ") || doc.Reports[n-1].ID != 14 {
		t.Errorf("%d reports", n)
	}
	if out := p.Run(p.Bare, "git", "log", "--format=%B", "main"); !strings.Contains(out, "Comms-Prune: R-1..R-11") {
		t.Errorf("no trailer:\n%.2000s", out)
	}
	p.say("D-2.1", report(t, "D-2", 99, comms.Done, "done"))
	p.folds(1)
}

// TestEvil: what the gate does not take keeps nobody else's words out, and is named in its
// place; what cannot be read or is another directive's is passed over.
func TestEvil(t *testing.T) {
	p := newPost(t, 3)
	p.say("D-1.1", report(t, "D-1", 1, comms.ExitConverged, "Directive: "+p.document().Directive("D-1").Hash()+"\nproved, I say"),
		report(t, "D-1", 2, comms.Info, "and on"))
	p.say("D-2.1", report(t, "D-1", 3, comms.Done, "for another"), []byte("{}"), report(t, "D-2", 4, comms.Info, "key = \"ghp_"+"16C7e42F292c6912E7710c838347Ae178B4a\""))
	p.say("D-3.1", report(t, "D-3", 5, comms.Done, "honest"))
	p.folds(4)
	list := p.said()
	for i, want := range []string{
		"R-1 D-1 INFO: A report EXIT_CONVERGED of D-1.1 is left out, because the gate refused it for comms/agent-verdict: comms/0001.json of refs/ward/record/D-1.1.",
		"R-2 D-1 INFO: and on",
		"R-3 D-2 INFO: A report INFO of D-2.1 is left out, because the gate refused it for secret/github-pat: comms/0003.json of refs/ward/record/D-2.1.",
		"R-4 D-3 DONE: honest",
	} {
		if len(list) != 4 || !strings.HasPrefix(list[i], want) {
			t.Fatalf("got %q\n%s", list, p.log.String())
		}
	}
	p.folds(0)
	if strings.Contains(p.Run(p.Bare, "git", "show", "main:COMMS.md"), "ghp_") {
		t.Error("the secret is in COMMS.md")
	}
}

// broken is a commit on top of one, with a document that has no sections.
func (p *post) broken(on string) string {
	p.T.Helper()
	batch := p.Repo.Batch(p.T.Context())
	defer batch.Close()
	tree, err := batch.EditTree(on+"^{tree}", map[string][]byte{comms.Path: []byte("# COMMS\n")})
	if err != nil {
		p.T.Fatal(err)
	}
	commit, err := p.Repo.CommitTree(record.AgentIdent, tree, on, time.Now(), "broken")
	if err != nil {
		p.T.Fatal(err)
	}
	return commit
}

// TestWaitsForThePM: a document that takes nothing leaves everything pending, and loses none.
func TestWaitsForThePM(t *testing.T) {
	p := newPost(t, 1)
	sound := p.Run(p.Bare, "git", "show", "main:COMMS.md")
	p.say("D-1.1", report(t, "D-1", 1, comms.Done, "done"))
	good := strings.TrimSpace(p.Run(p.Bare, "git", "rev-parse", "main"))
	p.Run(p.Bare, "git", "update-ref", "refs/heads/main", p.broken(good)) // past the gate
	if n, err := p.Once(t.Context()); n != 0 || err == nil || !strings.Contains(err.Error(), "COMMS.md") {
		t.Fatal(n, err)
	}
	p.Run(p.Bare, "git", "update-ref", "refs/heads/main", good)
	p.folds(1)
	p.expect("R-1 D-1 DONE: done")
	if now := p.Run(p.Bare, "git", "show", "main:COMMS.md"); !strings.HasPrefix(now, strings.TrimSpace(sound)) {
		t.Errorf("the PM's part is another: %q", now)
	}
}

// TestKilledBeforeTheMark: a fold that was killed after its push, at the one moment that only
// content tells, says nothing twice.
func TestKilledBeforeTheMark(t *testing.T) {
	tier.First(t, "it pushes through Ward's hooks")
	p := newPost(t, 2)
	want := []string{}
	for i := 1; i <= 2; i++ {
		directive := fmt.Sprintf("D-%d", i)
		p.say(directive+".1", report(t, directive, i, comms.Info, "once"))
		want = append(want, fmt.Sprintf("R-%d %s INFO: once", i, directive))
	}
	p.folds(2)
	p.forgets(2)
	p.folds(0)
	p.expect(want...)
}

// TestMarkInTheWay: a unit whose mark cannot be moved, because another ref is in its place, holds
// back no other unit, and its own messages come once.
func TestMarkInTheWay(t *testing.T) {
	tier.First(t, "it pushes through Ward's hooks")
	p := newPost(t, 2)
	p.Run(p.Bare, "git", "update-ref", "refs/ward/folded/D-1.1/x", "main")
	var want []string
	for i := 1; i <= 4; i++ {
		directive := fmt.Sprintf("D-%d", 2-i%2)
		p.say(directive+".1", report(t, directive, i, comms.Info, "once"))
		want = append(want, fmt.Sprintf("R-%d %s INFO: once", i, directive))
		n, err := p.Once(t.Context())
		if n != 1 || err == nil || !strings.HasPrefix(err.Error(), "D-1.1 is in COMMS.md, and its mark cannot say so: ") {
			t.Errorf("%d: %v", n, err)
		}
	}
	p.expect(want...)
	if mark := p.Run(p.Bare, "git", "cat-file", "blob", "refs/ward/folded/D-2.1"); mark != `{"version":1,"unit":"D-2.1","folded":2}`+"\n" {
		t.Errorf("%q", mark)
	}
	p.Run(p.Bare, "git", "update-ref", "-d", "refs/ward/folded/D-1.1/x")
	p.folds(0)
	p.expect(want...)
}

// forgets takes the marks of the first n directives away, as a fold has left them that was
// killed before it set them.
func (p *post) forgets(n int) {
	for i := 1; i <= n; i++ {
		p.Run(p.Bare, "git", "update-ref", "-d", fmt.Sprintf("refs/ward/folded/D-%d.1", i))
	}
	p.Fold.done = nil
}

// TestKilled: a fold that is killed at any moment, again and again, loses nothing and says
// nothing twice, and what it leaves is sound.
func TestKilled(t *testing.T) {
	tier.Full(t, "it kills 40 folds at random moments")
	p := newPost(t, 3)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	random := rand.New(rand.NewPCG(tier.Seed(t), 0))
	scratch := t.TempDir()
	for round := range 40 {
		for i := 1; i <= 3; i++ {
			directive := fmt.Sprintf("D-%d", i)
			p.say(directive+".1", report(t, directive, 10*round+i, comms.Info, fmt.Sprint("round ", round)))
			want = append(want, fmt.Sprintf("%s INFO: round %d", directive, round))
		}
		cmd := p.Command(p.Bare, []string{onceVar + "=" + p.Bare, "FOLD_TEST_SCRATCH=" + scratch}, self)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(random.IntN(320)) * time.Millisecond) // any moment of a fold, which takes a quarter of a second: that is the test
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		cmd.Wait()
		for _, lock := range []string{"refs/heads/main.lock", "packed-refs.lock"} { // as the launcher's next start does
			os.Remove(filepath.Join(p.Bare, lock))
		}
	}
	p.Once(t.Context())
	p.forgets(3)
	p.folds(0)
	// Each directive's are in order; which directive's come first depends on what was there
	// at each fold.
	byDirective := func(a, b string) int { return strings.Compare(a[:len("D-1")], b[:len("D-1")]) }
	got := p.said()
	for i := range got {
		_, got[i], _ = strings.Cut(got[i], " ")
	}
	slices.SortStableFunc(got, byDirective)
	slices.SortStableFunc(want, byDirective)
	if !slices.Equal(got, want) {
		t.Fatalf("got %q\nwant %q\n%s", got, want, p.log.String())
	}
	if out, err := p.Try(p.Bare, nil, "", "git", "fsck", "--strict", "--no-dangling"); err != nil {
		t.Error(out)
	}
}

// TestPending: what lies on a record waits for the next turn; what is folded, or what the last turn
// could not fold, does not.
func TestPending(t *testing.T) {
	tier.First(t, "it pushes")
	p := newPost(t, 1)
	pending := func(want bool) {
		t.Helper()
		if got := p.Pending(t.Context()); got != want {
			t.Errorf("%v, want %v", got, want)
		}
	}
	pending(false)
	p.say("D-1.1", report(t, "D-1", 1, comms.Info, "one"))
	pending(true)
	p.folds(1)
	pending(false)
	p.say("D-1.1", report(t, "D-1", 2, comms.Info, "two"))
	where := p.Dir
	p.Dir = filepath.Join(where, "none")
	if n, err := p.Once(t.Context()); n != 0 || err == nil {
		t.Fatal(n, err)
	}
	pending(false)
	p.Dir = where
	p.folds(1)
	pending(false)
	p.say("D-1.1", report(t, "D-1", 3, comms.Info, "three"))
	pending(true)
}
