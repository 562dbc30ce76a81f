package command

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"git-ward/agent/activity"
	"git-ward/agent/planrun"
	"git-ward/agent/stop"
	"git-ward/agent/task"
	"git-ward/agent/tool"
	"git-ward/agent/web"
	"git-ward/internal/cli"
	"git-ward/internal/config"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/internal/worktree"
	"git-ward/protocols/boot"
	"git-ward/protocols/plan"
	"git-ward/vm"
)

const planRunUsage = "plan run [--task-id ID] [--again] [--config FILE] PLAN"

// planOptions are the options of `plan run` and `research run`.
type planOptions struct {
	task, config string
	again        bool
	search       string // [search] url, if it differs from the settings
}

func (o *planOptions) fill(fs *flag.FlagSet) {
	fs.StringVar(&o.task, "task-id", "", "the `ID` of the log's task; default: the one that the plan closes")
	cli.Config(fs, &o.config)
	fs.BoolVar(&o.again, "again", false, "begin anew, also where the plan was executed before")
}

// PlanRun is `git ward plan run`: it executes a plan in the working tree, a commit
// a step, or goes on with it. Redact takes secrets out of texts.
func PlanRun(redact func(string) string) cli.Command {
	return cli.Command{Name: "run", Doc: "execute a plan, a commit a step, or go on with it", Run: runOf("plan run", planRunUsage, redact, "")}
}

// runOf makes a verb that executes one plan. If machine is set, the plan must be of that
// machine.
func runOf(name, usage string, redact func(string) string, machine string) cli.Func {
	return func(ctx context.Context, env *cli.Env) error {
		o := new(planOptions)
		args, err := env.Flags(name, usage, o.fill)
		if err != nil {
			return err
		}
		if len(args) != 1 {
			return env.Usage(usage, "run takes one plan")
		}
		return o.run(ctx, env, args[0], redact, machine)
	}
}

// run executes a plan. If machine is set, the plan must be of that machine.
func (o *planOptions) run(ctx context.Context, env *cli.Env, name string, redact func(string) string, machine string) error {
	if err := planrun.Inside(env.Getenv, name); err != nil {
		return err
	}
	tree, err := worktree.Find(env.Dir)
	if err != nil {
		return err
	}
	path, text, err := findPlan(ctx, tree, env, name)
	if err != nil {
		return err
	}
	p, _ := plan.Parse(text, path)
	if machine != "" && p.Machine() != machine {
		return diag.Hint(fmt.Errorf("%s is a plan of the machine %s, not of %s", path, p.Machine(), machine), "git ward plan run runs any plan")
	}
	set, err := config.Given(o.config, env.Getenv, env.Path)
	if err != nil {
		return err
	}
	r, err := o.runner(ctx, env, tree, set, redact)
	if err != nil {
		return err
	}
	if r.Task == "" {
		r.Task = p.Task()
	}
	if err := o.place(ctx, r, path, text); err != nil {
		return err
	}
	if err := o.warn(ctx, env, r); err != nil {
		return err
	}
	result, err := r.Run(ctx, path)
	switch kind := stop.KindOf(err); {
	case kind == stop.Findings:
		fmt.Fprint(env.Stdout, stop.Of(err).Output)
		return cli.ErrFindings
	case kind == stop.StepFailed:
		fmt.Fprintf(env.Stderr, "git-ward: error: %s\ngit-ward: hint: the steps before it are committed; mend the cause and run the plan again, it goes on there\n", diag.CleanLines(err.Error()))
		return cli.ErrFindings
	case err != nil:
		return err
	case result.Before:
		_, err = fmt.Fprintf(env.Stdout, "%s was executed before, all %d steps; --again begins anew\n", diag.Clean(path), result.Steps)
	default:
		_, err = fmt.Fprintf(env.Stdout, "%s: %d steps, %d of them now\n", diag.Clean(path), result.Steps, result.Executed)
	}
	return err
}

// warn warns if the plan's task was not started, because then nobody checked its
// preconditions. A research plan checks them itself.
func (o *planOptions) warn(ctx context.Context, env *cli.Env, r *planrun.Runner) error {
	if r.Task == "" || strings.HasPrefix(r.Task, "research-") {
		return nil
	}
	ok, err := begun(ctx, r.Tree, r.Log, r.Task, activity.TaskStart)
	if err == nil && !ok {
		diag.WriteText(env.Stderr, []diag.Diagnostic{notBegun(r.Task, diag.Warning, fmt.Sprintf("the task %s was not started in this clone; its plan runs all the same", r.Task))})
	}
	return err
}

// place says where steps are committed: in an agent's clone apart from the branch, in a
// person's clone on it.
func (o *planOptions) place(ctx context.Context, r *planrun.Runner, path string, text []byte) (err error) {
	if r.Control, err = r.Tree.Documents(ctx); err != nil {
		return err
	}
	dir, err := r.Tree.RecordDir(ctx)
	if err != nil || dir == "" {
		return err
	}
	local, err := planrun.OpenLocal(ctx, r.Tree)
	if err != nil {
		return err
	}
	r.Record = local
	r.Since, err = local.Plan(ctx, path, text, o.again)
	return err
}

