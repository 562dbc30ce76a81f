package planrun

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"git-ward/agent/activity"
	"git-ward/agent/tool"
	"git-ward/internal/await"
	"git-ward/internal/git"
	"git-ward/internal/tier"
	"git-ward/internal/worktree"
	"git-ward/vm"
)

// TestMain is the test, or the process that the test kills.
func TestMain(m *testing.M) {
	if dir := os.Getenv("WARD_TEST_RUN"); dir != "" {
		r := newRunner(dir)
		if after, err := strconv.Atoi(os.Getenv("WARD_TEST_KILL")); err == nil {
			r.Done = func(string) {
				if after--; after == 0 {
					syscall.Kill(os.Getpid(), syscall.SIGKILL)
				}
			}
		}
		result, err := runPlan(context.Background(), r, os.Getenv("WARD_TEST_PLAN"))
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Println(result.Steps, result.Executed)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// newRunner runs plans in dir/tree; what leaves the tree goes to files of dir.
func newRunner(dir string) *Runner {
	log, err := activity.Open(filepath.Join(dir, "logs"))
	if err != nil {
		panic(err)
	}
	tree := &worktree.Tree{Dir: filepath.Join(dir, "tree"), Env: append(os.Environ(),
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@example.org")}
	return &Runner{
		Tree: tree, Log: log, Task: "D-1",
		Box:     &tool.Box{Dir: tree.Dir, State: dir, Env: append(tree.Env, "OUT="+dir), Timeout: time.Minute, OutputSize: 10_000, WriteSize: 1 << 20},
		Effects: &fileEffects{dir: dir, tree: tree},
		Limits:  vm.Limits{Instructions: 1_000_000, Cells: 1000, Time: time.Minute, Output: 1 << 20}, Calls: []string{"print"},
	}
}

// fileEffects notes in files of dir what leaves the tree.
type fileEffects struct {
	dir  string
	tree *worktree.Tree
}

func (e *fileEffects) note(name, text string) error {
	path := filepath.Join(e.dir, name)
	old, _ := os.ReadFile(path)
	if strings.Contains(string(old), text) { // as a report is looked for first
		return nil
	}
	// By one write to the end: a process killed here leaves what was there before.
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text + "\n")
	return errors.Join(err, f.Close())
}

func (e *fileEffects) Message(_ context.Context, text, key string) error {
	return e.note("messages", key+" "+strings.TrimSpace(text))
}

func (e *fileEffects) Submit(context.Context) error { return e.note("submitted", "yes") }

func (e *fileEffects) Close(ctx context.Context, task string) (string, error) {
	path, err := e.tree.RecordPath(ctx, "postmortems/"+task+".md")
	return "closed " + task, errors.Join(err, e.tree.Write(path, []byte("# "+task+"\n")))
}

// newRepo makes dir/tree of the files of an archive.
func newRepo(t *testing.T, archive string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	r := newRunner(dir)
	if err := os.MkdirAll(r.Tree.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	gitRun(t, r, "init", "--quiet", "--initial-branch=work")
	for _, f := range txtar.Parse([]byte(archive)).Files {
		if err := r.Tree.Write(f.Name, f.Data); err != nil {
			t.Fatal(err)
		}
	}
	gitRun(t, r, "add", "--all")
	gitRun(t, r, "commit", "--quiet", "--message=start")
	return dir
}

func gitRun(t *testing.T, r *Runner, args ...string) string {
	t.Helper()
	out, err := r.Tree.Git(t.Context(), args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

const everything = `
-- plan.txt --
# FSM: fdc
set_plan
Try every tool.
---
# Evidence: docs/a.md:1
plan_step_complete
---
define_set_of_names a, b
---
create_file_with_block out/new.md <<END
---
one
two
END
---
replace_with_git_merge_diff out/new.md
<<<<<<< SEARCH
two
=======
three
>>>>>>> REPLACE
---
read_file out/new.md
---
rename_file out/new.md out/newer.md
---
overwrite_file_with_block docs/a.md
a, again
---
for_each_file docs/*.md
  read_file {file1}
  run_in_bash_session echo {file1} >>visited; echo ran >>$OUT/ran
  for_each_file data/**/*.txt
    run_in_bash_session echo {file1} {file2} >>pairs
    overwrite_file_with_block seen/{file2}
  call_plan common
---
grep again -- docs
---
list_files docs
---
call_plan plans/count.udc
---
call_plan add
---
delete_file docs/b.md
---
message_user All was tried.
---
run_in_bash_session git ward task close --task-id D-1
---
submit
-- knowledge_core/plan_registry.json --
{"common": "plans/common.txt", "add": "plans/count.udc"}
-- plans/common.txt --
# FSM: sub
run_in_bash_session echo common >>common
message_user From the callee.
for_each_file data/*.txt
  read_file {file1}
-- plans/count.udc --
MOV R0, 3
CALL print R0
HALT
-- docs/a.md --
a
-- docs/b.md --
b
-- docs/it's a name.md --
c
-- data/x.txt --
-- data/deep/y.txt --
`

// entries reads a log and holds each line to the schema.
func entries(t *testing.T, dir string) (all []activity.Entry) {
	t.Helper()
	schema, err := jsonschema.UnmarshalJSON(bytes.NewReader(activity.Schema))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("urn:activity", schema); err != nil {
		t.Fatal(err)
	}
	compiled, err := c.Compile("urn:activity")
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(filepath.Join(dir, "logs", activity.Name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(lines.Bytes()))
		if err != nil {
			t.Logf("a line that a kill cut off: %s", lines.Text())
			continue
		}
		if err := compiled.Validate(value); err != nil {
			t.Errorf("%s: %v", lines.Text(), err)
		}
		var e activity.Entry
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	return all
}

// checkRun asks for each step once: as a commit, as a line of the log.
func checkRun(t *testing.T, dir, path string, steps int) {
	t.Helper()
	r := newRunner(dir)
	var numbers []string
	for message := range strings.SplitSeq(gitRun(t, r, "log", "--reverse", "-z", "--format=%B"), "\x00") {
		numbers = append(numbers, git.Trailers(message, TrailerStep)...)
	}
	if len(numbers) != steps {
		t.Errorf("%d commits for %d steps", len(numbers), steps)
	}
	for i, name := range numbers {
		if want := fmt.Sprintf("%s#%d", path, i+1); name != want {
			t.Errorf("commit %d is %s, not %s", i+1, name, want)
		}
	}
	count := map[string]int{}
	for _, e := range entries(t, dir) {
		if e.Outcome.Status == activity.Success && e.Action.Type != activity.TaskEnd {
			count[e.Task.Step]++
		}
	}
	for i := range steps {
		if name := fmt.Sprintf("%s#%d", path, i+1); count[name] != 1 {
			t.Errorf("%s is logged %d times", name, count[name])
		}
	}
	if status := gitRun(t, r, "status", "--porcelain"); status != "" {
		t.Errorf("left in the tree: %s", status)
	}
}

func TestEverything(t *testing.T) {
	tier.First(t, "each of its thirty steps is a commit")
	dir := newRepo(t, everything)
	r := newRunner(dir)
	var outputs []string
	r.Output = func(step, text string) { outputs = append(outputs, step+" "+text) }
	result, err := r.Run(t.Context(), "plan.txt")
	if err != nil {
		t.Fatal(err)
	}
	checkRun(t, dir, "plan.txt", result.Steps)
	for file, want := range map[string]string{
		"tree/out/newer.md": "---\none\nthree\n", "tree/docs/a.md": "a, again\n", "tree/visited": "docs/a.md\ndocs/b.md\ndocs/it's a name.md\n",
		"tree/common": "common\ncommon\ncommon\n", "tree/postmortems/D-1.md": "# D-1\n", "submitted": "yes\n", "tree/seen/data/deep/y.txt": "",
		"tree/pairs": "docs/a.md data/deep/y.txt\ndocs/a.md data/x.txt\ndocs/b.md data/deep/y.txt\ndocs/b.md data/x.txt\ndocs/it's a name.md data/deep/y.txt\ndocs/it's a name.md data/x.txt\n",
	} {
		if got, err := os.ReadFile(filepath.Join(dir, file)); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", file, got, err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "tree/docs/b.md")); err == nil {
		t.Error("docs/b.md is still there")
	}
	messages, _ := os.ReadFile(filepath.Join(dir, "messages"))
	if strings.Count(string(messages), "From the callee.") != 3 || strings.Count(string(messages), "All was tried.") != 1 {
		t.Errorf("%s", messages)
	}
	all := strings.Join(outputs, "\n")
	for _, want := range []string{"docs/a.md:1:a, again", `"output":["3"]`, "it's a name.md\n"} {
		if !strings.Contains(all, want) {
			t.Errorf("no %q in the outputs:\n%s", want, all)
		}
	}
	log := entries(t, dir)
	types := map[activity.Type]int{}
	for _, e := range log {
		types[e.Action.Type]++
		if e.Action.Details["args"] == "echo common >>common" && strings.Join(e.Execution.Stack, " ") != "plan.txt#9 plans/common.txt#1" {
			t.Errorf("stack %v", e.Execution.Stack)
		}
	}
	for _, kind := range []activity.Type{activity.FileRead, activity.FileWrite, activity.ToolExec, activity.PlanUpdate, activity.PostMortem, activity.TaskEnd, activity.Info} {
		if types[kind] == 0 {
			t.Errorf("no %s in the log", kind)
		}
	}
	if strings.Join(log[1].Evidence, "") != "docs/a.md:1" {
		t.Errorf("evidence %v", log[1].Evidence)
	}
	// Again there is nothing to do; asked for, it is done anew.
	if again, err := newRunner(dir).Run(t.Context(), "plan.txt"); err != nil || again.Executed != 0 || !again.Before || again.Steps != result.Steps {
		t.Errorf("%+v, %v", again, err)
	}
}

// TestKill kills the process of a run again and again, at random moments, until it
// comes to its end: every step is there once, and the tree is that of a run that
// nobody disturbed.
func TestKill(t *testing.T) {
	tier.Full(t, "a run killed at random moments")
	random := rand.New(rand.NewPCG(tier.Seed(t), 0))
	for range 2 {
		checkKilled(t, func(dir string) int { return killUntilDone(t, dir, "plan.txt", random, 40) })
	}
}

// TestKillBetweenSteps is TestKill behind the commit of every third step.
func TestKillBetweenSteps(t *testing.T) {
	tier.First(t, "a dozen processes")
	checkKilled(t, func(dir string) (kills int) {
		for ; ; kills++ {
			cmd := exec.CommandContext(t.Context(), os.Args[0])
			cmd.Env = append(os.Environ(), "WARD_TEST_RUN="+dir, "WARD_TEST_PLAN=plan.txt", "WARD_TEST_KILL=3")
			out, err := await.Output(t, cmd)
			if err == nil {
				return kills
			}
			if status := cmd.ProcessState.Sys().(syscall.WaitStatus); !status.Signaled() {
				t.Fatalf("after %d kills: %v\n%s", kills, err, out)
			}
		}
	})
}

// checkKilled compares a run that was killed with one that was not.
func checkKilled(t *testing.T, run func(dir string) (kills int)) {
	quiet := newRepo(t, everything)
	result, err := runPlan(t.Context(), newRunner(quiet), "plan.txt")
	if err != nil {
		t.Fatal(err)
	}
	want := gitRun(t, newRunner(quiet), "rev-parse", "HEAD^{tree}")
	dir := newRepo(t, everything)
	kills := run(dir)
	checkRun(t, dir, "plan.txt", result.Steps)
	if got := gitRun(t, newRunner(dir), "rev-parse", "HEAD^{tree}"); got != want {
		t.Errorf("another tree than without kills:\n%s", gitRun(t, newRunner(dir), "ls-tree", "-r", got))
	}
	messages, _ := os.ReadFile(filepath.Join(dir, "messages"))
	if n := strings.Count(string(messages), "\n"); n != 4 {
		t.Errorf("%d messages:\n%s", n, messages)
	}
	ran, _ := os.ReadFile(filepath.Join(dir, "ran"))
	if n := strings.Count(string(ran), "\n"); n < 3 || n > 3+kills {
		t.Errorf("a command for 3 files ran %d times after %d kills", n, kills)
	}
	if kills < 2 {
		t.Errorf("%d kills: the test proves little", kills)
	}
}

func killUntilDone(t *testing.T, dir, path string, random *rand.Rand, most int) (kills int) {
	t.Helper()
	for {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "WARD_TEST_RUN="+dir, "WARD_TEST_PLAN="+path)
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if kills < most {
			time.Sleep(time.Duration(10+random.IntN(150)) * time.Millisecond) // the random moment itself
			cmd.Process.Kill()
		}
		err := await.Exit(t, cmd)
		if err == nil {
			return kills
		}
		if kills++; kills > most {
			t.Fatalf("after %d kills: %v\n%s", most, err, out.String())
		}
	}
}
