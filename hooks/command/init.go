package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"git-ward/hooks/install"
	"git-ward/hooks/push"
	"git-ward/internal/branches"
	"git-ward/internal/cli"
	"git-ward/internal/config"
	"git-ward/internal/diag"
	"git-ward/internal/git"
)

const initUsage = "init --bare DIR [--dry-run] [--control BRANCH] [--hooks DIR] [--update] | init --forge URL [--bare DIR] | init --remove --bare DIR [--purge] [--yes]"

// initOptions are what init was asked for.
type initOptions struct {
	bare, update, dry, remove, purge, yes bool
	hooks, control, forge                 string
}

// Init is `git ward init --bare DIR`: a bare repository with Ward's settings, hooks
// and first commit (HOOK-6), a project's that is adopted (CTRL-1), or one that Ward is
// taken out of. Settings are its first settings file, and template the first commit's files;
// onForge sets one up beside a project on a forge (FORGE-1).
func Init(settings func() string, template fs.FS, onForge cli.Func) cli.Command {
	return cli.Command{Name: "init", Doc: "make or mend the bare repository that Ward guards", Run: initOf(settings, template, onForge),
		Long:     "A directory that is not there becomes a repository; one with a history is adopted, its branches untouched: Ward's documents go to a branch of their own. A second init mends what is missing.",
		Examples: []cli.Example{{Line: `init --bare /srv/git/project.git`, Doc: "make one, or adopt what is there"}, {Line: `init --bare --dry-run /srv/git/project.git`, Doc: "say what that would do"}, {Line: `init --forge https://forge.example.org/owner/project <token`, Doc: "beside a project on a forge"}, {Line: `init --remove --bare /srv/git/project.git`, Doc: "say what taking Ward out again does"}}}
}

func initOf(settings func() string, template fs.FS, onForge cli.Func) cli.Func {
	return func(ctx context.Context, env *cli.Env) error {
		var o initOptions
		args, err := env.Flags("init", initUsage, func(fs *flag.FlagSet) {
			fs.BoolVar(&o.bare, "bare", false, "make, adopt or repair the bare repository that Ward guards")
			fs.StringVar(&o.hooks, "hooks", "", "the `DIR` that its server runs hooks from, where it is not hooks/ or custom_hooks/; relative to the repository")
			fs.StringVar(&o.control, "control", "", "the `BRANCH` for Ward's documents in a repository with a history; default: ward. The project's own branch is the old form")
			fs.BoolVar(&o.dry, "dry-run", false, "say what would be done, and what of the past would have been refused; change nothing")
			fs.BoolVar(&o.update, "update", false, "move settings that are left at an earlier version's default")
			fs.BoolVar(&o.remove, "remove", false, "take Ward out again: list what that does, and with --yes do it")
			fs.StringVar(&o.forge, "forge", "", "all that git ward forge needs beside the project of a forge, as a browser has its `URL`: its repository, NAME.git where no DIR is named, with settings, label and fork. The token is read from standard input")
			fs.BoolVar(&o.purge, "purge", false, "with --remove: delete Ward's refs, too")
			fs.BoolVar(&o.yes, "yes", false, "with --remove: do it")
		})
		if err != nil {
			return err
		}
		switch {
		case o.forge != "" && (o.remove || o.update || o.dry || o.purge || o.yes):
			return env.Usage(initUsage, "--forge goes with --bare, --control and --hooks")
		case o.forge != "":
			return o.onForge(ctx, env, onForge, args)
		case !o.bare:
			return insteadOfInit(ctx, env)
		case len(args) != 1:
			return env.Usage(initUsage, "init --bare takes one directory")
		case !o.remove && (o.purge || o.yes), o.remove && (o.update || o.hooks != "" || o.control != ""), o.yes && o.dry:
			return env.Usage(initUsage, "these options exclude each other")
		case o.remove:
			return remove(ctx, env, env.Path(args[0]), o)
		}
		program, err := cli.Program("ward-hook")
		if err != nil {
			return err
		}
		return initialize(ctx, env, install.Request{Dir: env.Path(args[0]), Hooks: o.hooks, Control: o.control, Program: program, Config: []byte(settings()),
			Template: template, Update: o.update, DryRun: o.dry})
	}
}

// onForge has the program that speaks to the forge set it up.
func (o initOptions) onForge(ctx context.Context, env *cli.Env, run cli.Func, args []string) error {
	at := *env
	at.Args = []string{"--forge", o.forge}
	for name, value := range map[string]string{"--control": o.control, "--hooks": o.hooks} {
		if value != "" {
			at.Args = append(at.Args, name, value)
		}
	}
	at.Args = append(append(at.Args, "--"), args...)
	return run(ctx, &at)
}

// initialize makes, adopts or mends. What an adoption will do is shown before it does it.
func initialize(ctx context.Context, env *cli.Env, want install.Request) error {
	defer env.Slow("reading the repository")()
	plan := want
	plan.DryRun = true
	planned, err := install.Run(ctx, plan)
	if err != nil {
		writeWarnings(env, planned)
		return err
	}
	adopts := planned.Project != ""
	if adopts {
		writeAdoption(env, want.Dir, planned)
	}
	if want.DryRun {
		writeWarnings(env, planned)
		return tryPast(ctx, env, want, planned)
	}
	done, err := install.Run(ctx, want)
	writeWarnings(env, done)
	if !adopts || err != nil {
		for _, c := range done.Changes {
			fmt.Fprintln(env.Stdout, c.Done())
		}
	}
	if err != nil {
		return err
	}
	writeNext(env, want.Dir, done)
	return nil
}

