// Package hooks is what a person does with the hooks: install them (init), run
// the same checks in a clone (lint), read what they recorded (log), prove that
// it is whole (fsck), and clone with it (clone).
package hooks

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"git-ward/internal/cli"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/internal/hookdir"
)

// Assets are the files that main.go embeds: the settings with their defaults and
// the first commit of a ward repository.
type Assets struct {
	Config   []byte
	Template fs.FS
}

const initUsage = "init --bare DIR [--hooks DIR]"

// Init is `git ward init --bare DIR`: a bare repository with Ward's settings,
// hooks and first commit (HOOK-6). Run again, it mends what is missing and
// changes nothing else.
func Init(assets Assets) cli.Func {
	return func(ctx context.Context, env *cli.Env) error {
		var bare bool
		var named string
		args, err := env.Flags("init", initUsage, func(fs *flag.FlagSet) {
			fs.BoolVar(&bare, "bare", false, "make or mend the bare repository that Ward guards")
			fs.StringVar(&named, "hooks", "", "the `DIR` that its server runs hooks from, where it is not hooks/ or custom_hooks/; relative to the repository")
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
		in := &initializer{ctx: ctx, env: env, assets: assets, dir: env.Path(args[0]), named: named}
		return in.run()
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

type initializer struct {
	ctx    context.Context
	env    *cli.Env
	assets Assets
	dir    string
	named  string // --hooks
	layout hookdir.Layout
	repo   *git.Repo
	done   []string // what was changed, in words
}

func (in *initializer) run() error {
	for _, step := range []func() error{
		in.repository, in.findLayout, in.wardFiles, in.hooks, in.settings, in.content, in.genesis, in.share, in.giveToOwner,
	} {
		if err := step(); err != nil {
			in.sayDone()
			return err
		}
	}
	if len(in.done) == 0 {
		fmt.Fprintf(in.env.Stdout, "%s is complete: nothing to do\n", in.dir)
		return in.sayWho()
	}
	in.sayDone()
	if err := in.sayWho(); err != nil {
		return err
	}
	fmt.Fprintf(in.env.Stdout, "ready: %s\nnext: git ward clone %s DIR, write a directive into COMMS.md, commit, push\n", in.dir, in.dir)
	return nil
}

// sayDone prints what was changed, also where a later step fails.
func (in *initializer) sayDone() {
	for _, line := range in.done {
		fmt.Fprintln(in.env.Stdout, line)
	}
}

// findLayout takes the layout that --hooks names, else the one that an earlier
// init recorded, else what it finds.
func (in *initializer) findLayout() (err error) {
	named := in.named
	if name := hookdir.Names[0]; named == "" {
		out, err := in.repo.Output(in.ctx, "config", "--local", "--get", hookdir.Key(name))
		if path := strings.TrimSuffix(string(out), "\n"); err == nil && path != "" {
			named = hookdir.DirOf(path, name)
		}
	}
	in.layout, err = hookdir.Find(in.dir, named)
	return err
}

func (in *initializer) did(format string, args ...any) {
	in.done = append(in.done, fmt.Sprintf(format, args...))
}

// repository makes the bare repository, or makes sure that there is one.
func (in *initializer) repository() error {
	in.repo = git.Open(in.dir)
	entries, err := os.ReadDir(in.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if len(entries) > 0 {
		return in.existing()
	}
	cmd := exec.CommandContext(in.ctx, "git", "init", "--quiet", "--bare", "--initial-branch=main", "--template=", "--object-format=sha1", in.dir)
	cmd.Env = git.Elsewhere(git.Open("").Environ())
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("git init: %w: %s", err, bytes.TrimSpace(out))
	}
	in.did("made the bare repository %s", in.dir)
	return nil
}

func (in *initializer) existing() error {
	if err := in.mine(); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(in.dir, ".git")); err == nil {
		return diag.Hint(fmt.Errorf("%s is a repository with a work tree, not a bare one", in.dir),
			"git clone --bare %s %s.git && git ward init --bare %s.git", in.dir, in.dir, in.dir)
	}
	out, err := in.repo.Output(in.ctx, "rev-parse", "--is-bare-repository", "--show-object-format")
	answer := strings.Fields(string(out))
	if err != nil || len(answer) != 2 || answer[0] != "true" {
		return diag.Hint(fmt.Errorf("%s is neither empty nor a bare git repository", in.dir), "name a new directory")
	}
	if answer[1] != "sha1" {
		return fmt.Errorf("%s uses %s object ids; Ward reads sha1 repositories only", in.dir, answer[1])
	}
	return nil
}