// findPlan is a registered plan or one in a file. The path is the one on the record if the
// plan is below .ward.
func findPlan(ctx context.Context, tree *worktree.Tree, env *cli.Env, name string) (path string, text []byte, err error) {
	data, err := tree.Document(ctx, plan.RegistryPath, plan.MaxRegistryBytes)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", nil, err
	}
	registry, _ := plan.ParseRegistry(data)
	path, ok := registry.Lookup(name)
	if ok {
		text, err = tree.Document(ctx, path, plan.MaxBytes)
	} else if path, err = inTree(tree, env.Path(name)); err == nil {
		text, err = readPlan(ctx, tree, path)
	}
	if errors.Is(err, fs.ErrNotExist) {
		hint := "`git ward plan show` lists the registered plans"
		if near := diag.Nearest(name, registry.Names()); near != "" {
			hint = fmt.Sprintf("did you mean %q?", near)
		}
		return "", nil, diag.Hint(fmt.Errorf("%s is neither a registered plan nor a file", name), "%s", hint)
	}
	return strings.TrimPrefix(path, worktree.RecordDir+"/"), text, err
}

// inTree is a file's path relative to the top of the working tree.
func inTree(tree *worktree.Tree, file string) (string, error) {
	rel, err := filepath.Rel(tree.Dir, file)
	if err != nil || !filepath.IsLocal(rel) {
		return "", fmt.Errorf("%s is not in the working tree", diag.Clean(file))
	}
	return filepath.ToSlash(rel), nil
}

// readPlan reads a plan from the working tree or its .ward directory.
func readPlan(ctx context.Context, tree *worktree.Tree, path string) ([]byte, error) {
	text, err := tree.Read(path, plan.MaxBytes)
	if !errors.Is(err, fs.ErrNotExist) {
		return text, err
	}
	if path, err = tree.RecordPath(ctx, path); err != nil {
		return nil, err
	}
	return tree.Read(path, plan.MaxBytes)
}

func (o *planOptions) runner(ctx context.Context, env *cli.Env, tree *worktree.Tree, set *config.Config, redact func(string) string) (*planrun.Runner, error) {
	state, err := stateDir(ctx, tree)
	if err != nil {
		return nil, err
	}
	log, err := openLog(ctx, tree, redact)
	if err != nil {
		return nil, err
	}
	own, outside := set.CallTools()
	return &planrun.Runner{
		Tree: tree, Log: log, Task: o.task, Again: o.again, Redact: redact,
		Box: &tool.Box{Dir: tree.Dir, State: state, Env: os.Environ(), Timeout: set.Agent.BashTimeout.Duration,
			OutputSize: set.Agent.OutputSize, WriteSize: set.Limits.BlobSize},
		Effects: &effects{tree: tree, lease: env.Getenv(boot.LeaseVar)},
		Search:  cmp.Or(o.search, set.Search.URL, env.Getenv(web.Variable)), Calls: own, Tools: outside,
		Limits: vm.Limits{Instructions: set.VM.MaxInstructions, Cells: set.VM.MaxCells, Time: set.VM.MaxTime.Duration, Output: set.VM.MaxOutput},
		Output: func(step, text string) {
			fmt.Fprintf(env.Stdout, "== %s\n%s", diag.Clean(step), ended(text))
		},
		Done: func(step string) { fmt.Fprintf(env.Stderr, "done %s\n", diag.Clean(step)) },
	}, nil
}

func ended(text string) string {
	if text == "" || strings.HasSuffix(text, "\n") {
		return text
	}
	return text + "\n"
}

// effects are those of a plan in a working tree (planrun.Effects).
type effects struct {
	tree  *worktree.Tree
	lease string // the directive of the worker's lease, "" for none
}

// Message reports to the PM.
func (e *effects) Message(ctx context.Context, text, key string) error {
	return inform(ctx, e.tree, e.lease, text, key)
}

// Submit pushes a person's branch. In an agent's clone the work is not committed yet; it is
// pushed at the iteration's end.
func (e *effects) Submit(ctx context.Context) error {
	if dir, err := e.tree.RecordDir(ctx); err != nil || dir != "" {
		return err
	}
	_, err := e.tree.Git(ctx, "push", "--quiet", "origin", "HEAD")
	return err
}

// Close writes the task's post-mortem.
func (e *effects) Close(ctx context.Context, id string) (string, error) {
	path, err := task.Paper(ctx, e.tree, id, time.Now(), "Each step of the plan is a commit (git log, Ward-Step).")
	return "closed " + id + ": " + path, err
}

// stateDir is the directory for logs/: the working tree if git ignores logs/ there, else a
// directory in .git, because in a project that does not use Ward a file in the tree would
// block the next plan, whose steps are commits.
func stateDir(ctx context.Context, tree *worktree.Tree) (string, error) {
	papers, err := tree.RecordDir(ctx)
	if err != nil {
		return "", err
	}
	if papers == "" {
		switch _, err := tree.Git(ctx, "check-ignore", "--quiet", "logs/activity.log.jsonl"); {
		case err == nil:
			return tree.Dir, nil
		case !git.SaidNo(err):
			return "", err
		}
	}
	repo, err := tree.Repo(ctx)
	if err != nil {
		return "", err
	}
	return filepath.Join(repo.Dir, "ward"), nil
}

// openLog opens the activity log of a working tree, which is never committed.
func openLog(ctx context.Context, tree *worktree.Tree, redact func(string) string) (*activity.Log, error) {
	state, err := stateDir(ctx, tree)
	if err != nil {
		return nil, err
	}
	log, err := activity.Open(filepath.Join(state, "logs"))
	if err == nil {
		log.Redact = redact
	}
	return log, err
}
