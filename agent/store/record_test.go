package store

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"git-ward/agent/stop"
	"git-ward/internal/git"
	"git-ward/internal/gittest"
	"git-ward/internal/tier"
	"git-ward/protocols/loop"
	"git-ward/protocols/uow"
)

// unit is a unit at work on a remote without Ward's hooks.
type unit struct {
	*testing.T
	store   *Store
	work    *Work
	journal *Journal
}

func newUnit(t *testing.T) *unit {
	t.Helper()
	u := &unit{T: t, store: newStore(t)}
	u.journal = u.store.NewJournal(uow.ID{Directive: "D-1", K: 1})
	u.begin()
	u.step(uow.Input{Event: uow.Open, Reason: "DIRECTIVE_OPEN"})
	u.step(uow.Input{Event: uow.Activate, Reason: "WORK_STARTED"})
	return u
}

// begin does what a process does that begins: it reads everything from refs.
func (u *unit) begin() {
	u.Helper()
	u.work = work(u.T, u.store)
	list, err := u.store.Journals(u.Context(), "D-1")
	u.must(err)
	if len(list) > 0 {
		u.journal = list[len(list)-1]
	}
	u.must(u.work.Begin(u.Context(), u.journal, nil))
	u.Cleanup(u.work.Close)
}

func (u *unit) append(in uow.Input) error {
	in.Actor, in.Time = uow.Agent, time.Now()
	m := &uow.Main{DirectiveHash: u.work.Directive.Hash(), Total: uow.Totals(9), Policy: uow.DefaultPolicy()}
	return u.journal.Append(u.Context(), []uow.Input{in}, uow.World{Main: m}, u.work)
}

func (u *unit) step(in uow.Input) {
	u.Helper()
	u.must(u.append(in))
}

func (u *unit) must(err error) {
	u.Helper()
	if err != nil {
		u.Fatal(err)
	}
}

func (u *unit) commit(subject, second string, files map[string]string, trailers ...string) string {
	u.Helper()
	content := map[string][]byte{}
	for name, text := range files {
		content[name] = []byte(text)
	}
	id, err := u.work.Record.Commit(u.Context(), u.work.Record.Message(subject, "", trailers...), second, content)
	u.must(err)
	return id
}

// write writes a file of the working tree.
func (u *unit) write(name, text string) {
	u.Helper()
	name = filepath.Join(u.work.Dir(), name)
	u.must(os.MkdirAll(filepath.Dir(name), 0o755))
	u.must(os.WriteFile(name, []byte(text), 0o644))
}

// says is what a ref of the remote holds: the subjects of its commits by their first
// parents, the newest first, and its files.
func (u *unit) says(ref string) string {
	u.Helper()
	files := strings.Fields(run(u.T, u.store.Bare, "", "ls-tree", "-r", "--name-only", ref))
	return strings.ReplaceAll(run(u.T, u.store.Bare, "", "log", "--first-parent", "--format=%s", ref), "\n", "; ") + ": " + strings.Join(files, " ")
}

func (u *unit) fsck() {
	u.Helper()
	run(u.T, u.store.Bare, "", "fsck", "--strict", "--no-dangling")
}

const onRecord = "refs/ward/record/D-1.1"

