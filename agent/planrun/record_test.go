package planrun

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"git-ward/agent/stop"
	"git-ward/internal/git"
	"git-ward/internal/tier"
	"git-ward/internal/worktree"
)

// runPlan runs a plan of the branch, or, in an agent's clone, one that lies in the
// directory of the clone, with the steps beside the branch.
func runPlan(ctx context.Context, r *Runner, path string) (*Result, error) {
	if dir, err := r.Tree.RecordDir(ctx); err != nil || dir == "" {
		return r.Run(ctx, path)
	}
	local, err := OpenLocal(ctx, r.Tree)
	if err != nil {
		return nil, err
	}
	data, err := r.Tree.Read(worktree.RecordDir+"/"+path, maxFile)
	if err != nil {
		return nil, err
	}
	r.Record, r.Control = local, "HEAD"
	if r.Since, err = local.Plan(ctx, path, data, r.Again); err != nil {
		return nil, err
	}
	return r.Run(ctx, path)
}

// newClone is newRepo as an agent's clone; files below .ward/ are those of its record.
func newClone(t *testing.T, archive string) (dir string) {
	t.Helper()
	var work, below txtar.Archive
	for _, f := range txtar.Parse([]byte(archive)).Files {
		if worktree.InRecord(f.Name) {
			below.Files = append(below.Files, f)
		} else {
			work.Files = append(work.Files, f)
		}
	}
	dir = newRepo(t, string(txtar.Format(&work)))
	asClone(t, dir, below.Files)
	return dir
}

func asClone(t *testing.T, dir string, files []txtar.File) {
	t.Helper()
	r := newRunner(dir)
	gitRun(t, r, "config", "ward.record", ".ward")
	if err := os.WriteFile(filepath.Join(r.Tree.Dir, ".git/info/exclude"), []byte("/.ward/\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if err := r.Tree.Write(f.Name, f.Data); err != nil {
			t.Fatal(err)
		}
	}
}

// inClone is everything as an agent has it: the plan is a paper.
var inClone = strings.Replace(everything, "-- plan.txt --", "-- .ward/plan.txt --", 1)

// checkApart asks for each step once on the record, with the work that it left as the
// second parent, and for a branch that knows nothing of it.
func checkApart(t *testing.T, dir, path string, steps int) {
	t.Helper()
	r := newRunner(dir)
	if n := gitRun(t, r, "rev-list", "--count", "HEAD"); n != "1" {
		t.Errorf("the branch has %s commits", n)
	}
	var numbers []string
	for entry := range strings.SplitSeq(gitRun(t, r, "log", "--first-parent", "--reverse", "-z", "--format=%H %P%n%B", localRef), "\x00") {
		ids, message, _ := strings.Cut(entry, "\n")
		if names := git.Trailers(message, TrailerStep); len(names) == 1 {
			numbers = append(numbers, names...)
			if len(strings.Fields(ids)) != 3 {
				t.Errorf("%s: the parents are %s", names[0], ids)
			}
		}
	}
	if len(numbers) != steps {
		t.Errorf("%d commits for %d steps", len(numbers), steps)
	}
	for i, name := range numbers {
		if want := fmt.Sprintf("%s#%d", path, i+1); name != want {
			t.Errorf("commit %d is %s, not %s", i+1, name, want)
		}
	}
	if tree := gitRun(t, r, "write-tree"); tree != gitRun(t, r, "rev-parse", localRef+"^2^{tree}") {
		t.Error("the index is not the tree of the last step")
	}
	if changed := gitRun(t, r, "diff", "--name-only"); changed != "" {
		t.Errorf("the working tree is not that of the last step: %s", changed)
	}
	if found := gitRun(t, r, "fsck", "--strict", "--no-dangling"); found != "" {
		t.Error(found)
	}
}

// TestApart: in an agent's clone the steps are on the record, and what is written below .ward/ goes there.
func TestApart(t *testing.T) {
	tier.First(t, "each of its thirty steps is a commit or two")
	dir := newClone(t, inClone)
	result, err := runPlan(t.Context(), newRunner(dir), "plan.txt")
	if err != nil {
		t.Fatal(err)
	}
	checkApart(t, dir, "plan.txt", result.Steps)
	r := newRunner(dir)
	if names := gitRun(t, r, "ls-tree", "-r", "--name-only", localRef); names != "plan.txt\npostmortems/D-1.md" {
		t.Errorf("the record holds %s", names)
	}
	if names := gitRun(t, r, "ls-files", "--", ".ward", "postmortems", "plan.txt"); names != "" {
		t.Errorf("the work holds %s", names)
	}
	for file, want := range map[string]string{"out/newer.md": "---\none\nthree\n", "common": "common\ncommon\ncommon\n"} {
		if got, err := os.ReadFile(filepath.Join(r.Tree.Dir, file)); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", file, got, err)
		}
	}
	if again, err := runPlan(t.Context(), newRunner(dir), "plan.txt"); err != nil || again.Executed != 0 || !again.Before {
		t.Errorf("%+v, %v", again, err)
	}
	// What is not committed when a plan begins is what it begins with, and stays.
	if err := r.Tree.Write("mine", []byte("x")); err != nil {
		t.Fatal(err)
	}
	r.Again = true
	if err := r.Tree.Write(".ward/plan.txt", []byte("# FSM: sub\nread_file mine\n")); err != nil {
		t.Fatal(err)
	}
	if again, err := runPlan(t.Context(), r, "plan.txt"); err != nil || again.Executed != 1 {
		t.Errorf("%+v, %v", again, err)
	}
	if got, err := os.ReadFile(filepath.Join(r.Tree.Dir, "mine")); err != nil || string(got) != "x" {
		t.Errorf("mine: %q, %v", got, err)
	}
}

