package bootstrap

import (
	"context"
	"flag"
	"fmt"
	"os"

	"git-ward/internal/cli"
	"git-ward/internal/config"
	"git-ward/internal/diag"
)

const usage = "ward-watcher --bare DIR --state DIR --config FILE [--door SOCKET] [--model NAME] [--once] [--agent PROGRAM] [--agent-user ID]"

// Command is ward-watcher. Its stdout has one kind of line, which the launcher
// reads: Booted and a commit. All else is on stderr.
func Command(ctx context.Context, env *cli.Env) error {
	if len(env.Args) > 0 && env.Args[0] == limitVerb {
		return limit(env)
	}
	var bare, state, door, file, agent string
	o := Options{Stdout: env.Stdout, Stderr: env.Stderr}
	rest, err := env.Flags("ward-watcher", usage, func(fs *flag.FlagSet) {
		fs.StringVar(&bare, "bare", "", "the bare repository, a `DIR`")
		fs.StringVar(&state, "state", "", "the `DIR` of trees, logs and signals")
		fs.StringVar(&file, "config", "", "the settings, a `FILE` like config.toml")
		fs.StringVar(&door, "door", "", "the agent pushes through this `SOCKET`")
		fs.StringVar(&o.Model, "model", "", "the agent's model, in place of [model] `NAME`")
		fs.BoolVar(&o.Once, "once", false, "end when the agent ends by itself")
		fs.StringVar(&agent, "agent", "", "the agent that ships with Ward, a `PROGRAM`; default: ward-agent beside this one")
		fs.IntVar(&o.AgentUser, "agent-user", 0, "run the agent as the user and group `ID`; needs setuid, setgid, kill")
	})
	switch {
	case err != nil:
		return err
	case len(rest) > 0:
		return env.Usage(usage, "unexpected argument %q", rest[0])
	case bare == "" || state == "" || file == "":
		return env.Usage(usage, "--bare, --state and --config are needed")
	case o.AgentUser != 0 && o.AgentUser == os.Getuid():
		return env.Usage(usage, "--agent-user is this user: the agent could end the watcher")
	}
	o.Bare, o.State, o.Config = env.Path(bare), env.Path(state), env.Path(file)
	if door != "" {
		o.Door = env.Path(door)
	}
	if o.Agent = agent; agent == "" {
		if o.Agent, err = cli.Program("ward-agent"); err != nil {
			return err
		}
	}
	if o.Self, err = os.Executable(); err != nil {
		return err
	}
	data, err := config.ReadFile(o.Config)
	if err != nil {
		return diag.Hint(fmt.Errorf("--config: %w", err), "give a copy of <bare>/ward/config.toml")
	}
	if o.Settings, err = config.Parse(data, o.Config); err != nil {
		return err
	}
	return Run(ctx, o)
}
