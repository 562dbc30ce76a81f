package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"git-ward/hooks/install"
	"git-ward/internal/cli"
	"git-ward/internal/diag"
	"git-ward/internal/git"
)

const initUsage = "init --bare DIR [--hooks DIR]"

// Init is `git ward init --bare DIR`: a bare repository with Ward's settings, hooks
// and first commit (HOOK-6). Settings are config.toml with its defaults, and template
// the first commit's files.
func Init(settings []byte, template fs.FS) cli.Func {
	return func(ctx context.Context, env *cli.Env) error {
		var bare bool
		var hooks string
		args, err := env.Flags("init", initUsage, func(fs *flag.FlagSet) {
			fs.BoolVar(&bare, "bare", false, "make or mend the bare repository that Ward guards")
			fs.StringVar(&hooks, "hooks", "", "the `DIR` that its server runs hooks from, where it is not hooks/ or custom_hooks/; relative to the repository")
		})
		if err != nil {
			return err
		}
		if !bare {
			return insteadOfInit(ctx, env)
		}
		if len(args) != 1 {
			return env.Usage(initUsage, "init --bare takes one directory")
		}
		program, err := cli.Program("ward-hook")
		if err != nil {
			return err
		}
		want := install.Request{Dir: env.Path(args[0]), Hooks: hooks, Program: program, Config: settings, Template: template}
		done, err := install.Run(ctx, want)
		writeDone(env, done)
		if err != nil {
			return err
		}
		writeNext(env, want.Dir, done)
		return nil
	}
}

// insteadOfInit explains what to do where no bare repository was asked for.
func insteadOfInit(ctx context.Context, env *cli.Env) error {
	repo, err := git.Discover(ctx, env.Dir)
	if err != nil {
		return diag.Hint(errors.New("a bare repository is what Ward guards: the place that everybody pushes to"), "git ward init --bare DIR")
	}
	name := filepath.Base(strings.TrimSuffix(strings.TrimSuffix(repo.Dir, "/.git"), "/"))
	return diag.Hint(errors.New("this is a repository with a work tree; Ward guards a bare repository, the place that everybody pushes to"),
		"git clone --bare . ../%s.git && git ward init --bare ../%s.git && git remote set-url origin ../%s.git", name, name, name)
}

// writeDone says what was changed, and what could not be, also where a later step
// failed.
func writeDone(env *cli.Env, done *install.Report) {
	for _, err := range done.Warnings {
		fmt.Fprintf(env.Stderr, "git-ward: warning: %s\n", diag.Clean(err.Error()))
		var hinted *diag.Hinted
		if errors.As(err, &hinted) {
			fmt.Fprintf(env.Stderr, "git-ward: hint: %s\n", diag.Clean(hinted.Hint))
		}
	}
	for _, line := range done.Changes {
		fmt.Fprintln(env.Stdout, line)
	}
}

// writeNext says which case of [identity] the repository is (ID-2), what pushers need
// besides, and what comes next.
func writeNext(env *cli.Env, dir string, done *install.Report) {
	w := env.Stdout
	if len(done.Changes) == 0 {
		fmt.Fprintf(w, "%s is complete: nothing to do\n", dir)
	}
	fmt.Fprintf(w, "who pushes: %s\n", done.Identity.Means())
	if done.Identity.From == "" && slices.ContainsFunc([]string{"SSH_CONNECTION", "SSH_CLIENT"}, func(v string) bool { return env.Getenv(v) != "" }) {
		fmt.Fprintln(w, `note: you came over ssh, so pushes from this session are refused until [identity] from in ward/config.toml says who you are, such as from = "account"`)
	}
	if done.Shared {
		fmt.Fprintf(w, "note: each pusher besides the owner tells git once that the repository may be used: git config --global --add safe.directory %s\n", dir)
	}
	if len(done.Changes) > 0 {
		fmt.Fprintf(w, "ready: %s\nnext: git ward clone %s DIR, write a directive into COMMS.md, commit, push\n", dir, dir)
	}
}
