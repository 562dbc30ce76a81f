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

	"github.com/rs/zerolog"

	"git-ward/internal/cli"
	"git-ward/internal/config"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	protocol "git-ward/protocols/forge"
	"git-ward/sandbox/forge"
	"git-ward/sandbox/forge/client"
	"git-ward/sandbox/forge/setup"
	"git-ward/sandbox/forge/wake"
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
	const usage = "forge [--once [--dry-run] | --check [--json]] [--take D-n|all] [--bare DIR]"
	var bare, take string
	var once, dry, checks, asJSON bool
	err := env.Only("forge", usage, func(fs *flag.FlagSet) {
		cli.Bare(fs, &bare)
		fs.BoolVar(&once, "once", false, "look once, and end")
		fs.StringVar(&take, "take", "", "merge the request of a directive there, `D-n`, perhaps with @COMMIT behind it, or all that are proved, and end: git ward take on the host does it")
		fs.BoolVar(&dry, "dry-run", false, "with --once: say what it would do, and do nothing")
		fs.BoolVar(&checks, "check", false, "say whether the forge answers and which right the token lacks, and end; git ward doctor asks it, too")
		fs.BoolVar(&asJSON, "json", false, "with --check: one JSON object a line")
	})
	switch {
	case err != nil:
		return err
	case dry && (!once || take != ""):
		return env.Usage(usage, "--dry-run is for --once")
	case checks && (once || take != ""), asJSON && !checks:
		return env.Usage(usage, "--check goes with --json alone, and --json with --check")
	}
	k, err := open(ctx, env, bare)
	if err != nil {
		return err
	}
	if checks {
		return check(ctx, env, k, asJSON)
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
		return serve(ctx, k)
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

// serve works until it is stopped, and hears webhooks where [forge] says at which address.
func serve(ctx context.Context, k *forge.Syncer) error {
	f := k.Settings.Forge
	if f.Webhook == "" {
		return k.Serve(ctx)
	}
	secret, err := gateway.ReadKey(f.WebhookSecretFile)
	if err != nil {
		return diag.Hint(fmt.Errorf("[forge] webhook_secret_file: %w", err), "git ward init --forge %s --bare DIR again makes one, if forge.webhook_url is set", diag.Word(f.URL))
	}
	l, err := wake.Listen(ctx, f.Webhook)
	if err != nil {
		return err
	}
	bell := wake.New(secret)
	k.Rung = bell.Rung
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	heard := make(chan error, 1)
	go func() {
		err := bell.Serve(ctx, l)
		cancel(err) // whoever asked for it is told, and systemd starts both again
		heard <- err
	}()
	err = k.Serve(ctx)
	cancel(nil)
	return errors.Join(err, <-heard)
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

// say prints what waits, and reports whether that is more than a person's approval.
func say(env *cli.Env, w protocol.Word) bool {
	for _, line := range w.Lines() {
		fmt.Fprintln(env.Stdout, line)
	}
	return w.Stuck()
}

// open reads the repository's settings and makes what they name.
func open(ctx context.Context, env *cli.Env, bare string) (*forge.Syncer, error) {
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
	k := &forge.Syncer{Repo: git.Open(dir), Settings: settings, Log: zerolog.New(env.Stderr).With().Timestamp().Logger()}
	at, err := settingsOf(dir, settings, &k.Ward)
	if err != nil {
		return nil, err
	}
	k.Calls = &client.Counter{}
	at.HTTP = &http.Client{Transport: k.Calls}
	if k.Forge, err = client.New(at); err != nil {
		return nil, err
	}
	k.Git = func(login, clone string) git.HTTPRemote {
		return away(login, clone, at.Token)
	}
	k.Ward.Program, err = cli.Program("git-ward")
	return k, err
}

// away is how git gets to a repository of the forge's.
func away(login, clone string, key gateway.Key) git.HTTPRemote {
	return git.HTTPRemote{URL: clone, Header: "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(login+":"+key.Reveal()))}
}

// settingsOf is where the forge is, and who asks there.
func settingsOf(dir string, settings *config.Config, v *forge.Verbs) (c client.Config, err error) {
	f, file := settings.Forge, filepath.Join(dir, config.Path)
	if f.URL == "" {
		return c, diag.Hint(fmt.Errorf("no forge is set: [forge] url in %s is empty", file), `git ward init --forge https://forge.example.org/owner/project --bare %s`, diag.Word(dir))
	}
	if !settings.Control.Split() {
		return c, diag.Hint(errors.New("the control branch is the project's branch, which the forge owns"), "`git ward init --forge URL` makes a repository with both")
	}
	if c, err = setup.At(f.URL, f.Kind); err != nil {
		return c, fmt.Errorf("[forge] url in %s: %w", file, err)
	}
	u, err := url.Parse(c.URL)
	if err != nil {
		return c, err
	}
	v.Bare, v.Host = dir, u.Hostname()
	if f.TokenFile == "" {
		return c, diag.Hint(fmt.Errorf("[forge] token_file in %s is empty", file), "put the token into a file of mode 0600, and name it there")
	}
	if c.Token, err = gateway.ReadKey(f.TokenFile); err == nil && f.App != 0 {
		c.App, err = client.ReadApp(int64(f.App), f.AppKeyFile)
	}
	return c, err
}
