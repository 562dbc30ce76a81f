package command

import (
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
	"git-ward/internal/cli"
	"git-ward/internal/config"
	"git-ward/internal/diag"
	"git-ward/internal/worktree"
	"git-ward/protocols/plan"
	"git-ward/vm"
)

const planRunUsage = "plan run [--task-id ID] [--again] [--config FILE] PLAN"

// planOptions are what `plan run` and `research run` take.
type planOptions struct {
	task, config string
	again        bool
}

func (o *planOptions) fill(fs *flag.FlagSet) {
	fs.StringVar(&o.task, "task-id", "", "the `task` of the log; default: the one that the plan closes")
	fs.StringVar(&o.config, "config", "", "the host's settings, a `file`; default: Ward's own defaults")
	fs.BoolVar(&o.again, "again", false, "begin anew, also where the plan was executed before")
}

// PlanRun is `git ward plan run`: it executes a plan in the working tree, a commit
// a step, or goes on with it. Redact takes secrets out of texts.
func PlanRun(redact func(string) string) cli.Func {
	return func(ctx context.Context, env *cli.Env) error {
		o := new(planOptions)
		args, err := env.Flags("plan run", planRunUsage, o.fill)
		if err != nil {
			return err
		}
		if len(args) != 1 {
			return env.Usage(planRunUsage, "run takes one plan")
		}
		return o.run(ctx, env, args[0], redact, "")
	}
}

// run executes a plan; machine, when it is not "", is the one that it must have.
func (o *planOptions) run(ctx context.Context, env *cli.Env, name string, redact func(string) string, machine string) error {
	tree, err := worktree.Find(env.Dir)
	if err != nil {
		return err
	}
	path, p, err := findPlan(tree, env, name)
	if err != nil {
		return err
	}
	if machine != "" && p.Machine() != machine {
		return diag.Hint(fmt.Errorf("%s is a plan of the machine %s, not of %s", path, p.Machine(), machine), "git ward plan run runs any plan")
	}
	set := config.Default()
	if o.config != "" {
		data, err := config.ReadFile(env.Path(o.config))
		if err != nil {
			return err
		}
		if set, err = config.Parse(data, o.config); err != nil {
			return err
		}
	}
	r, err := o.runner(env, tree, set, redact)
	if err != nil {
		return err
	}
	if r.Task == "" {
		r.Task = p.Task()
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

// findPlan is a registered plan, or the one in a file.
func findPlan(tree *worktree.Tree, env *cli.Env, name string) (string, *plan.Plan, error) {
	data, err := tree.Read(plan.RegistryPath, plan.MaxRegistryBytes)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", nil, err
	}
	registry, _ := plan.ParseRegistry(data)
	path, ok := registry.Lookup(name)
	if !ok {
		rel, err := filepath.Rel(tree.Dir, env.Path(name))
		if err != nil || !filepath.IsLocal(rel) {
			return "", nil, fmt.Errorf("%s is not in the working tree", name)
		}
		path = filepath.ToSlash(rel)
	}
	text, err := tree.Read(path, plan.MaxBytes)
	if errors.Is(err, fs.ErrNotExist) {
		hint := "`git ward plan list` lists the registered plans"
		if near := diag.Nearest(name, registry.Names()); near != "" {
			hint = fmt.Sprintf("did you mean %q?", near)
		}
		return "", nil, diag.Hint(fmt.Errorf("%s is neither a registered plan nor a file", name), "%s", hint)
	}
	if err != nil {
		return "", nil, err
	}
	p, _ := plan.Parse(text, path)
	return path, p, nil
}

func (o *planOptions) runner(env *cli.Env, tree *worktree.Tree, set *config.Config, redact func(string) string) (*planrun.Runner, error) {
	log, err := openLog(tree, redact)
	if err != nil {
		return nil, err
	}
	return &planrun.Runner{
		Tree: tree, Log: log, Task: o.task, Again: o.again, Redact: redact,
		Box: &tool.Box{Dir: tree.Dir, State: tree.Dir, Env: os.Environ(), Timeout: set.Agent.BashTimeout.Duration,
			OutputSize: set.Agent.OutputSize, WriteSize: set.Limits.BlobSize},
		Message: func(ctx context.Context, text, key string) error { return inform(ctx, tree, text, key) },
		Submit: func(ctx context.Context, _ string) error {
			_, err := tree.Git(ctx, "push", "--quiet", "origin", "HEAD")
			return err
		},
		Close: func(ctx context.Context, id string) (string, error) {
			now := time.Now()
			path, err := tree.Paper(ctx, task.PostMortemPath(now, id))
			return "closed " + id + ": " + path, errors.Join(err, task.WritePostMortem(tree, path, id, now, "Each step of the plan is a commit (git log, Ward-Step)."))
		},
		Search: set.Search.URL, Calls: set.VM.Calls,
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

// openLog opens the activity log of a working tree, in logs/, which is never
// committed.
func openLog(tree *worktree.Tree, redact func(string) string) (*activity.Log, error) {
	log, err := activity.Open(filepath.Join(tree.Dir, "logs"))
	if err == nil {
		log.Redact = redact
	}
	return log, err
}