// TestIteration: the two pushes of an iteration, what they leave on the remote, and what
// the commits say.
func TestIteration(t *testing.T) {
	tier.First(t, "it pushes an iteration")
	u := newUnit(t)
	capsule := loop.IterationDir("D-1", 0) + "/" + loop.CapsuleFile
	u.commit("iteration 1 begins", "", map[string]string{capsule: "{}\n", "LEARNINGS.md": "# L\n"}, "Ward-Iteration: 1")
	u.step(uow.Input{Event: uow.Iterate, Reason: "ITERATION_STARTED"})
	if out := run(t, u.store.Bare, "", "for-each-ref", "--format=%(refname)", "refs/heads/agent"); out != "" {
		t.Errorf("a branch without work: %s", out)
	}
	u.must(u.work.Record.Show(t.Context(), capsule))
	if data, err := os.ReadFile(filepath.Join(u.work.Dir(), ".ward", capsule)); err != nil || string(data) != "{}\n" {
		t.Errorf("%q, %v", data, err)
	}
	u.write("hello", "there\n")
	commit, err := u.work.Iterate(t.Context(), 1, "say hello.\n\nMore of it.")
	u.must(err)
	again, err := u.work.Iterate(t.Context(), 1, "nothing more")
	if again != commit || err != nil {
		t.Errorf("%s, then %s, %v", commit, again, err)
	}
	claim := u.commit("iteration 1 is claimed", commit, nil, "Ward-Iteration: 1")
	u.step(uow.Input{Event: uow.MakeClaim, Reason: "WORK_CLAIMED", Commit: commit, Record: claim})
	if got := u.says("agent/D-1"); got != "say hello; first: COMMS.md hello" {
		t.Error(got)
	}
	if got := u.says(onRecord); got != "iteration 1 is claimed; iteration 1 begins; record: D-1.1 begins: LEARNINGS.md "+capsule {
		t.Error(got)
	}
	if got := run(t, u.store.Bare, "", "log", "-1", "--format=%(trailers:only,unfold,separator=%x20)", "agent/D-1"); got != "Ward-Directive: D-1 Ward-Iteration: 1 Ward-Record: "+onRecord {
		t.Error(got)
	}
	if got := run(t, u.store.Bare, "", "rev-parse", onRecord+"^2", onRecord); got != commit+"\n"+claim {
		t.Error(got)
	}
	if last := u.journal.Last(); last.Claim.Record != claim || last.Layout != uow.Layout {
		t.Errorf("%+v", last)
	}
	u.fsck()

	// The clone is lost: all of it is there again.
	u.must(os.RemoveAll(filepath.Join(u.store.State, "agent")))
	u.begin()
	if u.work.Record.Tip() != claim || u.work.Base() != commit {
		t.Errorf("%s %s", u.work.Record.Tip(), u.work.Base())
	}
	names, err := u.work.Record.List(t.Context(), "evidence/D-1/loop")
	if err != nil || !slices.Equal(names, []string{"iter_0"}) {
		t.Error(names, err)
	}
	if data, err := u.work.Record.File(t.Context(), "evidence/none"); data != nil || err != nil {
		t.Error(data, err)
	}
	if _, err := u.work.Record.Commit(t.Context(), "x", "", map[string][]byte{"main.go": nil}); err == nil {
		t.Error("a record took main.go")
	}
	list, err := u.work.Record.Log(t.Context(), 2)
	if err != nil || len(list) != 2 || list[0].Second != commit || list[0].Parent != list[1].ID || time.Since(list[0].Time) > time.Hour {
		t.Error(list, err)
	}
}

// TestKept: a run that was killed leaves plans and steps in its clone; whatever else
// was not pushed is made again.
func TestKept(t *testing.T) {
	tier.First(t, "it begins several times")
	u := newUnit(t)
	u.commit("begins", "", map[string]string{"LEARNINGS.md": "# L\n"})
	u.step(uow.Input{Event: uow.Iterate, Reason: "ITERATION_STARTED"})
	pushed := u.work.Record.Tip()
	u.commit("the end of it", "", map[string]string{"LEARNINGS.md": "# not so\n"})
	u.commit("a step", u.work.Base(), nil, "Ward-Step: plans/a.txt#1")
	u.begin()
	if tip := u.work.Record.Tip(); tip != pushed {
		t.Errorf("it goes on from %s", tip)
	}
	u.commit("a plan", "", map[string]string{"plans/a.txt": "READ a\n"}, "Ward-Plan: plans/a.txt")
	step := u.commit("a step", u.work.Base(), nil, "Ward-Step: plans/a.txt#1")
	u.commit("the end of it", "", map[string]string{"LEARNINGS.md": "# not so\n"})
	u.begin()
	if tip := u.work.Record.Tip(); tip != step {
		t.Errorf("it goes on from %s", tip)
	}
	if data, err := os.ReadFile(filepath.Join(u.work.Dir(), ".ward", "plans", "a.txt")); string(data) != "READ a\n" {
		t.Errorf("%q, %v", data, err)
	}
	u.must(u.work.Restart(t.Context()))
	if tip := u.work.Record.Tip(); tip != pushed {
		t.Errorf("after a restart it goes on from %s", tip)
	}
}

