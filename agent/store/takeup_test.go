package store

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"git-ward/internal/gittest"
	"git-ward/internal/tier"
	"git-ward/protocols/uow"
)

// elsewhere is the same unit in a process of another slot, whose clones are its own.
func (u *unit) elsewhere() *unit {
	u.Helper()
	o := u.store.Options
	o.State = u.TempDir()
	s, err := Open(u.Context(), o)
	u.must(err)
	other := &unit{T: u.T, store: s}
	other.begin()
	return other
}

// takesUp does what a worker does who begins.
func (u *unit) takesUp() (took bool, aside string) {
	u.Helper()
	took, aside, err := u.work.TakeUp(u.Context(), u.journal, nil)
	u.must(err)
	return took, aside
}

func (u *unit) keeps() {
	u.Helper()
	var said []string
	u.must(u.keeper(&said).Keep(u.Context()))
	if len(said) > 0 {
		u.Fatal(said)
	}
}

func (u *unit) reads(name string) string {
	u.Helper()
	data, err := os.ReadFile(filepath.Join(u.work.Dir(), name))
	u.must(err)
	return string(data)
}

// asides are the branches of what was put aside.
func (u *unit) asides() []string {
	u.Helper()
	return strings.Fields(run(u.T, u.store.Bare, "", "for-each-ref", "--format=%(refname)", "refs/heads/rescue/D-1-2*"))
}

