package command

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"

	"git-ward/hooks/audit"
	"git-ward/hooks/checks"
	"git-ward/hooks/push"
	"git-ward/internal/cli"
	"git-ward/internal/config"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/comms"
)

const lintUsage = "lint [--as pm|agent|member] [--config FILE] [--ref BRANCH] [--json] [REV]"

// Lint is `git ward lint [REV]`: what the hooks would say if REV (default HEAD)
// were pushed from this clone, with the same output.
func Lint(ctx context.Context, env *cli.Env) error {
	l := &linter{ctx: ctx, env: env}
	args, err := env.Flags("lint", lintUsage, func(fs *flag.FlagSet) {
		fs.StringVar(&l.principal, "as", "", "`who` pushes, pm, agent or member; default: git config ward.principal, then pm")
		fs.StringVar(&l.config, "config", "", "the host's settings, a `file`; default: Ward's own defaults")
		fs.StringVar(&l.branch, "ref", "", "the `branch` that would be pushed; default: the one that is checked out")
		fs.BoolVar(&l.json, "json", false, "JSON on one line")
	})
	if err != nil {
		return err
	}
	if len(args) > 1 {
		return env.Usage(lintUsage, "lint takes one revision")
	}
	l.rev = strings.Join(append(args, "HEAD")[:1], "")
	return l.run()
}

type linter struct {
	ctx                            context.Context
	env                            *cli.Env
	principal, config, branch, rev string
	json                           bool
	repo                           *git.Repo
}

func (l *linter) run() (err error) {
	if l.repo, err = git.Discover(l.ctx, l.env.Dir); err != nil {
		return diag.Hint(err, "run it in a clone of a ward repository")
	}
	batch := l.repo.Batch(l.ctx)
	defer batch.Close()
	push, err := l.push(batch)
	if err != nil {
		return err
	}
	result, err := checks.Judge(l.ctx, l.repo, batch, push)
	if err != nil {
		return err
	}
	if l.json {
		err = diag.WriteJSON(l.env.Stdout, checks.NewAnswer(result, push.Principal, ""))
	} else {
		result.WriteText(l.env.Stdout)
	}
	if err == nil && result.Refused() {
		return cli.ErrFindings
	}
	return err
}

// push is the update that `git push origin REV:branch` would send.
func (l *linter) push(batch *git.Batch) (*checks.Push, error) {
	const remote = "refs/remotes/origin/"
	main, err := l.repo.Ref(l.ctx, remote+"main")
	if err != nil {
		return nil, err
	}
	if main == git.Zero {
		return nil, diag.Hint(errors.New("this repository has no origin/main to compare with"), "git fetch origin; lint runs in a clone of a ward repository")
	}
	tip, err := l.resolve(l.rev + "^{commit}")
	if err != nil {
		return nil, diag.Hint(fmt.Errorf("%q is not a commit", l.rev), "name a branch, a tag or an object id")
	}
	if l.branch == "" {
		if l.branch, err = l.currentBranch(); err != nil {
			return nil, err
		}
	}
	l.branch = strings.TrimPrefix(l.branch, "refs/heads/")
	old, err := l.repo.Ref(l.ctx, remote+l.branch)
	if err != nil {
		return nil, err
	}
	push := &checks.Push{Branches: remote,
		Updates: []push.Update{{Ref: "refs/heads/" + l.branch, Old: old, New: tip}}}
	if push.Principal, err = l.who(); err != nil {
		return nil, err
	}
	if push.Config, err = l.settings(); err != nil {
		return nil, err
	}
	push.Retired = func() (comms.Set, error) { return audit.Retired(batch) } // git ward clone fetches the audit
	return push, nil
}

func (l *linter) resolve(rev string) (string, error) {
	out, err := l.repo.Output(l.ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", rev)
	return strings.TrimSpace(string(out)), err
}

// currentBranch is what HEAD points to; a detached HEAD is linted as a branch
// of the agent's would be.
func (l *linter) currentBranch() (string, error) {
	out, err := l.repo.Output(l.ctx, "rev-parse", "--abbrev-ref", "HEAD")
	branch := strings.TrimSpace(string(out))
	if branch == "HEAD" {
		branch = "agent/detached"
	}
	return branch, err
}

func (l *linter) who() (push.Principal, error) {
	if l.principal == "" {
		out, _ := l.repo.Output(l.ctx, "config", "--get", "ward.principal")
		l.principal = cmp.Or(strings.TrimSpace(string(out)), string(push.PM))
	}
	switch p := push.Principal(l.principal); p {
	case push.PM, push.Agent, push.Member:
		return p, nil
	}
	return "", fmt.Errorf("--as is pm, agent or member, not %q", l.principal)
}

func (l *linter) settings() (*config.Config, error) {
	if l.config == "" {
		fmt.Fprintln(l.env.Stderr, "git-ward: note: linting with Ward's default settings; --config FILE takes the host's")
		return config.Default(), nil
	}
	data, err := config.ReadFile(l.env.Path(l.config))
	if err != nil {
		return nil, err
	}
	return config.Parse(data, l.config)
}
