package command

import (
	"context"
	"flag"
	"fmt"

	"git-ward/internal/cli"
	"git-ward/internal/config"
	"git-ward/sandbox/fence"
	"git-ward/sandbox/firewall"
)

// showFirewall is `git ward probe --rules`: it prints the rules that a launch on this machine
// would have now, as nft text.
func showFirewall(ctx context.Context, env *cli.Env) error {
	const usage = "probe --rules [--bare DIR]"
	var bare string
	if _, err := env.Flags("probe", usage, func(fs *flag.FlagSet) {
		fs.StringVar(&bare, "bare", "", "the settings of this repository, a `DIR`; default: Ward's own")
	}); err != nil {
		return err
	}
	settings := config.Default()
	if bare != "" {
		var err error
		if settings, err = config.Load(env.Path(bare)); err != nil {
			return err
		}
	}
	policy, err := fence.Policy(ctx, settings, env.Stderr)
	if err != nil {
		return err
	}
	text, err := firewall.Text(policy)
	fmt.Fprint(env.Stdout, text)
	return err
}
