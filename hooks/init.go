// Package hooks is what a person does with the hooks: install them (init), run
// the same checks in a clone (lint), read what they recorded (log), prove that
// it is whole (fsck), and clone with it (clone).
package hooks

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"git-ward/internal/atomicfile"
	"git-ward/internal/cli"
	"git-ward/internal/git"
)

// Assets are the files that main.go embeds: the settings with their defaults and
// the first commit of a ward repository.
type Assets struct {
	Config   []byte
	Template fs.FS
}

const initUsage = "init --bare DIR"

// Init is `git ward init --bare DIR`: a bare repository with Ward's settings,
// hooks and first commit (HOOK-6). Run again, it mends what is missing and
// changes nothing else.
func Init(assets Assets) cli.Func {
	return func(ctx context.Context, env *cli.Env) error {
		var bare bool
		args, err := env.Flags("init", initUsage, func(fs *flag.FlagSet) {
			fs.BoolVar(&bare, "bare", false, "make or mend the bare repository that Ward guards")
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
		in := &initializer{ctx: ctx, env: env, assets: assets, dir: env.Path(args[0])}
		return in.run()
	}
}

// insteadOfInit explains what to do where no bare repository was asked for.
func insteadOfInit(ctx context.Context, env *cli.Env) error {
	repo, err := git.Discover(ctx, env.Dir)
	if err != nil {
		return cli.Hint(errors.New("a bare repository is what Ward guards: the place that everybody pushes to"), "git ward init --bare DIR")
	}
	name := filepath.Base(strings.TrimSuffix(strings.TrimSuffix(repo.Dir, "/.git"), "/"))
	return cli.Hint(errors.New("this is a repository with a work tree; Ward guards a bare repository, the place that everybody pushes to"),
		"git clone --bare . ../%s.git && git ward init --bare ../%s.git && git remote set-url origin ../%s.git", name, name, name)
}

type initializer struct {
	ctx    context.Context
	env    *cli.Env
	assets Assets
	dir    string
	repo   *git.Repo
	done   []string // what was changed, in words
}

func (in *initializer) run() error {
	for _, step := range []func() error{
		in.repository, in.wardFiles, in.settings, in.hooks, in.content, in.genesis,
	} {
		if err := step(); err != nil {
			return err
		}
	}
	if len(in.done) == 0 {
		fmt.Fprintf(in.env.Stdout, "%s is complete: nothing to do\n", in.dir)
		return nil
	}
	for _, line := range in.done {
		fmt.Fprintln(in.env.Stdout, line)
	}
	fmt.Fprintf(in.env.Stdout, "ready: %s\nnext: git ward clone %s DIR, write a directive into COMMS.md, commit, push\n", in.dir, in.dir)
	return nil
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
	if _, err := os.Stat(filepath.Join(in.dir, ".git")); err == nil {
		return cli.Hint(fmt.Errorf("%s is a repository with a work tree, not a bare one", in.dir),
			"git clone --bare %s %s.git && git ward init --bare %s.git", in.dir, in.dir, in.dir)
	}
	out, err := in.repo.Output(in.ctx, "rev-parse", "--is-bare-repository", "--show-object-format")
	answer := strings.Fields(string(out))
	if err != nil || len(answer) != 2 || answer[0] != "true" {
		return cli.Hint(fmt.Errorf("%s is neither empty nor a bare git repository", in.dir), "name a new directory")
	}
	if answer[1] != "sha1" {
		return fmt.Errorf("%s uses %s object ids; Ward reads sha1 repositories only", in.dir, answer[1])
	}
	return nil
}

// wardFiles makes what Ward keeps beside git: settings, the door's key, and the
// folder of admitted pushes. Nobody but the owner reads it.
func (in *initializer) wardFiles() error {
	ward := filepath.Join(in.dir, "ward")
	for _, dir := range []string{ward, filepath.Join(ward, "pending")} {
		err := os.Mkdir(dir, 0o700)
		if err == nil && dir == ward {
			in.did("made ward/ with config.toml and the door's key")
		}
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	key := make([]byte, 32)
	rand.Read(key)
	for _, file := range []struct {
		name string
		data []byte
		mode fs.FileMode
	}{{"config.toml", in.assets.Config, 0o644}, {"door.key", key, 0o600}} {
		path := filepath.Join(ward, file.name)
		if _, err := os.Stat(path); err == nil {
			continue
		}
		if err := atomicfile.Write(path, file.data, file.mode); err != nil {
			return err
		}
		in.did("wrote ward/%s", file.name)
	}
	if err := os.Chmod(filepath.Join(ward, "door.key"), 0o600); err != nil {
		return err
	}
	return nil
}