// TestTakeUp: the next worker, of whatever slot, has in his tree what the last one had not
// committed, and what the project and the branch hold by now.
func TestTakeUp(t *testing.T) {
	tier.First(t, "it begins a unit several times")
	begun := func(t *testing.T) *unit {
		u := newUnit(t)
		u.write("work", "1\n2\n3\n4\n5\n6\n7\n")
		u.step(uow.Input{Event: uow.Iterate, Reason: "ITERATION_STARTED"})
		_, err := u.work.Iterate(t.Context(), 1, "")
		u.must(err)
		u.must(u.work.Offer(t.Context()))
		u.write("work", "1\n2\n3\n4\n5\n6\n7\n8\n")
		u.write("new", "there\n")
		u.keeps()
		return u
	}
	// push has somebody else move a branch, by a commit with one file changed.
	push := func(u *unit, branch, name, text string) string {
		run(u.T, u.work.Dir(), "", "fetch", "--quiet")
		dir := u.TempDir()
		run(u.T, dir, "", "clone", "--quiet", "--branch", branch, u.store.Bare, "theirs")
		u.must(os.WriteFile(filepath.Join(dir, "theirs", name), []byte(text), 0o644))
		run(u.T, filepath.Join(dir, "theirs"), "", "add", "--all")
		run(u.T, filepath.Join(dir, "theirs"), "", "commit", "--quiet", "-m", "theirs")
		run(u.T, filepath.Join(dir, "theirs"), "", "push", "--quiet", "origin", "HEAD")
		return run(u.T, filepath.Join(dir, "theirs"), "", "rev-parse", "HEAD")
	}
	t.Run("takes up", func(t *testing.T) {
		u := begun(t)
		for i, other := range []*unit{u.elsewhere(), u} {
			if i == 1 {
				other.begin()
				if u.must(u.work.Offer(t.Context())); u.tip(keptRef) == "" {
					t.Error("it is gone before it is taken up")
				}
			}
			if took, aside := other.takesUp(); !took || aside != "" {
				t.Fatal(took, aside)
			}
			if got := run(t, other.work.Dir(), "", "status", "--porcelain"); got != "M work\n?? new" || other.reads("new") != "there\n" {
				t.Errorf("the tree holds %q", got)
			}
			stand, err := other.work.PlanHead(t.Context())
			if text := run(t, other.work.Dir(), "", "show", stand+":new"); text != "there" || err != nil {
				t.Errorf("a plan would begin without it: %q, %v", text, err)
			}
		}
		kept := u.tip(keptRef)
		if u.keeps(); u.tip(keptRef) != kept {
			t.Error("it is kept again as it was taken up")
		}
		_, err := u.work.Iterate(t.Context(), 1, "")
		u.must(err)
		u.must(u.work.Offer(t.Context()))
		if got := u.says("agent/D-1"); !strings.HasSuffix(got, ": COMMS.md new work") || u.tip(keptRef) != "" || u.work.TookUp() {
			t.Errorf("%s; %s", got, u.tip(keptRef))
		}
		u.fsck()
	})
	t.Run("on what moved", func(t *testing.T) {
		u := begun(t)
		push(u, "main", "project", "newer\n")
		push(u, u.work.Branch, "work", "0\n2\n3\n4\n5\n6\n7\n")
		other := u.elsewhere()
		if took, aside := other.takesUp(); !took || aside != "" {
			t.Fatal(took, aside)
		}
		if other.reads("work") != "0\n2\n3\n4\n5\n6\n7\n8\n" || other.reads("project") != "newer\n" || other.reads("new") != "there\n" {
			t.Errorf("%q %q", other.reads("work"), other.reads("project"))
		}
	})
	for name, moves := range map[string]func(u *unit){
		"does not apply": func(u *unit) { push(u, u.work.Branch, "work", "1\n2\n3\n4\n5\n6\nseven\n") },
		"a branch taken back": func(u *unit) {
			run(u.T, u.store.Bare, "", "update-ref", "-d", "refs/heads/"+u.work.Branch)
		},
		"taken": func(u *unit) { squash(u, u.tip("refs/heads/"+u.work.Branch)) },
	} {
		t.Run(name, func(t *testing.T) {
			u := begun(t)
			kept := u.tip(keptRef)
			moves(u)
			other := u.elsewhere()
			took, aside := other.takesUp()
			if list := u.asides(); took || len(list) != 1 || list[0] != "refs/heads/"+aside || u.tip(aside) != kept && u.tip(list[0]) != kept || u.tip(keptRef) != "" {
				t.Fatalf("%v, %q of %q", took, aside, list)
			}
			if got := run(t, other.work.Dir(), "", "status", "--porcelain"); got != "" {
				t.Errorf("the tree holds %q", got)
			}
			other.write("another", "begins\n")
			other.keeps()
			if u.tip(keptRef) == "" || u.tip("refs/heads/"+aside) != kept {
				t.Error("what was put aside is gone, or nothing is kept any more")
			}
		})
	}
	t.Run("a fresh start", func(t *testing.T) { // of a fork, which goes on with its own, and not with the unit's before
		u := begun(t)
		theirs := u.tip(keptRef)
		u.journal = u.store.NewJournal(uow.ID{Directive: "D-1", K: 2})
		u.journal.Records = []*uow.Record{{Event: uow.Fork, ReasonCode: uow.FreshStart, Layout: uow.Layout}}
		fork := func() (took bool) {
			t.Helper()
			w := work(t, u.store)
			t.Cleanup(w.Close)
			u.work = w
			earlier := []*Journal{u.store.NewJournal(uow.ID{Directive: "D-1", K: 1})}
			u.must(w.Begin(t.Context(), u.journal, earlier))
			took, aside, err := w.TakeUp(t.Context(), u.journal, earlier)
			if u.must(err); aside != "" {
				t.Error(aside)
			}
			return took
		}
		if fork() || u.tip(keptRef) != theirs {
			t.Error("it goes on with the unit's before, or took it away")
		}
		u.write("fork", "of it\n")
		u.keeps()
		if !fork() || u.reads("fork") != "of it\n" || u.tip(keptRef) != theirs {
			t.Error("it does not go on with its own")
		}
	})
	t.Run("not put aside", func(t *testing.T) { // the remote is full, or says no: the Saver overwrites nothing
		u := begun(t)
		kept := u.tip(keptRef)
		push(u, u.work.Branch, "work", "1\n2\n3\n4\n5\n6\nseven\n")
		other := u.elsewhere()
		hook := filepath.Join(u.store.Bare, "hooks", "pre-receive")
		u.must(os.MkdirAll(filepath.Dir(hook), 0o755))
		gittest.Program(u, hook, "#!/bin/sh\nexit 1\n")
		if took, aside := other.takesUp(); took || aside != "" {
			t.Fatal(took, aside)
		}
		other.write("another", "begins\n")
		var said []string
		k := other.keeper(&said)
		if err := k.Keep(t.Context()); err == nil || u.tip(keptRef) != kept {
			t.Errorf("it is overwritten: %v", err)
		}
		u.must(os.Remove(hook))
		u.must(k.Keep(t.Context()))
		if list := u.asides(); len(list) != 1 || u.tip(list[0]) != kept || u.tip(keptRef) == kept || u.tip(keptRef) == "" {
			t.Errorf("%q", list)
		}
	})
	t.Run("other slot", func(t *testing.T) { // a plan that is left in a clone is older than what another has kept since
		u := begun(t)
		u.commit("a plan", u.tip("refs/heads/"+u.work.Branch), map[string]string{"plans/a.txt": "READ a\n"}, "Ward-Plan: plans/a.txt")
		u.begin()
		if on, err := u.work.Stepping(t.Context()); !on || err != nil {
			t.Fatalf("its own plan is gone: %v", err)
		}
		if took, aside := u.takesUp(); took || aside != "" || u.tip(keptRef) == "" {
			t.Error("what its own plan is newer than is taken up, or gone")
		}
		other := u.elsewhere()
		if took, _ := other.takesUp(); !took {
			t.Fatal("it is not taken up")
		}
		other.write("new", "by the other\n")
		other.keeps()
		u.begin()
		if on, err := u.work.Stepping(t.Context()); on || err != nil {
			t.Errorf("the older plan goes before it: %v", err)
		}
		if took, _ := u.takesUp(); !took || u.reads("new") != "by the other\n" {
			t.Errorf("%v: %q", took, u.reads("new"))
		}
	})
	t.Run("the next unit", func(t *testing.T) {
		u := begun(t)
		w := work(t, u.store)
		t.Cleanup(w.Close)
		next := u.store.NewJournal(uow.ID{Directive: "D-1", K: 2})
		next.Records = []*uow.Record{{Event: uow.Open, Layout: uow.Layout}}
		u.must(w.Begin(t.Context(), next, []*Journal{u.journal}))
		took, aside, err := w.TakeUp(t.Context(), next, []*Journal{u.journal})
		if !took || aside != "" || err != nil || u.tip(keptRef) != "" || u.tip("refs/heads/rescue/D-1-kept-2") == "" {
			t.Fatal(took, aside, err)
		}
		u.must(w.EndSaving(t.Context()))
		if u.tip("refs/heads/rescue") != "" {
			t.Error("a unit that is done has something kept")
		}
	})
}
