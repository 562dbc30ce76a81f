package store

import (
	"testing"

	"git-ward/internal/tier"
	"git-ward/protocols/uow"
)

// TestTaken: a directive that is new begins with the learnings of the unit whose work came
// into the project last; a commit there that only names a record brings none.
func TestTaken(t *testing.T) {
	tier.First(t, "it pushes a claim")
	u := newUnit(t)
	u.commit("begins", "", map[string]string{"LEARNINGS.md": "# what was learnt\n"})
	u.step(uow.Input{Event: uow.Iterate, Reason: "ITERATION_STARTED"})
	u.write("hello", "there\n")
	commit, err := u.work.Iterate(t.Context(), 1, "")
	u.must(err)
	u.step(uow.Input{Event: uow.MakeClaim, Reason: "WORK_CLAIMED", Commit: commit, Record: u.commit("claimed", commit, nil)})
	project := func(id string) {
		t.Helper()
		run(t, u.store.Bare, "", "update-ref", "refs/heads/main", id)
		if _, err := u.store.Main(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	learnt := func(want string) {
		t.Helper()
		if data, err := u.store.taken(t.Context()); string(data) != want || err != nil {
			t.Errorf("%q, %v", data, err)
		}
	}
	learnt("")
	said := "says so\n\nWard-Record: refs/ward/record/D-8.1\nWard-Record: refs/ward/record/x\nWard-Record: " + onRecord + "\n"
	main := run(t, u.store.Bare, "", "rev-parse", "main")
	project(run(t, u.store.Bare, said, "commit-tree", "main^{tree}", "-p", "main"))
	learnt("")
	project(run(t, u.store.Bare, "takes it\n", "commit-tree", commit+"^{tree}", "-p", main, "-p", commit))
	learnt("# what was learnt\n")
}
