// Package command is `git ward forge`: it reads the command line, opens the repository and the
// forge that its settings name, and says what came of it.
package command

import (
	"context"
	"encoding/base64"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/rs/zerolog"

	"git-ward/internal/cli"
	"git-ward/internal/config"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	protocol "git-ward/protocols/forge"
	"git-ward/sandbox/forge"
	"git-ward/sandbox/forge/client"
	"git-ward/sandbox/gateway"
)

// Forge is `git ward forge` (FORGE-1). Redact takes secrets out of a text, for one caller at a
// time.
func Forge(redact func() func(string) string) cli.Command {
	return cli.Command{Name: "forge", Run: func(ctx context.Context, env *cli.Env) error { return run(ctx, env, redact) },
		Long: "Issues that a person approved become directives, claims become draft requests, verdicts become a status on exactly their commit, and what is merged there comes here. " +
			"It works until it is stopped, as the repository's owner; docs/forge.md sets it up. Exit 1: something waits, and it says what for.",
		Examples: []cli.Example{{Line: `forge --bare /srv/git/project.git`, Doc: "until ^C"}, {Line: `forge --once --dry-run --bare /srv/git/project.git`, Doc: "what it would do now"}}}
}

func run(ctx context.Context, env *cli.Env, redact func() func(string) string) error {
	const usage = "forge [--once] [--dry-run] [--take D-n|all] [--bare DIR]"
	var bare, take string
	var once, dry bool
	args, err := env.Flags("forge", usage, func(fs *flag.FlagSet) {
		cli.Bare(fs, &bare)
		fs.BoolVar(&once, "once", false, "look once, and end")
		fs.StringVar(&take, "take", "", "merge the request of a directive there, `D-n`, perhaps with @COMMIT behind it, or all that are proved, and end: git ward take on the host does it")
		fs.BoolVar(&dry, "dry-run", false, "with --once: say what it would do, and do nothing")
	})
	switch {
	case err != nil:
		return err
	case len(args) > 0:
		return env.Usage(usage, "unexpected argument %q", args[0])
	case dry && (!once || take != ""):
		return env.Usage(usage, "--dry-run is for --once")
	}
	k, err := open(ctx, env, bare)
	if err != nil {
		return err
	}
	k.Redact = redact()
	plan := &noted{Writer: env.Stdout}
	if dry {
		k.Dry, k.Log = plan, zerolog.Nop()
	}
	var word protocol.Word
	switch {
	case take != "":
		word, err = k.Take(ctx, take, take == "all")
	case once:
		word, err = k.Once(ctx)
	default:
		return k.Serve(ctx)
	}
	if err != nil {
		return err
	}
	if say(env, word) {
		return cli.ErrFindings
	}
	if dry && !plan.any {
		fmt.Fprintln(env.Stdout, "nothing is to do")
	}
	return nil
}

// noted knows whether anything was written.
type noted struct {
	io.Writer
	any bool
}

func (n *noted) Write(data []byte) (int, error) {
	n.any = true
	return n.Writer.Write(data)
}

// say prints what waits, and whether that is more than a person's approval.
func say(env *cli.Env, w protocol.Word) bool {
	for _, line := range w.Lines() {
		fmt.Fprintln(env.Stdout, line)
	}
	return w.Stuck()
}

// open reads the repository's settings and makes what they name.
func open(ctx context.Context, env *cli.Env, bare string) (*forge.Keeper, error) {
	repo, err := env.Repository(ctx, bare)
	if err != nil {
		return nil, err
	}
	is, err := repo.Bare(ctx)
	if err == nil && !is {
		err = diag.Hint(errors.New("this is a clone; launches run on the host of its repository"), "there: --bare DIR names it")
	}
	if err != nil {
		return nil, err
	}
	dir, err := filepath.EvalSymlinks(repo.Dir)
	if err != nil {
		return nil, err
	}
	settings, err := config.Load(dir)
	if err != nil {
		return nil, err
	}
	k := &forge.Keeper{Repo: git.Open(dir), Settings: settings, Log: zerolog.New(env.Stderr).With().Timestamp().Logger()}
	at, err := settingsOf(dir, settings, &k.Ward)
	if err != nil {
		return nil, err
	}
	k.Calls = &client.Counter{}
	at.HTTP = &http.Client{Transport: k.Calls}
	if k.Forge, err = client.New(at); err != nil {
		return nil, err
	}
	k.Git = func(login, clone string) git.Away {
		return git.Away{URL: clone, Header: "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(login+":"+at.Token.Reveal()))}
	}
	k.Ward.Program, err = cli.Program("git-ward")
	return k, err
}

// settingsOf is the forge's address and the user there.
func settingsOf(dir string, settings *config.Config, v *forge.Verbs) (c client.Config, err error) {
	f, file := settings.Forge, filepath.Join(dir, config.Path)
	if f.URL == "" {
		return c, diag.Hint(fmt.Errorf("no forge is set: [forge] url in %s is empty", file), `git ward config --bare %s forge.url=https://forge.example.org/owner/project, and docs/forge.md`, dir)
	}
	if !settings.Control.Split() {
		return c, diag.Hint(errors.New("the control branch is the project's branch, which the forge owns"), "`git ward init` in a clone of the forge's project makes a repository with both")
	}
	u, err := url.Parse(strings.TrimSuffix(strings.TrimSuffix(f.URL, "/"), ".git"))
	if err != nil {
		return c, fmt.Errorf("[forge] url in %s: %w", file, err)
	}
	path := strings.Trim(u.Path, "/")
	cut := strings.LastIndexByte(path, '/')
	if cut < 0 {
		return c, fmt.Errorf("[forge] url in %s is %q, and names no project, as https://forge.example.org/owner/project does", file, f.URL)
	}
	c = client.Config{Kind: f.Kind, Owner: path[:cut], Name: path[cut+1:]}
	if f.Kind != "gitlab" && strings.Contains(c.Owner, "/") { // a forge with a path prefix
		deep := strings.LastIndexByte(c.Owner, '/')
		u.Path, c.Owner = "/"+c.Owner[:deep], c.Owner[deep+1:]
	} else {
		u.Path = ""
	}
	c.URL, v.Bare, v.Host = u.String(), dir, u.Hostname()
	if f.TokenFile == "" {
		return c, diag.Hint(fmt.Errorf("[forge] token_file in %s is empty", file), "put the token into a file of mode 0600, and name it there")
	}
	c.Token, err = gateway.ReadKey(f.TokenFile)
	return c, err
}
