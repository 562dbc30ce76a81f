package command

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"slices"
	"strings"

	"git-ward/hooks/audit"
	"git-ward/hooks/checks"
	"git-ward/hooks/push"
	"git-ward/internal/branches"
	"git-ward/internal/cli"
	"git-ward/internal/config"
	"git-ward/internal/diag"
	"git-ward/internal/export"
	"git-ward/internal/git"
	"git-ward/protocols/comms"
)

const lintUsage = "lint [--as pm|agent|member] [--config FILE] [--ref BRANCH] [--json] [--format FORMAT] [REV] | lint --since DATE [--as WHO] [--config FILE] [--json] [REV]"

// Lint is `git ward lint [REV]`: what the hooks would say if REV (default HEAD)
// were pushed from this clone, with the same output.
var Lint = cli.Command{Name: "lint", Doc: "run the hooks' checks before a push", Run: lint,
	Long:     "It says what the gate would say, before you push. --since tries settings on past commits: each one is judged as a push of its own.",
	Examples: []cli.Example{{Line: `lint`, Doc: "the commits that the project's branch lacks"}, {Line: `lint --since 2026-01-01`, Doc: "what Ward's settings would have refused this year"}}}

func lint(ctx context.Context, env *cli.Env) error {
	var o lintOptions
	var format export.Format
	args, err := env.Flags("lint", lintUsage, func(fs *flag.FlagSet) {
		fs.StringVar(&o.principal, "as", "", "`who` pushes, pm, agent or member; default: git config ward.principal, then pm")
		cli.Config(fs, &o.config)
		fs.StringVar(&o.branch, "ref", "", "the `branch` that would be pushed; default: the one that is checked out")
		fs.StringVar(&o.since, "since", "", "try settings on the past: judge the commits of REV (default: the project's branch) since a `DATE`, as pushes")
		format.Flags(fs)
	})
	if err != nil {
		return err
	}
	switch len(args) {
	case 0:
		o.rev = "HEAD"
	case 1:
		o.rev = args[0]
	default:
		return env.Usage(lintUsage, "lint takes one revision")
	}
	repo, err := git.Discover(ctx, env.Dir)
	if err != nil {
		return diag.Hint(err, "run it in a clone of a ward repository")
	}
	if o.since != "" {
		if format.Foreign() {
			return env.Usage(lintUsage, "--since counts commits, which %s has no form for", format)
		}
		return o.lintPast(ctx, env, repo, args, format == export.JSON)
	}
	defer env.Slow("running the checks")()
	batch := repo.Batch(ctx)
	defer batch.Close()
	p, err := o.push(ctx, env, repo)
	if err != nil {
		return err
	}
	p.Retired = func() (comms.Set, error) { return audit.Retired(batch) } // git ward clone fetches the audit
	result, err := checks.Judge(ctx, repo, batch, p)
	if err != nil {
		return err
	}
	switch {
	case format.Foreign():
		err = exportLint(env, result.Findings, format)
	case format == export.JSON:
		err = diag.WriteJSON(env.Stdout, checks.NewAnswer(result, p.Principal, ""))
	default:
		result.WriteText(env.Stdout)
	}
	if err == nil && result.Refused() {
		return cli.ErrFindings
	}
	return err
}

// lintOptions say what would be pushed, and by whom; "" is for the clone to say.
type lintOptions struct{ principal, config, branch, rev, since string }

// push is the update that `git push origin REV:branch` would send.
func (o lintOptions) push(ctx context.Context, env *cli.Env, repo *git.Repo) (*checks.Push, error) {
	names, err := branches.Of(ctx, repo)
	if err != nil {
		return nil, err
	}
	remote := names.Base()
	project, err := repo.Ref(ctx, names.ProjectRef())
	if err != nil {
		return nil, err
	}
	if project == git.Zero {
		return nil, diag.Hint(fmt.Errorf("this repository has no origin/%s to compare with", names.Project), "git fetch origin; lint runs in a clone of a ward repository")
	}
	tip, err := repo.Output(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", o.rev+"^{commit}")
	if err != nil {
		return nil, diag.Hint(fmt.Errorf("%q is not a commit", o.rev), "name a branch, a tag or an object id")
	}
	branch := strings.TrimPrefix(o.branch, "refs/heads/")
	if branch == "" {
		if branch, err = currentBranch(ctx, repo); err != nil {
			return nil, err
		}
	}
	old, err := repo.Ref(ctx, remote+branch)
	if err != nil {
		return nil, err
	}
	principal, err := o.pusher(ctx, repo)
	if err != nil {
		return nil, err
	}
	settings, err := o.settings(env, names.Control)
	if err != nil {
		return nil, err
	}
	return &checks.Push{Principal: principal, Config: settings, Branches: remote,
		Updates: []push.Update{{Ref: "refs/heads/" + branch, Old: old, New: strings.TrimSpace(string(tip))}}}, nil
}

// currentBranch is what HEAD points to; a detached HEAD is linted as a branch
// of the agent's would be.
func currentBranch(ctx context.Context, repo *git.Repo) (string, error) {
	out, err := repo.Output(ctx, "rev-parse", "--abbrev-ref", "HEAD")
	branch := strings.TrimSpace(string(out))
	if branch == "HEAD" {
		branch = "agent/detached"
	}
	return branch, err
}

// pusher is whose rights are tried.
func (o lintOptions) pusher(ctx context.Context, repo *git.Repo) (push.Principal, error) {
	name := o.principal
	if name == "" {
		out, err := repo.Output(ctx, "config", "--get", "ward.principal")
		if err != nil {
			out = nil // not set: a PM's clone has it, and so may none
		}
		name = cmp.Or(strings.TrimSpace(string(out)), string(push.PM))
	}
	principal := push.Principal(name)
	if !slices.Contains([]push.Principal{push.PM, push.Agent, push.Member}, principal) {
		return "", fmt.Errorf("--as is pm, agent or member, not %q", name)
	}
	return principal, nil
}

// settings are those of the file that was named, or Ward's own, which do not know what the
// branches of this repository are called.
func (o lintOptions) settings(env *cli.Env, control config.Control) (*config.Config, error) {
	if o.config == "" {
		fmt.Fprintln(env.Stderr, "git-ward: note: linting with Ward's default settings; --config FILE takes the host's")
		c := config.Default()
		c.Control = control
		return c, nil
	}
	return config.Given(o.config, nil, env.Path)
}