// TestKeptAfterTheEnd: a run that was killed between the end of the work and its report leaves the
// steps of the work in its clone, where their record is when there is no unit.
func TestKeptAfterTheEnd(t *testing.T) {
	tier.First(t, "it begins several times")
	u := &unit{T: t, store: newStore(t)}
	begin := func() {
		u.work = work(t, u.store)
		u.must(u.work.Begin(t.Context(), nil, nil))
		t.Cleanup(u.work.Close)
	}
	begin()
	from, err := u.work.Head(t.Context())
	u.must(err)
	u.commit("a plan", from, map[string]string{"plans/a.txt": "READ a\n"}, "Ward-Plan: plans/a.txt")
	u.write("a", "work\n")
	step := u.commit("a step", from, nil, "Ward-Step: plans/a.txt#1")
	u.must(u.work.Publish(t.Context(), "done", true))
	for _, merged := range []bool{false, true} { // by the PM, who deletes the branch
		if merged {
			run(t, u.store.Bare, "", "update-ref", "refs/heads/main", u.work.Done.Commit)
			run(t, u.store.Bare, "", "update-ref", "-d", "refs/heads/agent/D-1")
		}
		begin()
		if tip := u.work.Record.Tip(); tip != step || u.work.Done == nil {
			t.Errorf("merged %v: the record is at %s, and not at the step %s; the end: %v", merged, tip, step, u.work.Done)
		}
	}
}

// TestKeptBelowAMessage: what the PM is told of a unit that waits lies on its record, on which
// the run has left steps in its clone. They are gone on with; where somebody else worked
// meanwhile they are planned anew.
func TestKeptBelowAMessage(t *testing.T) {
	tier.First(t, "it begins several times")
	u := newUnit(t)
	u.commit("begins", "", map[string]string{"LEARNINGS.md": "# L\n"})
	u.step(uow.Input{Event: uow.Iterate, Reason: "ITERATION_STARTED"})
	u.commit("a plan", u.work.Base(), map[string]string{"plans/a.txt": "READ a\n"}, "Ward-Plan: plans/a.txt")
	u.commit("a step", u.work.Base(), nil, "Ward-Step: plans/a.txt#1")
	subjects := func() string {
		list, err := u.work.Record.Log(t.Context(), 0)
		u.must(err)
		var all []string
		for _, c := range list {
			subject, _, _ := strings.Cut(c.Message, "\n")
			all = append(all, subject)
		}
		return strings.Join(all, "; ")
	}
	meanwhile := func(name, subject string) {
		t.Helper()
		batch := git.Open(u.store.Bare).Batch(t.Context())
		defer batch.Close()
		tree, err := batch.EditTree(onRecord+"^{tree}", map[string][]byte{name: []byte("{}\n")})
		u.must(err)
		run(t, u.store.Bare, "", "update-ref", onRecord, run(t, u.store.Bare, subject, "commit-tree", tree, "-p", onRecord))
	}
	for _, c := range []struct{ name, subject, want string }{
		{"comms/0001.json", "a message", "a step; a plan; a message; begins; record: D-1.1 begins"},
		{"comms/0002.json", "another", "a step; a plan; another; a message; begins; record: D-1.1 begins"},
		{"LEARNINGS.md", "somebody's work", "somebody's work; another; a message; begins; record: D-1.1 begins"},
	} {
		meanwhile(c.name, c.subject)
		u.begin()
		if got := subjects(); got != c.want {
			t.Errorf("after %s: %s, want %s", c.subject, got, c.want)
		}
	}
}

// TestPapers: what a worker writes below .ward is found, a link is not followed, and
// nothing of it is work.
func TestPapers(t *testing.T) {
	u := newUnit(t)
	u.commit("a plan", "", map[string]string{"plans/a.txt": "READ a\n", "plans/b.txt": "READ b\n"})
	u.must(u.work.Record.Show(t.Context()))
	u.write(".ward/plans/b.txt", "READ c\n")
	u.write(".ward/postmortems/p.md", "# P\n")
	u.write(".ward/LEARNINGS.md", "# not yours\n")
	u.write(".ward/other", "x")
	u.must(os.Symlink("/etc/passwd", filepath.Join(u.work.Dir(), ".ward", "plans", "link")))
	uncommitted, err := u.work.Record.Uncommitted(t.Context())
	u.must(err)
	if got := slices.Sorted(maps.Keys(uncommitted)); fmt.Sprint(got) != "[plans/b.txt postmortems/p.md]" || string(uncommitted["plans/b.txt"]) != "READ c\n" {
		t.Error(got)
	}
	if commit, err := u.work.Iterate(t.Context(), 1, ""); err != nil || commit != u.work.Base() {
		t.Errorf("%s, %v", commit, err)
	}
	for i := range allShownSize/shownSize + 1 { // too many for anybody to read
		path := filepath.Join(u.work.Dir(), ".ward", "research", fmt.Sprint(i))
		u.write(".ward/research/"+fmt.Sprint(i), "")
		u.must(os.Truncate(path, shownSize))
	}
	if _, err := u.work.Record.Uncommitted(t.Context()); !stop.Is(err, stop.Refused) {
		t.Error(err)
	}
}

