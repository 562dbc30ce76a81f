package command

import (
	"context"
	"crypto/sha256"
	"flag"
	"fmt"

	"git-ward/internal/cli"
	"git-ward/internal/config"
	"git-ward/sandbox/launch"
	"git-ward/sandbox/relay"
)

// awayOptions are the options of a launch on another machine than the repository's.
type awayOptions struct{ gate, key, knownHosts string }

func (a *awayOptions) flags(fs *flag.FlagSet) {
	fs.StringVar(&a.gate, "gate", "", "work for a repository on another machine, whose launcher assigns the work, a `URL`: ssh://USER@HOST:PORT/PATH")
	fs.StringVar(&a.key, "key", "", "with --gate: this machine's private key, a `FILE`; its line at the gate says git ward door --stdio --bare DIR --hand NAME")
	fs.StringVar(&a.knownHosts, "known-hosts", "", "with --gate: the gate's host key, a `FILE` in the format of sshd(8)")
}

func (a *awayOptions) check(env *cli.Env, o *launchOptions) error {
	switch {
	case a.gate == "" && (a.key != "" || a.knownHosts != ""):
		return env.Usage(launchUsage, "--key and --known-hosts go with --gate")
	case a.gate == "":
		return nil
	case a.key == "" || a.knownHosts == "":
		return env.Usage(launchUsage, "--gate needs --key and --known-hosts")
	case o.bare != "" || o.kube.engine == kubeEngine || o.detach || o.reset || o.model != "" || o.profile != "" || len(o.command) > 0:
		return env.Usage(launchUsage, "with --gate the repository, its settings and the model are the gate's: --agents, --once, --state and --unfenced go with it")
	case o.agents < 0 || o.agents > config.MaxAgents:
		return env.Usage(launchUsage, "--agents is %d, and may be 1 to %d", o.agents, config.MaxAgents)
	}
	return nil
}

// launchAway is `git ward launch --gate`.
func (o *launchOptions) launchAway(ctx context.Context, env *cli.Env) error {
	spec := launch.Remote{Gate: relay.Config{Gate: o.away.gate, Key: env.Path(o.away.key), KnownHosts: env.Path(o.away.knownHosts)},
		OwnState: o.state == "", Agents: max(o.agents, 1), Once: o.once, Unfenced: o.unfenced, Podman: podmanOf(env), Getenv: env.Getenv, Messages: env.Stderr}
	var err error
	if spec.Programs, err = programs(); err != nil {
		return err
	}
	if o.state != "" {
		spec.State = env.Path(o.state)
	} else {
		sum := sha256.Sum256([]byte(o.away.gate))
		if spec.State, err = launch.DefaultState(fmt.Sprintf("/gate-%x", sum[:4]), env.Getenv); err != nil {
			return err
		}
	}
	if o.unfenced {
		fmt.Fprintln(env.Stderr, launch.UnfencedMeans())
	}
	return refusedBy[*relay.Refused](env, launch.RunAway(ctx, spec))
}
