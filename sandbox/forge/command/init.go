package command

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"git-ward/internal/branches"
	"git-ward/internal/cli"
	"git-ward/internal/config"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/sandbox/doctor/finding"
	"git-ward/sandbox/forge/client"
	"git-ward/sandbox/forge/setup"
	"git-ward/sandbox/gateway"
)

// Init is what `git ward init --forge URL` runs (FORGE-1): a guarded repository beside a project
// on a forge, all that `git ward forge` needs, and what the token lacks. What is there already
// stays, so that it can be run again.
var Init = cli.Command{Name: "init", Hidden: true, Doc: "set a repository up beside a project on a forge", Run: setUp}

// site is a set-up at work.
type site struct {
	env      *cli.Env
	page     string // the project's
	bare     string
	hooks    []string          // flags for git ward init
	file     string            // of the token
	settings *config.Config    // nil: Ward does not guard it yet
	there    client.Project    // on the forge
	key      gateway.Key       // the token
	on       setup.Found       // that answered
	found    []finding.Finding // of the rights
	control  string            // "" is settings' own choice
	then     string            // what git ward init says is next, a line; "" is nothing
	remove   bool              // only take away what Ward has on the forge
}

func setUp(ctx context.Context, env *cli.Env) error {
	const usage = "init --forge URL [--control BRANCH] [--hooks DIR] [DIR]"
	s := &site{env: env}
	var hooks string
	args, err := env.Flags("init", usage, func(fs *flag.FlagSet) {
		fs.StringVar(&s.page, "forge", "", "the page of the project, as a browser has its `URL`")
		fs.StringVar(&s.control, "control", "", "as for git ward init: a `BRANCH`")
		fs.StringVar(&hooks, "hooks", "", "as for git ward init: a `DIR`")
		fs.BoolVar(&s.remove, "remove", false, "remove the webhook of DIR there, and do nothing else")
	})
	switch {
	case err != nil:
		return err
	case len(args) > 1 || s.page == "":
		return env.Usage(usage, "it takes the URL of a project, and one directory")
	}
	for name, value := range map[string]string{"--control": s.control, "--hooks": hooks} {
		if value != "" {
			s.hooks = append(s.hooks, name, value)
		}
	}
	at, err := setup.At(s.page, "")
	if err != nil {
		return fmt.Errorf("--forge: %w", err)
	}
	s.bare = env.Path(at.Name + ".git")
	if len(args) == 1 {
		s.bare = env.Path(args[0])
	}
	if s.remove {
		return s.unhook(ctx)
	}
	for _, step := range []func(context.Context) error{s.look, s.ask, s.clone, s.guard, s.furnish} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return s.tell()
}