// TestRaced: somebody else moves branch, record and journal while a claim is pushed.
func TestRaced(t *testing.T) {
	tier.First(t, "it pushes a claim twice")
	u := newUnit(t)
	u.commit("begins", "", map[string]string{"LEARNINGS.md": "# L\n"})
	u.step(uow.Input{Event: uow.Iterate, Reason: "ITERATION_STARTED"})
	tree := run(t, u.store.Bare, "100644 blob "+run(t, u.store.Bare, "theirs", "hash-object", "-w", "--stdin")+"\ttheirs\n", "mktree")
	theirs := run(t, u.store.Bare, "theirs", "commit-tree", tree, "-p", "main")
	blob := run(t, u.store.Bare, "# P\n", "hash-object", "-w", "--stdin")
	papers := run(t, u.store.Bare, "040000 tree "+run(t, u.store.Bare, "100644 blob "+blob+"\tp.md\n", "mktree")+"\tpostmortems\n", "mktree")
	run(t, u.store.Bare, "", "update-ref", "refs/heads/agent/D-1", theirs)
	run(t, u.store.Bare, "", "update-ref", onRecord, run(t, u.store.Bare, "a post-mortem", "commit-tree", papers, "-p", onRecord))
	claim := func() error {
		u.write("mine", "mine\n")
		commit, err := u.work.Iterate(t.Context(), 1, "do it")
		u.must(err)
		paper := u.commit("claimed", commit, map[string]string{"evidence/D-1/loop/x": "x"})
		return u.append(uow.Input{Event: uow.MakeClaim, Reason: "WORK_CLAIMED", Commit: commit, Record: paper})
	}
	if err := claim(); !errors.Is(err, ErrMoved) {
		t.Fatal(err)
	}
	u.must(claim())
	if got := u.says("agent/D-1"); !strings.HasSuffix(got, "; do it; first: mine theirs") {
		t.Error(got)
	}
	if got := u.says(onRecord); !strings.Contains(got, "claimed; a post-mortem; begins") || !strings.HasSuffix(got, "evidence/D-1/loop/x postmortems/p.md") {
		t.Error(got)
	}
	u.fsck()
}

// TestHeld: what is held goes with the next push and is nowhere before it; where somebody was
// faster it is judged anew, and what is refused is held no more.
func TestHeld(t *testing.T) {
	tier.First(t, "it pushes held steps")
	u := newUnit(t)
	world := uow.World{Main: &uow.Main{DirectiveHash: u.work.Directive.Hash(), Total: uow.Totals(9), Policy: uow.DefaultPolicy()}}
	hold := func(event uow.Event, reason uow.Reason) {
		t.Helper()
		u.must(u.journal.Hold([]uow.Input{{Event: event, Reason: reason, Actor: uow.Agent, Time: time.Now()}}, world))
	}
	journal := func() string {
		subjects, _, _ := strings.Cut(u.says(uow.RefPrefix+"D-1.1"), ": uow.json")
		return strings.ReplaceAll(subjects, "uow: D-1.1 ", "")
	}
	before := journal()
	hold(uow.Block, uow.Stale)
	if got := journal(); got != before || u.journal.Last().Event != uow.Block || !u.journal.Holds() {
		t.Fatalf("%s, %s", got, u.journal.Last().Event)
	}
	u.step(uow.Input{Event: uow.Retry, Reason: uow.CauseGone})
	if got := journal(); got != "retry ACTIVE; block ZOMBIED_SOFT; "+before || u.journal.Holds() {
		t.Error(got)
	}

	other, err := u.store.Journals(t.Context(), "D-1")
	u.must(err)
	hold(uow.Fail, uow.DirectiveGone)
	u.must(other[0].Append(t.Context(), []uow.Input{{Event: uow.Block, Reason: uow.Stale, Actor: uow.Agent, Time: time.Now()}}, world))
	before = journal()
	if err := u.journal.Append(t.Context(), nil, world); !stop.Is(err, stop.Refused) { // no unit that waits fails
		t.Fatal(err)
	}
	if got := journal(); got != before || u.journal.Holds() || u.journal.Last().Event != uow.Block {
		t.Errorf("%s, %s", got, u.journal.Last().Event)
	}
	u.fsck()
}

