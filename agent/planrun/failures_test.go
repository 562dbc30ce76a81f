package planrun

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"git-ward/agent/activity"
	"git-ward/agent/stop"
	"git-ward/internal/tier"
	"git-ward/protocols/plan"
)

// TestFailures: what ends a run, and that nothing of the failed step stays.
func TestFailures(t *testing.T) {
	head := "-- plan.txt --\n# FSM: sub\nread_file a\n"
	for name, c := range map[string]struct{ archive, want string }{
		"exit":     {head + "run_in_bash_session echo x >junk; echo why; exit 3\n-- a --\n", "step plan.txt#2 (plan.txt:3, run_in_bash_session echo x >junk; echo why; exit 3) failed: the command ended with [exit 3]; the last of its output:\nwhy"},
		"search":   {head + "google_search x\n-- a --\n", "[search] url is not set"},
		"diff":     {"-- plan.txt --\n# FSM: sub\n---\nread_file a\n---\nreplace_with_git_merge_diff a\n<<<<<<< SEARCH\nnot there\n=======\n>>>>>>> REPLACE\n-- a --\n", "plan.txt#2 (plan.txt:5, replace_with_git_merge_diff a) failed"},
		"udc":      {head + "call_plan x.udc\n-- a --\n-- x.udc --\nMOV R0, 1\n", "x.udc ended with ERROR_NO_HALT after 1 instructions"},
		"branch":   {head + "run_in_bash_session git checkout -q -b elsewhere\n-- a --\n", "left the working tree on elsewhere, not on work"},
		"findings": {"-- plan.txt --\n# FSM: sub\nread_file nothing\n", "plan/missing-file: nothing does not exist"},
		"command":  {head + "run_in_bash_session mkdir made; touch made/a; rm a\nread_file a\n-- a --\n", "plan.txt#3"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := newRepo(t, c.archive)
			r := newRunner(dir)
			_, err := r.Run(t.Context(), "plan.txt")
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("%v, want %s", err, c.want)
			}
			if status := gitRun(t, r, "status", "--porcelain"); status != "" {
				t.Errorf("left in the tree: %s", status)
			}
			if name == "exit" { // it may be somebody else's, who works there meanwhile
				if left := gitRun(t, r, "show", leftRef+":junk"); left != "x" {
					t.Errorf("put aside: %q", left)
				}
			}
			if branch := gitRun(t, r, "symbolic-ref", "--short", "HEAD"); branch != "work" {
				t.Errorf("on %s", branch)
			}
			if step := stop.As(err, stop.StepFailed); step != nil {
				log := entries(t, dir)
				if last := log[len(log)-1]; last.Outcome.Status != activity.Failure || !strings.HasPrefix(step.Why, "step "+last.Task.Step+" (") {
					t.Errorf("%+v", last)
				}
			}
		})
	}
}