// look reads what is there. One repository is kept in step with one project.
func (s *site) look(context.Context) error {
	info, err := os.Stat(s.bare)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	if owner := int(info.Sys().(*syscall.Stat_t).Uid); owner != os.Geteuid() {
		return diag.Hint(fmt.Errorf("%s belongs to user id %d, and who reads the token has to be its owner", s.bare, owner), "sudo -u '#%d' git ward init --forge %s --bare %s", owner, diag.Word(s.page), diag.Word(s.bare))
	}
	if _, err := os.Stat(filepath.Join(s.bare, config.Path)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if s.settings, err = config.Load(s.bare); err != nil {
		return err
	}
	switch f := s.settings.Forge; {
	case setup.Same(f.URL, s.page, f.Kind):
		s.page = f.URL // the records of this place have it as it was written
	case f.URL != "":
		return diag.Hint(fmt.Errorf("%s is kept in step with %s already", s.bare, f.URL), "name another directory; or, where the project moved, git ward config --bare %s forge.url=%s", diag.Word(s.bare), diag.Word(s.page))
	}
	if !s.settings.Control.Split() {
		return diag.Hint(fmt.Errorf("in %s the control branch is the project's branch, which the forge is to own", s.bare), "name a directory that is not there: Ward adopts the forge's project in it, with a control branch of its own")
	}
	return nil
}

// ask finds the forge, and the token that it takes. Nothing is made before the forge answered.
func (s *site) ask(ctx context.Context) (err error) {
	kinds, at := client.Kinds, client.Config{}
	if s.settings != nil && s.settings.Forge.URL != "" {
		kinds, s.file = []string{s.settings.Forge.Kind}, s.settings.Forge.TokenFile
	}
	if at, err = setup.At(s.page, "gitlab"); err == nil && s.file == "" { // whose names have all that the path has
		s.file, err = setup.TokenFile(at)
	}
	if err != nil {
		return err
	}
	if s.key, err = setup.Kept(s.file); err != nil {
		return fmt.Errorf("the token: %w", err)
	}
	asked := s.key.IsZero()
	if asked {
		if s.key, err = setup.Ask(s.env.Stdin, s.env.Stderr, s.page); err != nil {
			return err
		}
	}
	if s.on, err = setup.Find(ctx, s.page, kinds, s.key); err != nil {
		return s.remedied(err)
	}
	if asked {
		if err := setup.Keep(s.file, s.key); err != nil {
			return fmt.Errorf("keeping the token: %w", err)
		}
		s.say("the token of %s is in %s, which only you read", s.on.Login, s.file)
	} else {
		s.say("the token of %s was in %s", s.on.Login, s.file)
	}
	if s.there, err = s.on.Forge.Project(ctx); err != nil {
		return s.remedied(err)
	}
	s.say("%s is the project %s/%s on a forge of kind %s, with the branch %s", s.page, s.there.Owner, s.there.Name, s.on.Kind, s.there.Branch)
	return nil
}

func (s *site) remedied(err error) error {
	if len(diag.Hints(err)) > 0 {
		return fmt.Errorf("%s: %w", s.page, err)
	}
	return diag.Hint(fmt.Errorf("%s: %w", s.page, err), "%s", setup.Remedy(err, s.file, s.on.Login))
}

func (s *site) say(format string, args ...any) { fmt.Fprintf(s.env.Stdout, format+"\n", args...) }

// clone brings the project's branches and tags where Ward does not guard them yet. Those of
// Ward's names stay on the forge.
func (s *site) clone(ctx context.Context) error {
	if s.settings != nil {
		return nil
	}
	if _, err := os.Stat(s.bare); errors.Is(err, fs.ErrNotExist) {
		if err := git.Init(ctx, s.bare, s.there.Branch); err != nil {
			return err
		}
	}
	repo, from := git.Open(s.bare), away(s.on.Login, s.there.Clone, s.key)
	is, err := repo.Bare(ctx)
	if err == nil && !is {
		err = diag.Hint(fmt.Errorf("%s has a working tree, and Ward guards a bare repository", s.bare), "name a directory that is not there")
	}
	if err != nil {
		return err
	}
	branch := "refs/heads/" + s.there.Branch
	had, err := repo.Refs(ctx, "refs/heads/")
	if err == nil && len(had) > 0 && !slices.ContainsFunc(had, func(t git.Tip) bool { return t.Name == branch }) {
		err = diag.Hint(fmt.Errorf("%s has branches, and none is %s: it is another project's", s.bare, s.there.Branch), "name a directory that is not there")
	}
	if err != nil {
		return err
	}
	control := s.control
	if control == "" {
		control = branches.Adopted
	}
	err = repo.FetchAway(ctx, from, "refs/heads/*:refs/heads/*", "refs/tags/*:refs/tags/*", "^refs/heads/"+control, "^refs/heads/agent/*", "^refs/heads/rescue/*")
	if err != nil {
		return diag.Hint(fmt.Errorf("fetching %s into %s: %w", s.there.Clone, s.bare, err), "if that is another project's repository, name a directory that is not there")
	}
	tip, err := repo.Ref(ctx, branch)
	if err == nil && tip == git.Zero {
		err = diag.Hint(fmt.Errorf("the project has no commit on %s", s.there.Branch), "push a first commit to the forge, and do this again")
	}
	if err != nil {
		return err
	}
	s.say("%s has the branches and tags of the project", s.bare)
	return nil
}

// guard makes or mends what any guarded repository has, and says in [forge] what is kept in
// step. Git ward does both, as for anybody.
func (s *site) guard(ctx context.Context) error {
	if err := s.ward(ctx, append(append([]string{"init", "--bare"}, s.hooks...), s.bare)...); err != nil {
		return err
	}
	now, err := config.Load(s.bare)
	if err != nil {
		return err
	}
	args, secret := []string{"config", "--bare", s.bare}, now.Forge.WebhookSecretFile
	if secret == "" && now.Forge.WebhookURL != "" {
		secret = setup.SecretFile(s.file)
	}
	for _, set := range []struct{ key, is, to string }{{"url", now.Forge.URL, s.page}, {"kind", now.Forge.Kind, s.on.Kind}, {"token_file", now.Forge.TokenFile, s.file}, {"webhook_secret_file", now.Forge.WebhookSecretFile, secret}} {
		if set.is != set.to {
			args = append(args, "forge."+set.key+"="+strconv.Quote(set.to))
		}
	}
	if len(args) > 3 {
		if err := s.ward(ctx, args...); err != nil {
			return err
		}
	}
	s.settings, err = config.Load(s.bare)
	return err
}

// ward runs a command of git ward's, for whoever is at this one. What it says is next comes after
// what is next on the forge, so that line is held back.
func (s *site) ward(ctx context.Context, args ...string) error {
	program, err := cli.Program("git-ward")
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Stderr = s.env.Dir, s.env.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	for lines, ended := bufio.NewReader(out), error(nil); ended == nil; {
		var line string
		if line, ended = lines.ReadString('\n'); strings.HasPrefix(line, next) {
			s.then = strings.TrimPrefix(line, next)
		} else {
			fmt.Fprint(s.env.Stdout, line)
		}
	}
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("git ward %s: %w", args[0], err)
	}
	return nil
}