// TestHeldAndRefused: a unit that begins with its first work is opened without it where that is
// refused; where the unit may not enter either, there is none.
func TestHeldAndRefused(t *testing.T) {
	tier.First(t, "it pushes held steps")
	for _, c := range []struct {
		refs, journal string
		kind          stop.Kind
		last          uow.Event
	}{
		{"*record*", "uow: D-1.1 activate ACTIVE; uow: D-1.1 open PENDING", stop.Refused, uow.Activate},
		{"*record*|*uow*", "", stop.Suspended, ""},
	} {
		t.Run(c.refs, func(t *testing.T) {
			u := &unit{T: t, store: newStore(t)}
			u.journal = u.store.NewJournal(uow.ID{Directive: "D-1", K: 1})
			u.begin()
			world := uow.World{Main: &uow.Main{DirectiveHash: u.work.Directive.Hash(), Total: uow.Totals(9), Policy: uow.DefaultPolicy()}}
			input := func(event uow.Event, reason uow.Reason) uow.Input {
				return uow.Input{Event: event, Reason: reason, Actor: uow.Agent, Time: time.Now()}
			}
			u.must(u.journal.Hold([]uow.Input{input(uow.Open, "DIRECTIVE_OPEN"), input(uow.Activate, "WORK_STARTED")}, world))
			hook := "#!/bin/sh\ncase $1 in " + c.refs + ") echo no such paper >&2; exit 1;; esac\n"
			gittest.Program(u, filepath.Join(u.store.Bare, "hooks", "update"), hook)
			u.commit("iteration 1 begins", "", map[string]string{"LEARNINGS.md": "# L\n"})
			err := u.append(input(uow.Iterate, "ITERATION_STARTED"))
			if end := stop.Of(err); end == nil || end.Kind != c.kind || !strings.Contains(end.Why+end.Output, "no such paper") {
				t.Errorf("%v", err)
			}
			var event uow.Event
			if last := u.journal.Last(); last != nil {
				event = last.Event
			}
			if event != c.last || u.journal.Holds() {
				t.Errorf("%q, holds %t", event, u.journal.Holds())
			}
			if got := run(t, u.store.Bare, "", "log", "--format=%s", "--glob="+uow.RefPrefix+"*"); strings.ReplaceAll(got, "\n", "; ") != c.journal {
				t.Error(got)
			}
			u.fsck()
		})
	}
}

// TestRefused: a push that the remote refuses moves nothing, and leaves the work to be
// mended.
func TestRefused(t *testing.T) {
	tier.First(t, "it pushes a claim twice")
	u := newUnit(t)
	u.commit("begins", "", map[string]string{"LEARNINGS.md": "# L\n"})
	u.step(uow.Input{Event: uow.Iterate, Reason: "ITERATION_STARTED"})
	pushed := u.work.Record.Tip()
	hook := filepath.Join(u.store.Bare, "hooks", "update")
	gittest.Program(u, hook, "#!/bin/sh\ncase $1 in *record*) echo no such paper >&2; exit 1;; esac\n")
	u.write("mine", "mine\n")
	commit, err := u.work.Iterate(t.Context(), 1, "do it")
	u.must(err)
	paper := u.commit("claimed", commit, nil)
	err = u.append(uow.Input{Event: uow.MakeClaim, Reason: "WORK_CLAIMED", Commit: commit, Record: paper})
	if refused := stop.As(err, stop.Refused); refused == nil || !strings.Contains(refused.Output, "no such paper") {
		t.Fatal(err)
	}
	if u.work.Record.Tip() != pushed || u.journal.Last().Event != uow.Iterate {
		t.Errorf("%s, %s", u.work.Record.Tip(), u.journal.Last().Event)
	}
	if head, err := u.work.Head(t.Context()); head != u.work.Base() || err != nil {
		t.Errorf("the branch is at %s, %v", head, err)
	}
	if data, err := os.ReadFile(filepath.Join(u.work.Dir(), "mine")); string(data) != "mine\n" {
		t.Error(err)
	}
	if refs := run(t, u.store.Bare, "", "for-each-ref", "refs/heads/agent"); refs != "" {
		t.Error(refs)
	}
}
