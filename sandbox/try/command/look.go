package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"git-ward/internal/diag"
	"git-ward/internal/git"
)

// project is the top of the working tree around a directory.
func project(ctx context.Context, dir string) (string, error) {
	repo, err := git.Discover(ctx, dir)
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if err != nil {
		return "", diag.Hint(err, "run git ward try in a clone of your project")
	}
	top, err := ask(ctx, dir, "rev-parse", "--show-toplevel")
	if err == nil || ctx.Err() != nil {
		return top, err
	}
	// By the directory's name: git refuses to find a bare repository by itself.
	switch where, _ := ask(ctx, dir, "--git-dir="+repo.Dir, "rev-parse", "--is-bare-repository", "--is-inside-git-dir"); where {
	case "true\ntrue", "true\nfalse":
		return "", diag.Hint(fmt.Errorf("%s is in a bare repository, and a try wants a working tree", diag.Word(dir)), "go into a working tree; for a bare repository, `git ward init --bare DIR` is the whole way")
	case "false\ntrue":
		return "", diag.Hint(fmt.Errorf("%s is in a repository, but in no working tree", diag.Word(dir)), "go into its working tree")
	}
	return "", err
}

// ask is git's output for a person in a directory.
func ask(ctx context.Context, dir string, args ...string) (string, error) {
	out, err := git.Command(ctx, dir, git.Local(git.Elsewhere(os.Environ())), args...).Output()
	if ctx.Err() != nil { // git was stopped, and has answered nothing
		return "", ctx.Err()
	}
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		err = git.ChildError(ctx, args[0], err, exit.Stderr)
	}
	return strings.TrimSuffix(string(out), "\n"), err
}

// look finds everything that could stop a try, before anything is made.
func (t *trial) look() (err error) {
	if t.branch, err = ask(t.ctx, t.clone, "symbolic-ref", "--quiet", "--short", "HEAD"); git.SaidNo(err) {
		return diag.Hint(errors.New("HEAD is on no branch, so there is none to work for"), "git switch BRANCH")
	} else if err != nil {
		return err
	}
	if _, err := ask(t.ctx, t.clone, "rev-parse", "--verify", "--quiet", "HEAD^{commit}"); git.SaidNo(err) {
		return diag.Hint(fmt.Errorf("the branch %s has no commit yet", t.branch), "commit what is there, then try again")
	} else if err != nil {
		return err
	}
	if shallow, err := ask(t.ctx, t.clone, "rev-parse", "--is-shallow-repository"); err == nil && shallow == "true" {
		return diag.Hint(errors.New("this clone is shallow, and a guarded repository has its whole history"), "git fetch --unshallow")
	}
	if err := t.whole(); err != nil {
		return err
	}
	if _, err := os.Stat(t.bare()); t.again && err != nil {
		return diag.Hint(fmt.Errorf("no try is in %s to go on with", diag.Word(t.dir)), "git ward try -m TEXT begins one")
	}
	if t.worker, err = find(t.options, t.env.Getenv); err != nil {
		return err
	}
	if t.script != "" {
		if t.lines, err = readScript(t.env.Path(t.script)); err != nil {
			return err
		}
	}
	if !t.again && t.text == "" && !t.interactive() {
		return t.env.Usage(usage, "say what you want: -m TEXT, because no editor can be opened here")
	}
	if t.text != "" && len(t.checks) == 0 && !decided(t.text) {
		if t.checks, t.guessed = guess(t.clone), true; t.checks == nil {
			return t.env.Usage(usage, "no command decides when it is done: --criterion COMMAND")
		}
	}
	if err := t.need(); err != nil {
		return err
	}
	t.say("%s works, on %s of %s. Everything that it makes is in %s. Your clone is only read, and uncommitted changes are not part of it.", t.worker, diag.Word(t.branch), diag.Word(t.clone), diag.Word(t.dir))
	if t.ident, err = ask(t.ctx, t.clone, "var", "GIT_COMMITTER_IDENT"); err != nil {
		t.ident = "you <you@localhost>"
		t.say("git does not know your name (git config --global user.name NAME, and user.email), so the commits of the try are by \"you\".")
	}
	return nil
}

// whole refuses a partial clone that lacks an object of the history.
func (t *trial) whole() error {
	promised, err := ask(t.ctx, t.clone, "config", "--get-regexp", `^remote\..*\.promisor$`)
	if git.SaidNo(err) || err == nil && promised == "" {
		return nil
	}
	if err != nil {
		return err
	}
	missing, err := ask(t.ctx, t.clone, "rev-list", "--objects", "--quiet", "--missing=print", "HEAD")
	if err == nil && missing != "" {
		err = diag.Hint(errors.New("this is a partial clone, and a guarded repository has every object of its history"), "git fetch --refetch --no-filter")
	}
	return err
}