// TestTrackedLogs: what git tracks below logs/ is the person's, and no step resets it.
func TestTrackedLogs(t *testing.T) {
	dir := newRepo(t, "-- plan.txt --\n# FSM: sub\nrun_in_bash_session exit 1\n-- logs/mine --\nold\n")
	r := newRunner(dir)
	gitRun(t, r, "add", "--force", "logs/mine")
	gitRun(t, r, "commit", "--quiet", "--allow-empty", "-m", "logs of the project's own")
	mine := filepath.Join(r.Tree.Dir, "logs/mine")
	if err := os.WriteFile(mine, []byte("new\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := r.Run(t.Context(), "plan.txt")
	if data, readErr := os.ReadFile(mine); err == nil || !strings.Contains(err.Error(), "changes that are not committed") || string(data) != "new\n" {
		t.Errorf("%v; %q, %v", err, data, readErr)
	}
}

// TestUndoLosesNothing: what a person has in the tree while a step fails is kept, whatever git
// was told of it: what it tracks below logs/, what it is to assume unchanged, a repository.
func TestUndoLosesNothing(t *testing.T) {
	const work = "echo 1 >>logs/mine; echo 2 >>assumed; git init --quiet lib && cd lib && echo 3 >new && git add . && git -c user.name=a -c user.email=b commit -qm lib; exit 1"
	dir := newRepo(t, "-- plan.txt --\n# FSM: sub\nrun_in_bash_session "+work+"\n-- assumed --\n-- logs/mine --\n")
	r := newRunner(dir)
	gitRun(t, r, "add", "--force", "logs/mine")
	gitRun(t, r, "commit", "--quiet", "--allow-empty", "-m", "logs of the project's own")
	gitRun(t, r, "update-index", "--assume-unchanged", "assumed")
	if _, err := r.Run(t.Context(), "plan.txt"); err == nil {
		t.Fatal("no failure")
	}
	for name, want := range map[string]string{"logs/mine": "1", "assumed": "2"} {
		if is := gitRun(t, r, "show", leftRef+":"+name); is != want {
			t.Errorf("%s: %q", name, is)
		}
	}
	if data, err := os.ReadFile(filepath.Join(r.Tree.Dir, "lib/new")); string(data) != "3\n" {
		t.Error(err)
	}
	// A repository without a commit cannot be staged: the index stays.
	gitRun(t, r, "init", "--quiet", "none")
	if err := os.WriteFile(intentPath(filepath.Join(r.Tree.Dir, ".git")), []byte("plan.txt#1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Run(t.Context(), "plan.txt"); err == nil || !strings.Contains(err.Error(), "none/") {
		t.Error(err)
	}
	if files := gitRun(t, r, "ls-files"); !strings.Contains(files, "assumed") {
		t.Errorf("the index holds %q", files)
	}
}

// TestLeftLocks: a run that was killed in a step goes on over the lock of a git that was killed
// with it, but not over that of a git at work, such as a person's commit that waits for its editor.
func TestLeftLocks(t *testing.T) {
	tier.First(t, "it waits twice for the end of a lock's git")
	dir := newRepo(t, "-- plan.txt --\n# FSM: sub\nrun_in_bash_session echo 1 >made\n")
	r := newRunner(dir)
	lock := filepath.Join(r.Tree.Dir, ".git/index.lock")
	old := time.Unix(1, 0)
	if err := errors.Join(os.WriteFile(intentPath(filepath.Dir(lock)), []byte("plan.txt#1\n"), 0o644), os.WriteFile(lock, nil, 0o644), os.Chtimes(lock, old, old)); err != nil {
		t.Fatal(err)
	}
	editing := exec.CommandContext(t.Context(), "git", "hash-object", "--stdin")
	editing.Dir = r.Tree.Dir
	in, err := editing.StdinPipe()
	if err == nil {
		err = editing.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	_, err = r.Run(t.Context(), "plan.txt")
	if _, gone := os.Stat(lock); err == nil || !strings.Contains(err.Error(), "index.lock") || gone != nil {
		t.Errorf("a git is at work: %v; %v", err, gone)
	}
	in.Close()
	if err := editing.Wait(); err != nil {
		t.Fatal(err)
	}
	if result, err := r.Run(t.Context(), "plan.txt"); err != nil || result.Executed != 1 {
		t.Errorf("%+v, %v", result, err)
	}
}

// TestGoesOn: a run that failed goes on at its failed step when the cause is gone,
// and another text of the plan is another run.
func TestGoesOn(t *testing.T) {
	dir := newRepo(t, "-- plan.txt --\n# FSM: sub\nrun_in_bash_session echo 1 >>count\nrun_in_bash_session test -e $OUT/go\n")
	r := newRunner(dir)
	if _, err := r.Run(t.Context(), "plan.txt"); err == nil {
		t.Fatal("no failure")
	}
	os.WriteFile(filepath.Join(dir, "go"), nil, 0o644)
	if result, err := r.Run(t.Context(), "plan.txt"); err != nil || result.Executed != 1 || result.Steps != 2 {
		t.Fatalf("%+v, %v", result, err)
	}
	checkRun(t, dir, "plan.txt", 2)
	// Somebody's own changes are not swept away.
	os.WriteFile(filepath.Join(r.Tree.Dir, "mine"), []byte("x"), 0o644)
	if _, err := r.Run(t.Context(), "plan.txt"); err == nil || !strings.Contains(err.Error(), "not committed, such as ?? mine") {
		t.Errorf("%v", err)
	}
	gitRun(t, r, "add", "--all")
	gitRun(t, r, "commit", "--quiet", "--message=mine")
	r.Again = true
	if result, err := r.Run(t.Context(), "plan.txt"); err != nil || result.Executed != 2 {
		t.Fatalf("%+v, %v", result, err)
	}
	r.Again = false
	if err := r.Tree.Write("plan.txt", []byte("# FSM: sub\nlist_files\n")); err != nil {
		t.Fatal(err)
	}
	gitRun(t, r, "commit", "--quiet", "--all", "--message=another plan")
	if result, err := r.Run(t.Context(), "plan.txt"); err != nil || result.Executed != 1 || result.Steps != 1 {
		t.Fatalf("%+v, %v", result, err)
	}
	if count, _ := os.ReadFile(filepath.Join(r.Tree.Dir, "count")); string(count) != "1\n1\n" {
		t.Errorf("%q", count)
	}
}

// TestDepth: the stack is bounded when a plan runs, not only when it is linted.
func TestDepth(t *testing.T) {
	c := &cursor{plans: func(name string) (string, *plan.Plan, error) {
		p, _ := plan.Parse([]byte("# FSM: sub\ncall_plan again\n"), name)
		return name, p, nil
	}}
	p, _ := plan.Parse([]byte("# FSM: sub\ncall_plan again\n"), "p")
	c.start("p", p)
	for depth := 1; ; depth++ {
		at, ok := c.next()
		if !ok || len(at.stack) != depth {
			t.Fatalf("%v %v", at, ok)
		}
		if err := c.enter(at); err != nil {
			if depth != plan.MaxRecursionDepth || !strings.Contains(err.Error(), "would put 11 plans on the stack") {
				t.Errorf("depth %d: %v", depth, err)
			}
			return
		}
	}
}

// TestSecrets: neither log nor commits hold what is redacted.
func TestSecrets(t *testing.T) {
	dir := newRepo(t, "-- plan.txt --\n# FSM: sub\nrun_in_bash_session echo hunter2 >/dev/null; echo hunter2\nmessage_user the word is hunter2\nrun_in_bash_session echo hunter2; exit 1\n")
	r := newRunner(dir)
	r.Redact = func(s string) string { return strings.ReplaceAll(s, "hunter2", "[secret]") }
	r.Log.Redact = r.Redact
	if _, err := r.Run(t.Context(), "plan.txt"); err == nil {
		t.Fatal("no failure")
	}
	log, _ := os.ReadFile(r.Log.Path())
	if messages := gitRun(t, r, "log", "--format=%B"); strings.Contains(messages+string(log), "hunter2") || !strings.Contains(messages, "[secret]") {
		t.Errorf("%s\n%s", messages, log)
	}
}