// next begins a line that says what a person types next.
const next = "next: "

// furnish makes what Ward needs on the forge, and finds out what the token lacks.
func (s *site) furnish(ctx context.Context) error {
	f := s.settings.Forge
	s.found = setup.Examine(ctx, setup.Asked{Forge: s.on.Forge, Page: s.page, File: s.file, Branches: f.Branches})
	if made, err := s.on.Forge.Label(ctx, f.Label); err != nil {
		s.lacks("label", err)
	} else {
		s.say("the label %q %s", f.Label, map[bool]string{true: "is made", false: "was there"}[made])
	}
	s.hook(ctx)
	if f.Branches == "project" || s.on.Login == s.there.Owner {
		return ctx.Err()
	}
	if fork, err := s.on.Forge.Fork(ctx); err != nil {
		s.lacks("fork", err)
	} else {
		s.say("the fork for claims is %s", fork.Page)
	}
	return ctx.Err()
}

func (s *site) lacks(thing string, err error) {
	s.found = append(s.found, finding.Finding{Thing: "forge: " + thing, State: finding.Missing, Detail: err.Error(), Mend: setup.Remedy(err, s.file, s.on.Login)})
}

// tell says what the token lacks, and what comes next.
func (s *site) tell() error {
	if finding.Lacking(s.found) {
		s.say("what is missing yet, after which this command is run again:")
	} else {
		s.say("the token lacks no right that could be tried")
	}
	finding.Write(s.env.Stdout, slices.DeleteFunc(slices.Clone(s.found), func(f finding.Finding) bool { return f.State == finding.Fine }))
	s.say(next+"git ward forge --once --dry-run --bare %s, and then the same without these two flags (docs/forge.md)", diag.Word(s.bare))
	if s.then != "" {
		fmt.Fprint(s.env.Stdout, "then: ", s.then)
	}
	if finding.Lacking(s.found) {
		return cli.ErrFindings
	}
	return nil
}
