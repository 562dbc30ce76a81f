// Package hooks is what a person does with the hooks: install them (init), run
// the same checks in a clone (lint), read what they recorded (log), prove that
// it is whole (fsck), and clone with it (clone).
package hooks

import (
	"bytes"
	"context"
	"crypto/rand"
	"debug/buildinfo"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"git-ward/hooks/audit"
	"git-ward/internal/atomicfile"
	"git-ward/internal/cli"
	"git-ward/internal/config"
	"git-ward/internal/git"
	"git-ward/internal/object"
	"git-ward/protocols/comms"
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
	cmd.Env = git.Open("").Environ()
	cmd.Env = removeVar(cmd.Env, "GIT_DIR")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("git init: %w: %s", err, bytes.TrimSpace(out))
	}
	in.did("made the bare repository %s", in.dir)
	return nil
}

func removeVar(env []string, name string) []string {
	kept := env[:0]
	for _, v := range env {
		if !strings.HasPrefix(v, name+"=") {
			kept = append(kept, v)
		}
	}
	return kept
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

// settings sets what is unset in the repository's config. Two that would switch
// Ward off are also put right when they were changed.
func (in *initializer) settings() error {
	c, err := config.Load(in.dir)
	if err != nil {
		return err
	}
	for _, s := range []struct {
		key, value string
		must       bool
	}{
		{"core.hooksPath", "hooks", true}, // against a hooksPath in the owner's own config
		{"core.logAllRefUpdates", "always", true},
		{"receive.fsckObjects", "true", false},
		{"receive.maxInputSize", fmt.Sprint(c.Limits.InputSize), false},
		{"receive.advertisePushOptions", "true", false},
		{"receive.autogc", "false", false},
		{"gc.auto", "0", false},
	} {
		out, err := in.repo.Output(in.ctx, "config", "--local", "--get", s.key)
		now := strings.TrimSuffix(string(out), "\n")
		if err == nil && (now == s.value || !s.must) {
			continue
		}
		if _, err := in.repo.Output(in.ctx, "config", "--local", s.key, s.value); err != nil {
			return err
		}
		in.did("set %s = %s", s.key, s.value)
	}
	return nil
}

// hookModule is how Ward's hook binary is told from anybody else's hook.
const hookModule = "git-ward/hooks/cmd/ward-hook"

// hooks installs the hook binary under both names. A hook that stood there is
// kept and runs after Ward's (HOOK-6).
func (in *initializer) hooks() error {
	binary, err := cli.Program("ward-hook")
	if err != nil {
		return err
	}
	want, err := os.ReadFile(binary)
	if err != nil {
		return err
	}
	dir := filepath.Join(in.dir, "hooks")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, name := range []string{"pre-receive", "post-receive"} {
		path := filepath.Join(dir, name)
		have, err := os.ReadFile(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err == nil && bytes.Equal(have, want) {
			continue
		}
		if err == nil && !isWardHook(path) {
			chained := path + ".chained"
			if _, err := os.Lstat(chained); err == nil {
				return cli.Hint(fmt.Errorf("both %s and %s are somebody else's hooks", path, chained), "merge them into %s", chained)
			}
			if err := os.Rename(path, chained); err != nil {
				return err
			}
			in.did("kept hooks/%s as hooks/%s.chained; it runs after Ward's", name, name)
		}
		if err := atomicfile.Write(path, want, 0o755); err != nil {
			return err
		}
		in.did("installed hooks/%s", name)
	}
	return nil
}

func isWardHook(path string) bool {
	info, err := buildinfo.ReadFile(path)
	return err == nil && info.Path == hookModule
}

// content makes the first commit, or adds the documents to a main without
// COMMS.md; what stands there is never changed.
func (in *initializer) content() error {
	main, err := in.repo.Ref(in.ctx, "refs/heads/main")
	if err != nil {
		return err
	}
	if err := in.head(main); err != nil {
		return err
	}
	files, err := object.Files(in.assets.Template)
	if err != nil {
		return err
	}
	store := object.Open(in.dir)
	c := object.Commit{Who: object.Signature("Ward", "ward@localhost", time.Now()), Message: "ward: first commit, from the template\n"}
	base := ""
	if main != git.Zero {
		tree, names, err := store.Tree(main)
		if err != nil {
			return err
		}
		if names[comms.Path] != "" {
			return nil
		}
		base, c.Parents, c.Message = tree, []string{main}, "ward: add the documents that Ward works with\n"
		for path := range files {
			top, _, _ := strings.Cut(path, "/")
			if names[top] != "" {
				delete(files, path)
			}
		}
	}
	commit, err := store.WriteCommit(base, files, c)
	if err != nil {
		return err
	}
	in.did("committed the template to main: %s", strings.Join(topNames(files), " "))
	return in.repo.UpdateRefs(in.ctx, "ward: init", git.RefUpdate{Ref: "refs/heads/main", Old: main, New: commit})
}

// head makes HEAD, which a clone checks out, name main. A repository whose
// history is on a branch of another name is not touched: its owner renames it.
func (in *initializer) head(main string) error {
	out, err := in.repo.Output(in.ctx, "symbolic-ref", "HEAD")
	if err != nil {
		return err
	}
	now := strings.TrimSpace(string(out))
	if now == "refs/heads/main" {
		return nil
	}
	id, err := in.repo.Ref(in.ctx, now)
	if err != nil {
		return err
	}
	if id != git.Zero && main == git.Zero {
		name := strings.TrimPrefix(now, "refs/heads/")
		return cli.Hint(fmt.Errorf("the repository's branch is %s; Ward works with main", name),
			"git --git-dir=%s branch -m %s main, then run this again", in.dir, name)
	}
	if id != git.Zero {
		return nil // the owner's choice
	}
	in.did("made HEAD name main")
	_, err = in.repo.Output(in.ctx, "symbolic-ref", "HEAD", "refs/heads/main")
	return err
}

func topNames(files map[string][]byte) []string {
	var names []string
	seen := map[string]bool{}
	for path := range files {
		top, _, _ := strings.Cut(path, "/")
		if !seen[top] {
			seen[top] = true
			names = append(names, top)
		}
	}
	return sorted(names)
}

// genesis records refs that no push brought: the first commit, and those of a
// repository that was there before Ward.
func (in *initializer) genesis() error {
	batch := in.repo.Batch(in.ctx)
	defer batch.Close()
	if _, err := audit.Reconcile(in.ctx, in.repo, batch); err != nil {
		return err
	}
	chain, err := readChain(in.ctx, in.repo, batch)
	if err != nil {
		return err
	}
	r, err := unrecorded(in.ctx, in.repo, chain)
	if err != nil || len(r.Refs) == 0 {
		return err
	}
	r.Push = "init-" + r.Time.Format("20060102T150405Z")
	w, err := audit.NewWriter(in.ctx, in.repo, batch)
	if err != nil {
		return err
	}
	defer w.Close()
	in.did("recorded %d refs in the audit", len(r.Refs))
	return w.Append(in.ctx, audit.Entry{Record: r})
}
