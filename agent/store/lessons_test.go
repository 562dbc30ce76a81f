package store

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"git-ward/internal/tier"
)

// TestLearn: what the post-mortem of a record teaches is carried out on a branch that
// begins at control, once; the work knows nothing of it.
func TestLearn(t *testing.T) {
	tier.First(t, "it pushes a branch of lessons")
	u := newUnit(t)
	u.write("work.txt", "work\n")
	if l, err := u.work.Learn(t.Context()); l != nil || err != nil {
		t.Errorf("%+v, %v", l, err)
	}
	u.write(".ward/postmortems/2026-11-22-D-1.md", "# Post-mortem of D-1\n\n**Task ID:** D-1\n**Date:** 2026-11-22\n\n"+
		"## 4. Corrective Actions & Lessons Learned\n\n1. **Lesson:** Look first.\n   **Action:** be careful\n")
	u.write(".ward/postmortems/2026-11-23-D-1.md", "# Post-mortem of D-1\n\n**Task ID:** D-1\n**Date:** 2026-11-23\n\n## 4. Corrective Actions & Lessons Learned\n")
	for range 2 {
		l, err := u.work.Learn(t.Context())
		if err != nil || l.Branch != "agent/D-1-lessons" || l.Applied != 1 || l.Failed != 0 {
			t.Errorf("%+v, %v", l, err)
		}
	}
	if got := u.says("agent/D-1-lessons"); got != "lesson: extract 1 from postmortems/2026-11-22-D-1.md; first: COMMS.md knowledge_core/lessons.jsonl" {
		t.Error(got)
	}
	if data, err := os.ReadFile(filepath.Join(u.work.Dir(), "work.txt")); string(data) != "work\n" {
		t.Errorf("%q, %v", data, err)
	}
	if head := run(t, u.work.Dir(), "", "symbolic-ref", "HEAD"); !strings.HasSuffix(head, "agent/D-1") {
		t.Error(head)
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(u.work.Dir()), ".lessons")); err == nil {
		t.Error("the tree of the lessons is still there")
	}
	u.fsck()
}

// TestGoOn: a process goes on with the plan of one that was killed, on the branch that its
// steps were made on, though the project has moved; a branch that somebody moved is not
// gone back on.
func TestGoOn(t *testing.T) {
	tier.First(t, "it begins several times")
	u := newUnit(t)
	u.commit("begins", "", map[string]string{"LEARNINGS.md": "# L\n"})
	u.must(u.work.Offer(t.Context()))
	base := u.work.Base()
	plan, err := u.work.CommitPlan(t.Context(), base, "plans/D-1.plan.txt", []byte("# FSM: sub\nread_file a\n"))
	u.must(err)
	u.write("a", "a\n")
	run(t, u.work.Dir(), "", "add", "a")
	step := run(t, u.work.Dir(), "", "commit-tree", "-p", base, "-m", "plan: a", run(t, u.work.Dir(), "", "write-tree"))
	u.commit("a step", step, nil, "Ward-Step: plans/D-1.plan.txt#1")

	other := run(t, u.store.Bare, "", "commit-tree", "-p", base, "-m", "the project moves", base+"^{tree}")
	run(t, u.store.Bare, "", "update-ref", "refs/heads/main", other)
	u.begin()
	stand, err := u.work.PlanHead(t.Context())
	u.must(err)
	head, err := u.work.Head(t.Context())
	u.must(err)
	found, err := u.work.Planned(t.Context(), "plans/D-1.plan.txt")
	if stand != step || head != base || u.work.Base() != base || found != plan || err != nil {
		t.Errorf("stands on %s, the branch on %s, the plan is %s, %v", stand, head, found, err)
	}
	u.must(u.work.Restore(t.Context(), stand))
	if data, err := os.ReadFile(filepath.Join(u.work.Dir(), "a")); string(data) != "a\n" {
		t.Errorf("%q, %v", data, err)
	}

	run(t, u.store.Bare, "", "update-ref", "refs/heads/agent/D-1", other)
	u.begin()
	if stand, err = u.work.PlanHead(t.Context()); stand != other || err != nil {
		t.Errorf("it stands on %s, not on %s, %v", stand, other, err)
	}
	if found, err = u.work.Planned(t.Context(), "plans/D-1.plan.txt"); found != "" || err != nil {
		t.Errorf("%s, %v", found, err)
	}
	u.fsck()
}

// TestForget: a plan that failed is dropped while the project moves on; what was changed
// before it goes on from the branch as it was.
func TestForget(t *testing.T) {
	u := newUnit(t)
	u.must(u.work.Offer(t.Context()))
	base := u.work.Base()
	u.write("a", "a\n")
	kept, _, err := u.work.Keep(t.Context(), base, base)
	u.must(err)
	_, err = u.work.CommitPlan(t.Context(), kept, "plans/D-1-research.plan.txt", []byte("# FSM: research\nread_file a\n"))
	u.must(err)
	other := run(t, u.store.Bare, "", "commit-tree", "-p", base, "-m", "the project moves", base+"^{tree}")
	run(t, u.store.Bare, "", "update-ref", "refs/heads/main", other)
	u.must(u.work.Forget(t.Context(), kept))
	head, err := u.work.Head(t.Context())
	if found, foundErr := u.work.Planned(t.Context(), "plans/D-1-research.plan.txt"); head != base || found != "" || err != nil || foundErr != nil {
		t.Errorf("the branch is at %s, the plan is %q: %v, %v", head, found, err, foundErr)
	}
	if data, err := os.ReadFile(filepath.Join(u.work.Dir(), "a")); string(data) != "a\n" {
		t.Errorf("%q, %v", data, err)
	}
	u.fsck()
}