// tryPast ends a dry run: the planned changes, and the gate's findings on the project's past
// commits.
func tryPast(ctx context.Context, env *cli.Env, want install.Request, planned *install.Report) error {
	w := env.Stdout
	if planned.Project == "" {
		for _, c := range planned.Changes {
			fmt.Fprintln(w, "would "+c.Planned())
		}
	}
	if len(planned.Changes) == 0 {
		fmt.Fprintf(w, "%s is complete: nothing to do\n", want.Dir)
	}
	repo, project := git.Open(want.Dir), planned.Settings.Control.ProjectRef()
	if _, err := os.Stat(filepath.Join(want.Dir, "HEAD")); err == nil {
		if tip, err := repo.Ref(ctx, project); err != nil {
			return err
		} else if tip != git.Zero {
			if err := tellPast(ctx, w, repo, planned.Settings, project); err != nil {
				return err
			}
		}
	}
	fmt.Fprintln(w, "a dry run: nothing was changed")
	return nil
}

func tellPast(ctx context.Context, w io.Writer, repo *git.Repo, settings *config.Config, project string) error {
	start := time.Now()
	commits, err := commitsOf(ctx, repo, fmt.Sprintf("--max-count=%d", pastCommits), project)
	if err != nil {
		return err
	}
	all, err := judgePast(ctx, repo, settings, commits, push.Member, push.Agent)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "the last %s of %s, had Ward judged them:\n", diag.Count(len(commits), "commit"), settings.Control.Project)
	writePast(w, all, time.Since(start))
	return nil
}

// insteadOfInit explains what to do where no bare repository was asked for.
func insteadOfInit(ctx context.Context, env *cli.Env) error {
	repo, err := git.Discover(ctx, env.Dir)
	if err != nil {
		return diag.Hint(errors.New("no repository is here; Ward guards a bare repository, to which everybody pushes"), "git ward init --bare DIR")
	}
	bare := "../" + filepath.Base(strings.TrimSuffix(strings.TrimSuffix(repo.Dir, "/.git"), "/")) + ".git"
	return diag.Hint(errors.New("this is a repository with a work tree; Ward guards a bare repository, to which everybody pushes"),
		"git clone --bare . %[1]s && git ward init --bare %[1]s && git remote set-url origin %[1]s", diag.Word(bare))
}

// writeAdoption says what becomes of a project's repository.
func writeAdoption(env *cli.Env, dir string, planned *install.Report) {
	w, c := env.Stdout, planned.Settings.Control
	if c.Split() {
		fmt.Fprintf(w, "%s: the project is on %s; no branch, tag or file of it changes. Ward's documents go to the branch %s.\n", dir, c.Project, c.Branch)
	} else {
		fmt.Fprintf(w, "%s: the project is on %s, and gets Ward's documents there\n", dir, c.Project)
	}
	fmt.Fprintln(w, "init will")
	for _, change := range planned.Changes {
		fmt.Fprintf(w, "  %s\n", change.Planned())
	}
}

// writeWarnings says what could not be done.
func writeWarnings(env *cli.Env, done *install.Report) {
	for _, err := range done.Warnings {
		fmt.Fprintf(env.Stderr, "git-ward: warning: %s\n", diag.Clean(err.Error()))
		if hinted, ok := errors.AsType[*diag.Hinted](err); ok {
			fmt.Fprintf(env.Stderr, "git-ward: hint: %s\n", diag.Clean(hinted.Hint))
		}
	}
}

// writeNext says which case of [identity] the repository is (ID-2), what pushers need
// besides, and what comes next.
func writeNext(env *cli.Env, dir string, done *install.Report) {
	w := env.Stdout
	if len(done.Changes) == 0 {
		fmt.Fprintf(w, "%s is complete: nothing to do\n", dir)
	}
	fmt.Fprintf(w, "who pushes: %s\n", done.Settings.Identity.Means())
	if done.Settings.Identity.From == "" && slices.ContainsFunc([]string{"SSH_CONNECTION", "SSH_CLIENT"}, func(v string) bool { return env.Getenv(v) != "" }) {
		fmt.Fprintln(w, `note: you came over ssh, so pushes from this session are refused until [identity] from in ward/config.toml says who you are, such as from = "account"`)
	}
	if done.Settings.Hooks.Mode == config.Observe {
		fmt.Fprintln(w, `note: [hooks] mode is "observe": people's pushes pass in spite of findings; git ward log --would lists what would have been refused`)
	}
	for _, stale := range done.Stale {
		fmt.Fprintf(w, "note: still at an old default: %s; git ward init --update --bare %s moves it\n", stale, diag.Word(dir))
	}
	if done.Shared {
		fmt.Fprintf(w, "note: each pusher besides the owner tells git once that the repository may be used: git config --global --add safe.directory %s\n", diag.Word(dir))
	}
	if len(done.Changes) > 0 {
		fmt.Fprintf(w, "ready: %s\nnext: ", dir)
		if control := branches.Told(done.Settings.Control); control != "" {
			fmt.Fprintf(w, "git ward clone --control %s %s DIR", diag.Word(control), diag.Word(dir))
		} else {
			fmt.Fprintf(w, "git ward clone %s DIR", diag.Word(dir))
		}
		fmt.Fprintln(w, ", write a directive into COMMS.md, commit, push")
	}
}
