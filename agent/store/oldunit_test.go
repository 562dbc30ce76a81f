package store

import (
	"slices"
	"strings"
	"testing"
	"time"

	"git-ward/internal/gittest"
	"git-ward/internal/tier"
	"git-ward/protocols/uow"
)

// TestOldUnit: a unit that the first version of Ward left at its second claim gets a
// record, which holds its papers, and its branch holds the work alone; the next step of
// its journal says so.
func TestOldUnit(t *testing.T) {
	tier.Full(t, "a repository of the first version, taken up by pushes")
	p := gittest.FirstVersion(t)
	s, err := Open(t.Context(), Options{Bare: p.Bare, State: t.TempDir(), Executable: "/nonexistent"})
	if err != nil {
		t.Fatal(err)
	}
	m, err := s.Main(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, doc, err := m.Comms(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	journals, err := s.Journals(t.Context(), "D-2")
	if err != nil {
		t.Fatal(err)
	}
	u := &unit{T: t, store: s, journal: journals[0]}
	if u.work, err = s.Work(t.Context(), *doc.Directive("D-2")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(u.work.Close)
	const branch, ref = "agent/D-2", "refs/ward/record/D-2.1"
	before := strings.Fields(run(t, p.Bare, "", "ls-tree", "-r", "--name-only", branch))
	claim := u.journal.Claimed().Claim.Commit
	u.must(u.work.Begin(t.Context(), u.journal, nil))

	m2 := &uow.Main{DirectiveHash: u.work.Directive.Hash(), Total: uow.Totals(9), Policy: uow.DefaultPolicy()}
	in := uow.Input{Event: uow.Iterate, Actor: uow.Agent, Reason: "ITERATION_STARTED", Time: time.Now()}
	u.must(u.journal.Append(t.Context(), in, uow.World{Main: m2}, u.work))
	if layout := u.journal.Last().Layout; layout != uow.RecordLayout {
		t.Errorf("layout %d", layout)
	}
	files := strings.Fields(run(t, p.Bare, "", "ls-tree", "-r", "--name-only", ref))
	for _, want := range []string{"LEARNINGS.md", "evidence/D-2/loop/plan.json", "evidence/D-2/loop/manifest.json", "evidence/D-2/loop/iter_1/artifacts.json"} {
		if !slices.Contains(files, want) {
			t.Errorf("the record has no %s: %s", want, files)
		}
	}
	for _, name := range files {
		if strings.HasPrefix(name, "evidence/") && run(t, p.Bare, "", "rev-parse", ref+":"+name) != run(t, p.Bare, "", "rev-parse", claim+":"+name) {
			t.Errorf("%s is another than on the branch", name)
		}
	}
	changed := run(t, p.Bare, "", "diff", "--name-only", "main..."+branch)
	if changed == "" || strings.Contains(changed, "evidence/") || strings.Contains(changed, "LEARNINGS") || strings.Contains(changed, "plans/") {
		t.Errorf("the branch holds %s; it held %s", changed, before)
	}
	if got := run(t, p.Bare, "", "rev-list", "--count", claim+"..."+branch, "--not", "main"); got != "2" { // one that takes off the papers, and one that merges main
		t.Errorf("%s commits above the claim: %s", got, run(t, p.Bare, "", "log", "--oneline", "--graph", branch))
	}
	tip := u.work.Record.Tip()

	// Another process finds it so.
	u.work.Close()
	u.work, err = s.Work(t.Context(), *doc.Directive("D-2"))
	u.must(err)
	journals, err = s.Journals(t.Context(), "D-2")
	u.must(err)
	u.must(u.work.Begin(t.Context(), journals[0], nil))
	if head, err := u.work.Head(t.Context()); err != nil || head != run(t, p.Bare, "", "rev-parse", branch) || u.work.Record.Tip() != tip {
		t.Errorf("%s, %s, %v\n%s", head, u.work.Record.Tip(), err, run(t, u.work.Dir(), "", "log", "--graph", "--format=%h %s", head, branch))
	}
	u.fsck()
}
