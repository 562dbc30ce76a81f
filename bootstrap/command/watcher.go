// Package command is ward-watcher's command line. It converts flags to bootstrap.Options and returns the
// agent's exit code.
package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"git-ward/bootstrap"
	"git-ward/bootstrap/supervisor"
	"git-ward/internal/cli"
	"git-ward/internal/config"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/boot"
	"git-ward/protocols/lease"
)

const (
	usage        = "ward-watcher --bare DIR --state DIR --config FILE [--door SOCKET] [--report-door SOCKET] [--model NAME] [--once] [--directive D-n] [--reset] [--agent PROGRAM] [--agent-user ID]"
	limitedUsage = "ward-watcher " + supervisor.Verb + " WATCHER PROCESSES CMD [ARG ...]"
)

// Watcher is the main function of ward-watcher. The launcher reads its stdout: lines of boot.Booted, Passed,
// FellBack, Again, RolledBack and Unpinned, each with commits, and the agents' live events (internal/live).
// If boot.LiveVar is set, stdout also has boot.Lives, the signs of life. All else is on stderr.
func Watcher(ctx context.Context, env *cli.Env) error {
	return WithClock(ctx, env, time.Now)
}

// WithClock is Watcher with a wall clock.
func WithClock(ctx context.Context, env *cli.Env, now func() time.Time) error {
	if len(env.Args) > 0 && env.Args[0] == supervisor.Verb {
		err := supervisor.Limited(env.Args[1:])
		if errors.Is(err, supervisor.ErrWords) {
			return env.Usage(limitedUsage, "%v", err)
		}
		return err
	}
	o, err := options(env)
	if err != nil {
		return err
	}
	o.Now = now
	ctx, kept := git.Keep(ctx)
	defer kept()
	code, err := bootstrap.Run(ctx, o)
	if err == nil && code != 0 {
		err = cli.ExitCode(code)
	}
	return err
}

// options reads the command line and the settings.
func options(env *cli.Env) (bootstrap.Options, error) {
	var bare, state, door, reports, file, agent string
	o := bootstrap.Options{Stdout: env.Stdout, Stderr: env.Stderr, Live: cli.Raw(env.Stdout)}
	if env.Getenv(boot.LiveVar) != "" {
		o.Beat = o.Live
	}
	err := env.Only("ward-watcher", usage, func(fs *flag.FlagSet) {
		fs.StringVar(&bare, "bare", "", "the bare repository, a `DIR`")
		fs.StringVar(&state, "state", "", "the `DIR` of trees, logs and signals")
		fs.StringVar(&file, "config", "", "the settings, a `FILE` like config.toml")
		fs.StringVar(&door, "door", "", "the agent pushes through this `SOCKET`")
		fs.StringVar(&reports, "report-door", "", "the watcher reports through this `SOCKET`; default: the agent's")
		fs.StringVar(&o.Model, "model", "", "the agent's model, in place of [model] `NAME`")
		fs.BoolVar(&o.Once, "once", false, "end when the agent ends by itself")
		fs.StringVar(&o.Directive, "directive", "", "work on the directive `D-n` only, and end")
		fs.BoolVar(&o.Reset, "reset", false, "first clear the state that is not in refs: pins, signals, reported incidents, builds")
		fs.StringVar(&agent, "agent", "", "the agent that ships with Ward, a `PROGRAM`; default: ward-agent beside this one")
		fs.IntVar(&o.AgentUser, "agent-user", 0, "run the agent as the user and group `ID`; needs setuid, setgid, kill")
	})
	switch {
	case err != nil:
		return o, err
	case bare == "" || state == "" || file == "":
		return o, env.Usage(usage, "--bare, --state and --config are needed")
	case o.Directive != "" && !lease.IsDirective(o.Directive):
		return o, env.Usage(usage, "--directive %q is no directive, such as D-3", o.Directive)
	case o.AgentUser != 0 && o.AgentUser == os.Getuid():
		return o, env.Usage(usage, "--agent-user is this user: the agent could end the watcher")
	}
	o.Bare, o.State, o.Config = env.Path(bare), env.Path(state), env.Path(file)
	if door != "" {
		o.Door = env.Path(door)
	}
	if reports != "" {
		o.ReportDoor = env.Path(reports)
	}
	if o.Agent = agent; agent == "" {
		if o.Agent, err = cli.Program("ward-agent"); err != nil {
			return o, err
		}
	}
	if o.Self, err = os.Executable(); err != nil {
		return o, err
	}
	data, err := config.ReadFile(o.Config)
	if err != nil {
		return o, diag.Hint(fmt.Errorf("--config: %w", err), "give a copy of <bare>/ward/config.toml")
	}
	o.Settings, err = config.Parse(data, o.Config)
	return o, err
}
