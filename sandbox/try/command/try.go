// Package command is `git ward try`, which takes a person from a clone of their own to a
// reviewed change (FIRST-1). It makes one directory beside the clone, guards a bare clone in
// it, and then types the commands of `git ward` that a person would: what it does, anybody can
// do by hand.
package command

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"git-ward/internal/branches"
	"git-ward/internal/cli"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/internal/runstate"
	"git-ward/internal/scratch"
)

// Try is `git ward try`.
var Try = cli.Command{Name: "try", Doc: "try Ward on your clone, in a directory beside it", Run: run,
	Long: "It makes DIR (CLONE.try beside your clone), guards a bare clone of your branch in it, pushes your directive, lets an agent work on it behind the fence, and shows the review. Your clone is only read. A second try goes on in the same DIR: with a new directive, or with --again on those that are open. --remove deletes DIR.",
	Examples: []cli.Example{
		{Line: `try -m "Say hello" --criterion "go test ./..."`, Doc: "one directive, from its text to its review"},
		{Line: `try --remove`, Doc: "your clone is as it was"}}}

const usage = "try [-m TEXT | --again] [--criterion COMMAND]... [--model NAME] [--id MODEL] [--script FILE] [--with PACKAGES] [--dir DIR] [--unfenced]"

// options are the person's options.
type options struct {
	text, model, id, script, with, dir string
	checks                             checks
	again, unfenced, remove            bool
}

func run(ctx context.Context, env *cli.Env) error {
	var o options
	rest, err := env.Flags("try", usage+" | try --remove [--dir DIR]", func(fs *flag.FlagSet) {
		fs.StringVar(&o.text, "m", "", "the directive's `text`, its first line the title; default: your editor")
		fs.BoolVar(&o.again, "again", false, "no new directive: the agent goes on with those that are open")
		fs.Var(&o.checks, "criterion", "a `COMMAND` that decides whether it is done; default: your project's tests")
		fs.StringVar(&o.model, "model", "", "the model `NAME`, instead of the program and key that are found")
		fs.StringVar(&o.id, "id", "", "the provider's name of the `MODEL`")
		fs.StringVar(&o.script, "script", "", "a `FILE` that plays the model, so that no key is needed")
		fs.StringVar(&o.with, "with", "", "the Debian `PACKAGES` that the project's commands need, with commas between them")
		fs.StringVar(&o.dir, "dir", "", "the `DIR` for all that is made; default: CLONE.try beside your clone")
		fs.BoolVar(&o.unfenced, "unfenced", false, "with --script: run the agent as you, without any confinement")
		fs.BoolVar(&o.remove, "remove", false, "delete the directory of the try")
	})
	switch {
	case err != nil:
		return err
	case len(rest) > 0:
		return env.Usage(usage, "unexpected argument %q", rest[0])
	case o.unfenced && o.with != "":
		return env.Usage(usage, "--with makes the fence's image, and --unfenced has no fence")
	case o.unfenced && o.script == "" && !o.remove:
		return env.Usage(usage, "--unfenced is for a script only: --script FILE")
	case o.again && (o.text != "" || len(o.checks) > 0):
		return env.Usage(usage, "--again makes no new directive, so it takes neither -m nor --criterion")
	case o.script != "" && o.model != "" && o.model != "script":
		return env.Usage(usage, "--script FILE plays the model, so --model %s says another one", o.model)
	}
	t := &trial{ctx: ctx, env: env, options: o}
	if t.clone, err = project(ctx, env.Dir); err != nil {
		return err
	}
	t.dir = t.clone + ".try"
	if o.dir != "" {
		t.dir = env.Path(o.dir)
	}
	if inside(t.clone, t.dir) {
		return diag.Hint(fmt.Errorf("%s lies in your clone, which a try only reads", t.dir), "name another one: --dir DIR")
	}
	if o.remove {
		return t.removeAll()
	}
	return t.do()
}

// trial is one try.
type trial struct {
	ctx context.Context
	env *cli.Env
	options
	clone, dir string // absolute
	branch     string
	worker     worker
	lines      []byte   // the script's
	guessed    bool     // the checks are the project's own tests, which no person named
	packages   []string // of Debian's, which the image has beside its own
	chosen     []string // by the tries before: the image, and the one before it after a kill
	ident      string   // the person's identity: NAME <MAIL> and perhaps more
}

// made are the files that a try makes in its directory, besides the directory's mark.
var made = []string{".ward-own", "project.git", "work", "work.ward", "state", "programs", packagesFile, guessedFile, "doctor.txt"} // the last by earlier versions

