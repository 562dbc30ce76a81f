package store

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"git-ward/internal/config"
	"git-ward/internal/tier"
	"git-ward/protocols/comms"
	"git-ward/protocols/uow"
)

// newAdopted is a store on a project of its own, whose branch is trunk, with a control
// branch that has no history in common with it.
func newAdopted(t *testing.T) *Store {
	t.Helper()
	bare := filepath.Join(t.TempDir(), "remote.git")
	run(t, ".", "", "init", "--quiet", "--bare", "--initial-branch=trunk", bare)
	for branch, file := range map[string][2]string{"ward": {document, "COMMS.md"}, "trunk": {"package x\n", "x.go"}} {
		tree := run(t, bare, "100644 blob "+run(t, bare, file[0], "hash-object", "-w", "--stdin")+"\t"+file[1]+"\n", "mktree")
		run(t, bare, "", "update-ref", "refs/heads/"+branch, run(t, bare, branch+"\n", "commit-tree", tree))
	}
	s, err := Open(t.Context(), Options{Bare: bare, State: t.TempDir(), Executable: "/nonexistent", Control: config.Control{Branch: "ward", Project: "trunk"}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestControl: documents are read from the control branch and reports go there; work
// begins from the project's branch and is merged into it; both are watched.
func TestControl(t *testing.T) {
	tier.First(t, "it pushes to both branches")
	s := newAdopted(t)
	u := &unit{T: t, store: s, journal: s.NewJournal(uow.ID{Directive: "D-1", K: 1})}
	before := s.Watch()
	u.begin()
	u.step(uow.Input{Event: uow.Open, Reason: "DIRECTIVE_OPEN"})
	if !before.Moved() {
		t.Error("the unit's journal moved")
	}
	u.write("y.go", "package x\n")
	commit, err := u.work.Iterate(t.Context(), 1, "")
	u.must(err)
	u.must(u.work.Offer(t.Context()))
	if got := u.says("agent/D-1"); got != "one; trunk: x.go y.go" {
		t.Error(got)
	}
	if before.Moved() {
		t.Error("neither branch moved")
	}
	u.must(s.Report(t.Context(), comms.NewReport{Time: time.Now(), Directive: "D-1", DirectiveHash: u.work.Directive.Hash(), Status: comms.Done, Text: "x"}))
	if got := u.says("ward"); got != "comms: report D-1 DONE; ward: COMMS.md" {
		t.Error(got)
	}
	reported := before.Moved()
	if taken, err := s.Taken(t.Context(), commit); taken || err != nil {
		t.Error(taken, err)
	}
	u.must(s.Merge(t.Context(), u.work.Branch, commit))
	if taken, err := s.Taken(t.Context(), commit); !taken || err != nil {
		t.Error(taken, err)
	}
	if !reported || !before.Moved() {
		t.Error("a branch that moved is not seen")
	}
	m, err := s.Look(t.Context())
	u.must(err)
	if m.Project != commit || m.Commit != run(t, s.Bare, "", "rev-parse", "ward") {
		t.Errorf("%+v", m)
	}
	if _, err := m.File(t.Context(), "x.go", 100); err == nil || !strings.HasPrefix(err.Error(), "ward has no x.go") {
		t.Error(err)
	}
	if out := run(t, u.work.Dir(), "", "config", "--get-regexp", `^ward\.`); out != "ward.principal agent\nward.control ward\nward.project trunk\nward.record .ward" {
		t.Error(out)
	}
	u.fsck()
}

// TestStarts: where the next unit's branch begins.
func TestStarts(t *testing.T) {
	tier.First(t, "it begins several units")
	for name, c := range map[string]struct {
		first uow.Record
		how   func(u *unit, work string) // what the PM does with the work of the first unit
		want  string                     // files of the next unit's branch
	}{
		"an edit":        {uow.Record{Event: uow.Open}, func(*unit, string) {}, "COMMS.md hello"},
		"a fork":         {uow.Record{Event: uow.Fork, ReasonCode: "NEW_ATTEMPT"}, func(*unit, string) {}, "COMMS.md hello"},
		"a fresh fork":   {uow.Record{Event: uow.Fork, ReasonCode: uow.FreshStart}, func(*unit, string) {}, "COMMS.md"},
		"a merged one":   {uow.Record{Event: uow.Open}, func(u *unit, work string) { run(u.T, u.store.Bare, "", "update-ref", "refs/heads/main", work) }, "COMMS.md hello"},
		"a deleted one":  {uow.Record{Event: uow.Open}, func(u *unit, work string) { run(u.T, u.store.Bare, "", "update-ref", "-d", "refs/heads/agent/D-1") }, "COMMS.md"},
		"a squashed one": {uow.Record{Event: uow.Open}, squash, "COMMS.md squashed"},
	} {
		t.Run(name, func(t *testing.T) {
			u := newUnit(t)
			u.commit("begins", "", map[string]string{"LEARNINGS.md": "# what was learnt\n"})
			u.step(uow.Input{Event: uow.Iterate, Reason: "ITERATION_STARTED"})
			u.write("hello", "there\n")
			commit, err := u.work.Iterate(t.Context(), 1, "")
			u.must(err)
			u.step(uow.Input{Event: uow.MakeClaim, Reason: "WORK_CLAIMED", Commit: commit, Record: u.commit("claimed", commit, nil)})
			c.how(u, commit)

			w := work(t, u.store)
			t.Cleanup(w.Close)
			next := u.store.NewJournal(uow.ID{Directive: "D-1", K: 2})
			c.first.Layout = uow.Layout
			next.Records = []*uow.Record{&c.first}
			u.must(w.Begin(t.Context(), next, []*Journal{u.journal}))
			if got := strings.Join(strings.Fields(run(t, w.Dir(), "", "ls-tree", "-r", "--name-only", "HEAD")), " "); got != c.want {
				t.Error(got)
			}
			if data, err := w.Record.File(t.Context(), "LEARNINGS.md"); string(data) != "# what was learnt\n" || err != nil {
				t.Errorf("%q, %v", data, err)
			}
			u.work = w
			u.write("next", "one\n")
			_, err = w.Iterate(t.Context(), 1, "")
			u.must(err)
			u.must(w.Offer(t.Context()))
			files := append(strings.Fields(c.want), "next")
			slices.Sort(files)
			if got := u.says("agent/D-1"); !strings.HasSuffix(got, ": "+strings.Join(files, " ")) {
				t.Error(got)
			}
			u.fsck()
		})
	}
}

// squash takes work as one commit that says so, and changes it.
func squash(u *unit, work string) {
	tree := run(u.T, u.store.Bare, run(u.T, u.store.Bare, "", "ls-tree", "main")+"\n100644 blob "+
		run(u.T, u.store.Bare, "x", "hash-object", "-w", "--stdin")+"\tsquashed\n", "mktree")
	run(u.T, u.store.Bare, "", "update-ref", "refs/heads/main", run(u.T, u.store.Bare, "took it\n\nWard-Taken: "+work+"\n", "commit-tree", tree, "-p", "main"))
}