// TestApartKill: killed at any moment, with the clone there, every step is done once.
func TestApartKill(t *testing.T) {
	tier.Full(t, "a run killed at random moments")
	quiet := newClone(t, inClone)
	result, err := runPlan(t.Context(), newRunner(quiet), "plan.txt")
	if err != nil {
		t.Fatal(err)
	}
	dir := newClone(t, inClone)
	kills := killUntilDone(t, dir, "plan.txt", rand.New(rand.NewPCG(tier.Seed(t), 0)), 30)
	checkApart(t, dir, "plan.txt", result.Steps)
	tree := localRef + "^2^{tree}"
	if got, want := gitRun(t, newRunner(dir), "rev-parse", tree), gitRun(t, newRunner(quiet), "rev-parse", tree); got != want {
		t.Errorf("after %d kills another tree than without", kills)
	}
}

// TestApartLost: a clone that is gone is made anew from the branch and the record alone,
// and the plan goes on, with what its commands committed by themselves.
func TestApartLost(t *testing.T) {
	dir := newClone(t, `
-- a.txt --
a
-- .ward/plans/p.txt --
# FSM: sub
run_in_bash_session echo ran >>$OUT/ran; echo one >one
overwrite_file_with_block a.txt
run_in_bash_session echo two >two; git add two; git commit --quiet -m "two, by a command"
for_each_file .ward/*/*.txt
  read_file {file1}
run_in_bash_session test -e $OUT/go
run_in_bash_session cat one two
`)
	if _, err := runPlan(t.Context(), newRunner(dir), "plans/p.txt"); !stop.Is(err, stop.StepFailed) {
		t.Fatal(err)
	}
	r := newRunner(dir)
	tip := gitRun(t, r, "rev-parse", "HEAD")
	lost := filepath.Join(dir, "lost")
	if err := os.Rename(r.Tree.Dir, lost); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(r.Tree.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	gitRun(t, r, "init", "--quiet", "--initial-branch=work")
	gitRun(t, r, "fetch", "--quiet", lost, "refs/ward-steps:refs/ward-steps")
	if kept := gitRun(t, r, "cat-file", "-t", tip); kept != "commit" {
		t.Errorf("what a command committed is gone: %s", kept)
	}
	gitRun(t, r, "checkout", "--quiet", "-b", "work", tip)
	plan := gitRun(t, r, "show", "refs/ward-steps:plans/p.txt")
	asClone(t, dir, []txtar.File{{Name: ".ward/plans/p.txt", Data: []byte(plan + "\n")}})
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	r.Output = func(step, text string) { fmt.Fprintln(&out, step, text) }
	result, err := runPlan(t.Context(), r, "plans/p.txt")
	if err != nil || result.Steps != 7 || result.Executed != 2 {
		t.Errorf("%+v %v", result, err)
	}
	if ran, _ := os.ReadFile(filepath.Join(dir, "ran")); string(ran) != "ran\n" {
		t.Errorf("the first step ran again: %q", ran)
	}
	if !strings.Contains(out.String(), "one\ntwo\n") {
		t.Errorf("the last step read %s", out.String())
	}
	if names := gitRun(t, r, "log", "--format=%s", "HEAD"); names != "two, by a command\nstart" {
		t.Errorf("on the branch: %s", names)
	}
}

// TestRecordApart: no step meets files of the record that it does not name.
func TestRecordApart(t *testing.T) {
	dir := newClone(t, `
-- docs/a.md --
needle
-- .ward/LEARNINGS.md --
needle of the record
-- .ward/plans/p.txt --
# FSM: research
set_plan x
list_files
for_each_file **/*.md
  read_file {file1}
grep needle
grep needle -- .ward
plan_step_complete y
overwrite_file_with_block research/x.md
run_in_bash_session git ward task close --task-id research-x
`)
	r := newRunner(dir)
	var out bytes.Buffer
	r.Output = func(step, text string) { fmt.Fprintln(&out, step, text) }
	if _, err := runPlan(t.Context(), r, "plans/p.txt"); err != nil {
		t.Fatal(err)
	}
	if want := "plans/p.txt#2 docs/\n\nplans/p.txt#4 needle\n\nplans/p.txt#5 docs/a.md:1:needle\n\nplans/p.txt#6 .ward/LEARNINGS.md:1:needle of the record\n"; !strings.HasPrefix(out.String(), want) {
		t.Errorf("%s", out.String())
	}
	if names := gitRun(t, r, "ls-tree", "-r", "--name-only", localRef); names != "LEARNINGS.md\nplans/p.txt\nresearch/x.md" {
		t.Errorf("the record holds %s", names)
	}
	if _, err := os.Stat(filepath.Join(r.Tree.Dir, "research")); err == nil {
		t.Error("research lies in the work")
	}
}