func (t *trial) bare() string { return filepath.Join(t.dir, "project.git") }
func (t *trial) work() string { return filepath.Join(t.dir, "work") }

// control is the control branch's working tree, if it has one of its own.
func (t *trial) control() string { return t.work() + ".ward" }

// do does all steps. Each finds out whether it is already done, so that a killed try
// continues.
func (t *trial) do() error {
	if err := t.look(); err != nil {
		return err
	}
	lock, err := scratch.Claim(t.dir, false)
	if err != nil {
		return diag.Hint(err, "name another one: --dir DIR")
	}
	defer lock.Close()
	t.env.Leaves("a second `git ward try` goes on, and `git ward try --remove` takes all of it away")
	for _, step := range []func() error{t.guard, t.place, t.choose, t.fence, t.direct, t.launch} {
		if err := step(); err != nil {
			return err
		}
	}
	return t.review()
}

// guard makes the bare clone, or updates it from the person's clone.
func (t *trial) guard() error {
	refspec := "refs/heads/" + t.branch + ":refs/heads/" + t.branch
	if _, err := os.Stat(filepath.Join(t.bare(), "ward", "config.toml")); err == nil {
		return t.bringNew(refspec)
	}
	if _, err := os.Stat(t.bare()); errors.Is(err, os.ErrNotExist) {
		room, err := scratch.Make(t.dir, "try-")
		if err != nil {
			return err
		}
		defer room.Remove()
		made := filepath.Join(room.Path, "project.git")
		// Through git's transport, so that only reachable objects get there: a copy would
		// include what was stashed, reset or never committed.
		if err := t.git(t.dir, "clone", "--quiet", "--bare", "--no-local", "--single-branch", "--branch", t.branch, "--", t.clone, made); err != nil {
			return err
		}
		if err := t.git(t.dir, "--git-dir="+made, "remote", "remove", "origin"); err != nil {
			return err
		}
		if err := os.Rename(made, t.bare()); err != nil {
			return err
		}
	}
	return t.ward(t.dir, "init", "--bare", t.bare())
}

// bringNew updates the guarded repository from the person's clone.
func (t *trial) bringNew(refspec string) error {
	on, err := ask(t.ctx, t.dir, "--git-dir="+t.bare(), "symbolic-ref", "--short", "HEAD")
	if err != nil {
		return err
	}
	if on != t.branch {
		return diag.Hint(fmt.Errorf("this try is on the branch %s, and your clone on %s", diag.Word(on), diag.Word(t.branch)), "git switch %s, or --dir DIR for another try", diag.Word(on))
	}
	tip, err := ask(t.ctx, t.clone, "rev-parse", "HEAD")
	if err != nil {
		return err
	}
	if _, err := ask(t.ctx, t.dir, "--git-dir="+t.bare(), "merge-base", "--is-ancestor", tip, "HEAD"); err == nil {
		return nil // what was taken is not pulled yet
	}
	if err := t.git(t.clone, "push", "--quiet", "--receive-pack=git-receive-pack", "--", t.bare(), refspec); err != nil {
		return diag.Hint(errors.Join(err, errors.New("the try has commits that your clone does not have")), "git pull %s %s, or git ward try --remove", diag.Word(t.bare()), diag.Word(t.branch))
	}
	return nil
}

// place makes the PM's clone, or the rest of one after a kill.
func (t *trial) place() error {
	names, err := branches.Of(t.ctx, git.Open(t.bare()))
	if err != nil {
		return err
	}
	if _, err := os.Stat(t.work()); errors.Is(err, os.ErrNotExist) {
		args := []string{"clone"}
		if control := branches.Told(names.Control); control != "" {
			args = append(args, "--control", control)
		}
		return cmp.Or(t.ward(t.dir, append(args, t.bare(), t.work())...), t.introduce())
	}
	if err := t.git(t.work(), "fetch", "--quiet"); err != nil {
		return err
	}
	if _, err := os.Stat(t.control()); errors.Is(err, os.ErrNotExist) && names.Split() {
		if err := t.git(t.work(), "worktree", "add", "--quiet", "--force", "-B", names.Branch, t.control(), "origin/"+names.Branch); err != nil {
			return err
		}
	}
	return t.introduce()
}

// introduce sets the person's identity in the clone; it may be set only in the person's own
// clone.
func (t *trial) introduce() error {
	name, rest, _ := strings.Cut(t.ident, " <")
	mail, _, _ := strings.Cut(rest, ">")
	return cmp.Or(t.git(t.work(), "config", "user.name", name), t.git(t.work(), "config", "user.email", mail))
}

