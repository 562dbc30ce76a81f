package planrun

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"git-ward/agent/activity"
)

// TestSpokenOf: a commit that only speaks of a step, in its text or in trailers
// that are not a step's, does not make a run begin anew.
func TestSpokenOf(t *testing.T) {
	dir := newRepo(t, "-- p.plan.txt --\n# FSM: sub\nrun_in_bash_session echo x >>$OUT/ran\nrun_in_bash_session test -e go\nread_file go\n-- go2 --\n")
	r := newRunner(dir)
	if _, err := r.Run(t.Context(), "p.plan.txt"); err == nil {
		t.Fatal("a step that fails is no failure")
	}
	gitRun(t, r, "mv", "go2", "go")
	gitRun(t, r, "commit", "--quiet", "--message=mend\n\nWard-Step: p.plan.txt#1 is done, go on")
	for range 2 * pageSize {
		gitRun(t, r, "commit", "--quiet", "--allow-empty", "--message=quote\n\n    Ward-Step: p.plan.txt#1\n    Ward-Run: "+strings.Repeat("0", 40)+"\n\nsaid somebody")
	}
	result, err := r.Run(t.Context(), "p.plan.txt")
	if err != nil || result.Steps != 3 || result.Executed != 2 {
		t.Errorf("%+v %v", result, err)
	}
	if ran, _ := os.ReadFile(filepath.Join(dir, "ran")); string(ran) != "x\n" {
		t.Errorf("the first step ran again: %q", ran)
	}
}

// TestLinks: a loop passes links by, and a link is no plan and no file.
func TestLinks(t *testing.T) {
	dir := newRepo(t, "-- docs/a.md --\n-- loop.plan.txt --\n# FSM: sub\nfor_each_file docs/*.md\n  read_file {file1}\n"+
		"-- calls.plan.txt --\n# FSM: sub\ncall_plan link.plan.txt\n-- reads.plan.txt --\n# FSM: sub\nread_file docs/link.md\n")
	r := newRunner(dir)
	for link, target := range map[string]string{"docs/link.md": "a.md", "link.plan.txt": "# FSM: sub\nread_file docs/a.md"} {
		if err := os.Symlink(target, filepath.Join(r.Tree.Dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	gitRun(t, r, "add", "--all")
	gitRun(t, r, "commit", "--quiet", "--message=links")
	if result, err := r.Run(t.Context(), "loop.plan.txt"); err != nil || result.Steps != 2 {
		t.Errorf("%+v %v", result, err)
	}
	for path, want := range map[string]string{"calls.plan.txt": "neither a registered plan nor a file", "reads.plan.txt": "docs/link.md is not a file"} {
		if _, err := r.Run(t.Context(), path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestProgramByName: a program that is called by its registered name is logged as
// what it is (PLAN-2), and the place of a step is told whatever its plan is called.
func TestProgramByName(t *testing.T) {
	dir := newRepo(t, "-- knowledge_core/plan_registry.json --\n{\"count\": \"p.udc\"}\n-- p.udc --\nHALT\n-- a#1.plan.txt --\n# FSM: sub\ncall_plan count\nrun_in_bash_session false\n")
	_, err := newRunner(dir).Run(t.Context(), "a#1.plan.txt")
	if err == nil || !strings.Contains(err.Error(), "(a#1.plan.txt:3, run_in_bash_session false)") {
		t.Error(err)
	}
	if all := entries(t, dir); len(all) != 2 || all[0].Action.Type != activity.ToolExec {
		t.Errorf("%+v", all)
	}
}