// choose sets the worker. The person who tries makes every push of the try.
func (t *trial) choose() error {
	set := []string{"identity.from=account", "model.name=" + t.worker.Name, "model.id=" + t.id}
	if t.worker.Program != "" && !t.unfenced {
		dir, err := t.bring()
		if err != nil {
			return err
		}
		set = append(set, "sandbox.programs="+dir)
	}
	if t.script != "" {
		if err := t.play(); err != nil {
			return err
		}
	}
	return t.ward(t.dir, append([]string{"config", "--bare", t.bare()}, set...)...)
}

// launch has every open directive worked on.
func (t *trial) launch() error {
	args := []string{"launch", "--once", "--bare", t.bare(), "--state", filepath.Join(t.dir, "state")}
	if t.unfenced {
		args = append(args, "--unfenced")
	}
	if t.again {
		if err := t.open(); err != nil {
			return err
		}
	}
	words := &steps{to: t.env.Stderr}
	err := t.typed(t.dir, cli.Raw(t.env.Stdout), words, args...)
	return cmp.Or(err, words.end())
}

// review shows the newest directive's work, and how to take it.
func (t *trial) review() error {
	if err := t.git(t.work(), "fetch", "--quiet"); err != nil {
		return err
	}
	newest, err := t.newest()
	if err != nil {
		return err
	}
	name := newest.Name()
	reviewed := t.ward(t.work(), "review", name)
	if reviewed != nil && !errors.As(reviewed, new(cli.ExitCode)) {
		return reviewed
	}
	if reviewed != nil {
		if err := t.ward(t.work(), "status"); err != nil { // why there is nothing to review
			return err
		}
	}
	fmt.Fprintf(t.env.Stdout, `
try: type what is next in %s. After git ward take %s, in %s:
  git pull %s %s      brings it into your clone
  %s -m TEXT      goes on with the next directive
  %s --again      has the agent go on, after git ward include, directive edit or uow clarify
  %s --remove      takes all of this away
`, diag.Word(t.work()), name, diag.Word(t.clone), diag.Word(t.bare()), diag.Word(t.branch), t.same(true), t.same(true), t.same(false))
	return reviewed
}

// same is git ward try with the options that the next one needs, the worker's if it works. It means
// the same in any directory of the clone.
func (t *trial) same(works bool) string {
	words := "git ward try"
	path := func(arg string) string {
		if arg == "" {
			return ""
		}
		return t.env.Path(arg)
	}
	for _, o := range []struct {
		flag, value string
		works       bool
	}{{"--dir", path(t.options.dir), false}, {"--script", path(t.script), true}, {"--model", t.model, true}, {"--id", t.id, true}} {
		if o.value != "" && (works || !o.works) {
			words += " " + o.flag + " " + diag.Word(o.value)
		}
	}
	if works && t.unfenced {
		words += " --unfenced"
	}
	return words
}

// removeAll removes what a try has made, and nothing else.
func (t *trial) removeAll() error {
	if _, err := os.Lstat(t.dir); errors.Is(err, os.ErrNotExist) {
		fmt.Fprintf(t.env.Stdout, "there is no %s: nothing to remove\n", diag.Clean(t.dir))
		return nil
	}
	if err := t.ours(); err != nil {
		return err
	}
	defer t.env.Slow("removing " + t.dir)()
	if err := scratch.RemoveOwn(t.dir); err != nil {
		return err
	}
	fmt.Fprintf(t.env.Stdout, "removed %s; your clone was only read. podman keeps the image for the next time.\n", diag.Clean(t.dir))
	return nil
}

// ours reports whether a directory belongs to a try that nobody works in; other directories
// that Ward makes have the same mark.
func (t *trial) ours() error {
	entries, err := os.ReadDir(t.dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !slices.Contains(made, e.Name()) && !strings.HasPrefix(e.Name(), scratch.Prefix) { // a killed clone's leftovers
			return fmt.Errorf("%s in %s does not belong to a try, so nothing is removed", diag.Word(e.Name()), diag.Word(t.dir))
		}
	}
	if pid, up := runstate.Running(t.bare()); up {
		return diag.Hint(fmt.Errorf("a launcher, process %d, works in %s", pid, diag.Word(t.dir)), "git ward launch --stop --bare %s", diag.Word(t.bare()))
	}
	return nil
}
